"""Rights of the controllers, by the controller that needs them: an installation grants those of the chosen ones."""

from __future__ import annotations

from collections.abc import Collection

from stromboli.controllers.names import (
    CONTROLLERS,
    CRON_JOB,
    HYPERNODE,
    JOB,
    JOB_FLOW,
    JOB_TEMPLATE,
    PODGROUP,
    QUEUE,
)
from stromboli.install.rights import FOLLOWED, REVIEWS, Right, followed
from stromboli.kube.objects.catalogue import (
    CLAIMS,
    EVENTS,
    HYPER_NODES,
    JOB_FLOWS,
    JOB_TEMPLATES,
    NATIVE_POD_GROUPS,
    NODES,
    POD_GROUPS,
    PODS,
    PRIORITY_CLASSES,
    QUEUES,
    VOLCANO_COMMANDS,
    VOLCANO_CRON_JOBS,
    VOLCANO_JOBS,
)
from stromboli.kube.objects.pod_owners import POD_OWNERS

_OWNERS = "the owner of a pod may define the size and queue of its group"

#: The objects of the built-in job plugins, by API group and plural.
_PLUGIN_OBJECTS = (
    ("", "services"),
    ("", "configmaps"),
    ("", "secrets"),
    ("networking.k8s.io", "networkpolicies"),
)

#: Rights of the process, whichever controllers run.
OF_ALL = (
    Right(EVENTS.group, "events", ("create", "patch"), "report events"),
    *REVIEWS,
)

#: Further rights by controller.
OF_CONTROLLERS = {
    PODGROUP: (
        Right(PODS.group, "pods", (*FOLLOWED, "patch"), "find pods without a group, and annotate them with theirs"),
        Right(
            POD_GROUPS.group,
            "podgroups",
            (*FOLLOWED, "create", "patch"),
            "create and update groups for plain pods",
        ),
        *(Right(owner.group, owner.plural, ("get", *FOLLOWED), _OWNERS) for owner in POD_OWNERS),
    ),
    QUEUE: (
        *followed((POD_GROUPS, NATIVE_POD_GROUPS), "count groups"),
        Right(
            QUEUES.group,
            "queues",
            ("get", *FOLLOWED, "create", "patch"),
            "create the default queues; close queues with their parent; own no state that others apply",
        ),
        Right(QUEUES.group, "queues/status", ("patch",), "report state and pending work of queues"),
        Right(VOLCANO_COMMANDS.group, "commands", (*FOLLOWED, "delete"), "execute Commands for queues"),
    ),
    HYPERNODE: (
        *followed((HYPER_NODES, NODES), "resolve the nodes of HyperNodes"),
        Right(HYPER_NODES.group, "hypernodes/status", ("patch",), "report node count and conditions of HyperNodes"),
    ),
    JOB: (
        Right(
            VOLCANO_JOBS.group,
            VOLCANO_JOBS.plural,
            ("get", *FOLLOWED, "patch", "delete"),
            "run Volcano Jobs: name their claims, and delete them some time after their end",
        ),
        Right(VOLCANO_JOBS.group, "jobs/status", ("patch",), "report the phase and the counts of Volcano Jobs"),
        Right(VOLCANO_JOBS.group, "jobs/finalizers", ("update",), "own the pods and objects of Volcano Jobs"),
        Right(VOLCANO_COMMANDS.group, "commands", (*FOLLOWED, "delete"), "execute Commands for Volcano Jobs"),
        Right(PODS.group, "pods", (*FOLLOWED, "create", "delete"), "create and delete the pods of Volcano Jobs"),
        Right(
            POD_GROUPS.group,
            "podgroups",
            (*FOLLOWED, "create", "patch", "delete"),
            "create, adapt and delete the groups of Volcano Jobs",
        ),
        Right(CLAIMS.group, CLAIMS.plural, ("get", "create"), "create the claims of Volcano Jobs"),
        *followed((PRIORITY_CLASSES,), "order the tasks of Volcano Jobs by priority"),
        *(
            Right(group, plural, ("get", "create", "delete"), "the objects of plugins of Volcano Jobs")
            for group, plural in _PLUGIN_OBJECTS
        ),
        Right("", "configmaps", ("patch",), "follow the tasks of Volcano Jobs in the ConfigMaps of plugins"),
    ),
    JOB_FLOW: (
        Right(JOB_FLOWS.group, JOB_FLOWS.plural, ("get", *FOLLOWED), "run JobFlows"),
        Right(JOB_FLOWS.group, "jobflows/status", ("patch",), "report the phase of JobFlows"),
        Right(JOB_FLOWS.group, "jobflows/finalizers", ("update",), "own the Jobs of JobFlows"),
        *followed((JOB_TEMPLATES,), "create Jobs from JobTemplates"),
        Right(
            VOLCANO_JOBS.group,
            VOLCANO_JOBS.plural,
            ("get", *FOLLOWED, "create", "delete"),
            "create the Jobs of JobFlows, and delete them after success",
        ),
        Right(PODS.group, "pods", ("list",), "find the pods that a probe of a JobFlow is sent to"),
    ),
    JOB_TEMPLATE: (
        Right(JOB_TEMPLATES.group, JOB_TEMPLATES.plural, FOLLOWED, "find JobTemplates"),
        Right(JOB_TEMPLATES.group, "jobtemplates/status", ("patch",), "list the Jobs of JobTemplates"),
        *followed((VOLCANO_JOBS,), "list the Jobs of JobTemplates"),
    ),
    CRON_JOB: (
        Right(VOLCANO_CRON_JOBS.group, VOLCANO_CRON_JOBS.plural, ("get", *FOLLOWED), "run Volcano's CronJobs"),
        Right(VOLCANO_CRON_JOBS.group, "cronjobs/status", ("patch",), "report the runs of Volcano's CronJobs"),
        Right(VOLCANO_CRON_JOBS.group, "cronjobs/finalizers", ("update",), "own the Jobs of Volcano's CronJobs"),
        Right(
            VOLCANO_JOBS.group,
            VOLCANO_JOBS.plural,
            ("get", *FOLLOWED, "create", "delete"),
            "create the Jobs of CronJobs, and delete old ones",
        ),
    ),
}

DISCOVERS = Right(
    HYPER_NODES.group,
    "hypernodes",
    ("create", "patch", "delete"),
    "create HyperNodes from node labels, with `--discover-hypernodes`",
)


def controller_rights(controllers: Collection[str] = CONTROLLERS, *, discover: bool = False) -> tuple[Right, ...]:
    """Rights of a process with these controllers."""
    return tuple(right for part in controller_parts(controllers, discover=discover) for right in part)


def controller_parts(controllers: Collection[str], *, discover: bool) -> list[tuple[Right, ...]]:
    """The same by part: each is a list of rules, as the chart has them in files."""
    chosen = [rights for name, rights in OF_CONTROLLERS.items() if name in controllers]
    return [OF_ALL, *chosen, *([(DISCOVERS,)] if discover else [])]
