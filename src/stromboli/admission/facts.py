"""What the rules know besides the request: what the cluster holds, and what the administrator has chosen."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from stromboli import kube
from stromboli.admission.requests import User
from stromboli.binding.plugins.plugin import BinderPlugin
from stromboli.cluster.objects.pod_groups.pod_groups import DEFAULT_QUEUE, QUEUE_NAMES

#: On a namespace, the queue of groups that name none.
NAMESPACE_QUEUE = QUEUE_NAMES[0]
#: On a queue, the priority classes that may be used in it, with commas between them.
PRIORITY_CLASSES = "scheduling.stromboli.dev/priority-classes"

AUTHORISATION, PRIORITIES, FROZEN_FIELDS = "authorisation", "priority-classes", "frozen-fields"
CHECKS = (AUTHORISATION, PRIORITIES, FROZEN_FIELDS)
"""The rules about tenants, which can be left out; whether an object makes sense is always looked at."""

TRUSTED_USERS = ("system:kube-controller-manager",)
TRUSTED_GROUPS = ("system:masters", "system:serviceaccounts:kube-system")


@dataclass(frozen=True, slots=True)
class Facts:
    """The objects of the cluster by name, or by namespace and name, as far as they are known."""

    queues: Mapping[str, kube.KubeQueue] = field(default_factory=dict)
    #: Both kinds, by the keys of their jobs.
    groups: Mapping[str, kube.PodGroup] = field(default_factory=dict)
    namespaces: Mapping[str, kube.Namespace] = field(default_factory=dict)
    priority_classes: Mapping[str, kube.PriorityClass] = field(default_factory=dict)

    def with_queues(self, found: Mapping[str, kube.KubeQueue | None]) -> Facts:
        """With queues as they have just been read; None for one that is not there."""
        known = {**self.queues, **found}
        return replace(self, queues={name: queue for name, queue in known.items() if queue is not None})

    def queue_of_namespace(self, namespace: str) -> str:
        """Empty for none."""
        found = self.namespaces.get(namespace)
        return (found.metadata.annotations or {}).get(NAMESPACE_QUEUE, "") if found else ""


@dataclass(frozen=True, slots=True)
class AdmissionPolicy:
    """What the administrator has chosen."""

    #: Who reads pods with these names schedules them here; the first is given to pods that are meant for us.
    scheduler_names: tuple[str, ...] = ("stromboli", "volcano")
    default_queue: str = DEFAULT_QUEUE
    #: Everybody may use these.
    public_queues: frozenset[str] = frozenset((DEFAULT_QUEUE,))
    #: Those who act for others, and have been asked about before or need not be: nothing is asked about them.
    trusted_users: frozenset[str] = frozenset(TRUSTED_USERS)
    trusted_groups: frozenset[str] = frozenset(TRUSTED_GROUPS)
    #: Of CHECKS.
    without: frozenset[str] = frozenset()
    assigns_scheduler: bool = True
    plugins: tuple[BinderPlugin, ...] = ()

    def checks(self, what: str, user: User) -> bool:
        """Whether a rule about tenants holds for this one."""
        return what not in self.without and not self.trusts(user)

    def trusts(self, user: User) -> bool:
        return user.username in self.trusted_users or not self.trusted_groups.isdisjoint(user.groups or ())
