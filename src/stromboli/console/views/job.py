"""One job as it is reported, from the cache."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from stromboli import kube
from stromboli.cluster.objects.pod_groups.native_pod_groups import NativeGroup
from stromboli.cluster.objects.pod_groups.pod_groups import eviction_message
from stromboli.cluster.objects.timestamps import seconds_of
from stromboli.console.documents.job import ConsoleCondition, ConsolePod, JobDetail
from stromboli.console.views.jobs import job_document
from stromboli.console.views.view import PersonView
from stromboli.kube.objects.catalogue import NATIVE_POD_GROUPS, POD_GROUPS
from stromboli.kube.objects.meta import TopLevel
from stromboli.kube.objects.resources import Resource
from stromboli.planner.overview.job_page import status_of_pod

#: Jobs before this one that are named.
_MAX_AHEAD = 20
_UNSCHEDULABLE = "Unschedulable"


def job_detail(view: PersonView, key: str) -> JobDetail:
    """Return a job. Raises NotFound."""
    row, group = view.row(key), view.cluster.groups[key]
    owner = next(iter(group.metadata.owner_references or ()), None)
    ahead, count, waiting = _queue(view, key)
    resource = resource_of(group)
    return JobDetail(
        instance=view.instance,
        version=view.frame.version,
        job=job_document(view, row),
        reason=view.text(row.entry.reason),
        message=view.text(_message(group)),
        conditions=_conditions(view, group),
        pods=_pods(view, key),
        eviction=view.text(eviction_message(group)),
        waiting_in_queue=waiting,
        ahead=ahead,
        ahead_hidden=count - len(ahead),
        owner_kind=(owner.kind or "") if owner else "",
        owner_name=(owner.name or "") if owner else "",
        path=resource.path(namespace=group.metadata.namespace, name=group.metadata.name),
    )


def resource_of(group: kube.PodGroup) -> Resource[TopLevel]:
    """Return the kind of a group in the API server."""
    return NATIVE_POD_GROUPS if isinstance(group, NativeGroup) else POD_GROUPS  # type: ignore[return-value]


def _message(group: kube.PodGroup) -> str:
    """Return the message of the condition that explains why the job waits."""
    conditions = [each for each in group.status.conditions or () if each.status == "True" and each.message]
    chosen = [each for each in conditions if each.type == _UNSCHEDULABLE] or conditions
    return (chosen[0].message or "") if chosen else ""


def _conditions(view: PersonView, group: kube.PodGroup) -> list[ConsoleCondition]:
    return [
        ConsoleCondition(
            type=each.type or "", status=each.status or "", reason=each.reason or "",
            message=view.text(each.message or ""), since=seconds_of(each.last_transition_time),
        )
        for each in group.status.conditions or ()
    ]  # fmt: skip


def _queue(view: PersonView, key: str) -> tuple[list[str], int, int]:
    """Return the jobs before this one that may be named, the number of all before it, and of all that wait."""
    entry, rows = view.frame.rows[key].entry, view.frame.rows
    queue = sorted(
        (row.entry.position or 0, each)
        for each, row in rows.items()
        if row.entry.waits and row.entry.queue == entry.queue
    )
    if not entry.waits or entry.position is None:
        return [], 0, len(queue)
    before = [each for place, each in queue if place < entry.position]
    return [each for each in before if view.may_read(rows[each])][-_MAX_AHEAD:], len(before), len(queue)


def _pods(view: PersonView, key: str) -> list[ConsolePod]:
    requests = pod_requests(view, key)
    pods = sorted(view.cluster.pods.of_job(key), key=lambda pod: pod.metadata.name)
    return [
        ConsolePod(
            pod=pod.metadata.name, status=status_of_pod(pod), node=pod.spec.node_name or "",
            created=seconds_of(pod.metadata.creation_timestamp), note=view.text(_note(pod)),
            requests=dict(requests.get(pod.key, {})),
        )
        for pod in pods
    ]  # fmt: skip


def pod_requests(view: PersonView, key: str) -> Mapping[str, Mapping[str, str]]:
    """Return what the pods of a job request, by pod."""
    session = view.frame.session
    job = session.jobs.get(key) if session is not None else None
    if session is None or job is None:
        return {}
    axis, found = session.axis, dict[int, Mapping[str, str]]()
    for task in job.tasks.values():
        task_class = task.task_class
        if task_class.number not in found:
            found[task_class.number] = {axis.names[d]: axis.format(d, amount) for d, amount in task_class.request}
    return {task.key: found[task.task_class.number] for task in job.tasks.values()}


def _note(pod: kube.Pod) -> str:
    if pod.spec.node_name:
        return ""
    conditions: Sequence[kube.KubeCondition] = pod.status.conditions or ()
    return next(
        (each.message or "" for each in conditions if each.type == "PodScheduled" and each.status != "True"), ""
    )
