"""Which jobs are suspended. PodGroups do not state it, so that their workloads are read; suspended Volcano Jobs have no
PodGroup.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, ClassVar

import msgspec

from stromboli.cli.changes.workloads import JobWorkload, controlling
from stromboli.kube.client.api_errors import ApiError
from stromboli.kube.client.client import Client
from stromboli.kube.objects.catalogue import VOLCANO_JOBS
from stromboli.kube.objects.meta import Int32, OwnerReference, TopLevel, Wire
from stromboli.kube.objects.resources import Resource
from stromboli.kube.objects.volcano import PodGroup, PodGroupSpec, PodGroupStatus
from stromboli.kube.objects.volcano_jobs import BATCH_GROUP, VolcanoJobState
from stromboli.planner.overview.job_list import WAITING_PHASES

#: More workloads are not read: a list stays fast.
_MAX_READ = 200
_SUSPENDED_PHASES = ("Aborting", "Aborted")


class ListedJobSpec(Wire):
    """What a list shows of the spec of a Volcano Job."""

    min_available: Int32 | None = None
    queue: str | None = None
    priority_class_name: str | None = None


class ListedJobStatus(Wire):
    """The state of a Volcano Job."""

    state: VolcanoJobState = msgspec.field(default_factory=VolcanoJobState)


class ListedVolcanoJob(TopLevel):
    """A Volcano Job without its templates."""

    kind_name: ClassVar[str] = "Job"
    group: ClassVar[str] = BATCH_GROUP
    namespaced: ClassVar[bool] = True
    never_null: ClassVar[tuple[str, ...]] = ("metadata", "spec", "status")

    spec: ListedJobSpec = msgspec.field(default_factory=ListedJobSpec)
    status: ListedJobStatus = msgspec.field(default_factory=ListedJobStatus)


LISTED_VOLCANO_JOBS = Resource(ListedVolcanoJob, VOLCANO_JOBS.version, VOLCANO_JOBS.plural)


def suspended_group(job: ListedVolcanoJob) -> PodGroup | None:
    """Return the PodGroup that a suspended Volcano Job had, with the phase of the Job; None for any other Job."""
    if job.status.state.phase not in _SUSPENDED_PHASES:
        return None
    metadata, spec = job.metadata, job.spec
    owner = OwnerReference(VOLCANO_JOBS.api_version, VOLCANO_JOBS.kind, metadata.name, metadata.uid, controller=True)
    name = f"{metadata.name}-{metadata.uid}"
    return PodGroup(
        metadata=msgspec.structs.replace(metadata, name=name, owner_references=[owner]),
        spec=PodGroupSpec(
            min_member=spec.min_available, queue=spec.queue, priority_class_name=spec.priority_class_name
        ),
        status=PodGroupStatus(phase=job.status.state.phase),
    )


async def suspended_volcano_jobs(client: Client, namespace: str) -> list[PodGroup]:
    """Return the groups that suspended Volcano Jobs had, of a namespace or of all. Nothing for a user who may not list
    Volcano Jobs.
    """
    try:
        jobs = (await client.list(LISTED_VOLCANO_JOBS, namespace=namespace)).items
    except ApiError as error:
        if error.is_missing or error.is_denied:
            return []
        raise
    return [group for group in map(suspended_group, jobs) if group is not None]


async def suspended_groups(client: Client, groups: Iterable[PodGroup], namespace: str) -> frozenset[str]:
    """Return the keys of groups whose workload is suspended, of the given namespace or of all. A workload that may not
    be read counts as not suspended.
    """
    candidates = list(_candidates(groups, namespace))[:_MAX_READ]
    found = await asyncio.gather(*(_is_suspended(client, each) for each in candidates))
    keys = (each.group.key for each, suspended in zip(candidates, found, strict=True) if suspended and each.group)
    return frozenset(keys)


def _candidates(groups: Iterable[PodGroup], namespace: str) -> Iterator[JobWorkload]:
    """Yield the workloads of groups that wait without a pod, and that can be suspended."""
    for group in groups:
        if lacks_pods(group) and namespace in ("", group.metadata.namespace):
            workload = JobWorkload(group.metadata.namespace, group, controlling(group))
            if workload.controller is not None:
                yield workload


def lacks_pods(group: PodGroup) -> bool:
    """Report whether a group waits, and the scheduler misses pods or has not reported anything."""
    status = group.status
    if (status.phase or "") not in WAITING_PHASES or status.running or status.succeeded or status.failed:
        return False
    conditions = [each for each in status.conditions or () if each.status == "True"]
    return not conditions or any("pods exist" in (each.message or "") for each in conditions)


async def _is_suspended(client: Client, workload: JobWorkload) -> bool:
    try:
        document = msgspec.json.decode(await client.request("GET", workload.path))
    except ApiError as error:
        if error.is_denied or error.is_missing:
            return False
        raise
    if workload.controller is not None and not workload.controller.suspend:
        return _field(document, ("status", "state", "phase")) in _SUSPENDED_PHASES
    return _field(document, workload.controller.suspend if workload.controller else ()) is True


def _field(document: Any, path: Iterable[str]) -> Any:
    for part in path:
        document = document.get(part) if isinstance(document, Mapping) else None
    return document
