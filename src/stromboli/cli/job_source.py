"""PodGroups and what orders them, from manifests or a cluster: enough to list jobs, without any pod."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from stromboli.cli.output import warn
from stromboli.cli.suspended_jobs import (
    LISTED_VOLCANO_JOBS,
    ListedVolcanoJob,
    lacks_pods,
    suspended_group,
    suspended_groups,
    suspended_volcano_jobs,
)
from stromboli.cluster.objects.pod_groups.native_pod_groups import as_group
from stromboli.cluster.objects.priority_classes import Priorities
from stromboli.kube.client.api_errors import ApiError
from stromboli.kube.client.client import Client
from stromboli.kube.objects.catalogue import (
    EARLY_NATIVE_POD_GROUPS,
    NATIVE_POD_GROUPS,
    POD_GROUPS,
    PRIORITY_CLASSES,
)
from stromboli.kube.objects.cluster import PriorityClass
from stromboli.kube.objects.native import NativePodGroup
from stromboli.kube.objects.resources import Resource
from stromboli.kube.objects.volcano import PodGroup
from stromboli.kube.watch.reflector import Reflector
from stromboli.planner.overview.job_list import JobEntry, reported_jobs

if TYPE_CHECKING:
    from stromboli.kube import KubeObject

#: Few requests for many jobs: a PodGroup is small.
_PAGE = 2_000
_FORBIDDEN = "priorities are shown as 0: PriorityClasses cannot be listed"


@dataclass(frozen=True, slots=True)
class JobObjects:
    groups: Sequence[PodGroup]
    priorities: Priorities
    #: Whether the groups are those of all namespaces; otherwise positions in queues are unknown.
    is_complete: bool = True
    warnings: tuple[str, ...] = ()
    #: The groups whose workload is suspended.
    suspended: frozenset[str] = frozenset()

    @property
    def has_reports(self) -> bool:
        """Report whether a scheduler has written a status."""
        return not self.groups or any(group.status.phase or group.status.conditions for group in self.groups)

    def jobs(self) -> list[JobEntry]:
        return reported_jobs(self.groups, self.priorities, is_complete=self.is_complete, suspended=self.suspended)


def job_objects(objects: Sequence[KubeObject]) -> JobObjects:
    """Return the jobs of manifests."""
    groups = [entry for entry in objects if isinstance(entry, PodGroup)]
    groups += [as_group(entry) for entry in objects if isinstance(entry, NativePodGroup)]
    classes = {entry.metadata.name: entry for entry in objects if isinstance(entry, PriorityClass)}
    return JobObjects(groups, Priorities(classes))


async def list_job_objects(client: Client, namespace: str = "") -> JobObjects:
    """List the jobs of all namespaces, which their positions in queues need; only those of `namespace` for a user who
    may not list all. Raises RequestFailed.
    """
    (groups, is_complete), classes, without_pods = await asyncio.gather(
        _groups(client, namespace), _classes(client), suspended_volcano_jobs(client, namespace)
    )
    warnings = (_FORBIDDEN,) if classes is None else ()
    suspended = await suspended_groups(client, groups, namespace)
    known = {group.key for group in groups}
    groups += [group for group in without_pods if group.key not in known]
    suspended |= {group.key for group in without_pods}
    return JobObjects(groups, Priorities(classes or {}), is_complete, warnings, suspended)


async def _groups(client: Client, namespace: str) -> tuple[list[PodGroup], bool]:
    try:
        return await _groups_in(client, ""), True
    except ApiError as error:
        if not (error.is_denied and namespace):
            raise
    return await _groups_in(client, namespace), False


async def _groups_in(client: Client, namespace: str) -> list[PodGroup]:
    volcano, late, early = await asyncio.gather(
        client.list(POD_GROUPS, namespace=namespace, limit=_PAGE),
        _native_groups(client, NATIVE_POD_GROUPS, namespace),
        _native_groups(client, EARLY_NATIVE_POD_GROUPS, namespace),
    )
    native = {entry.metadata.uid: entry for entry in (*early, *late)}  # a server may serve each in both versions
    return [*volcano.items, *map(as_group, native.values())]


async def _native_groups(client: Client, resource: Resource[NativePodGroup], namespace: str) -> list[NativePodGroup]:
    """Return nothing where the server does not serve the version, or the user may not read it."""
    try:
        return (await client.list(resource, namespace=namespace)).items
    except ApiError as error:
        if error.is_missing or error.is_denied:
            return []
        raise


async def _classes(client: Client) -> dict[str, PriorityClass] | None:
    """Return None for a user who may not list them."""
    try:
        return {entry.metadata.name: entry for entry in (await client.list(PRIORITY_CLASSES)).items}
    except ApiError as error:
        if error.is_denied:
            return None
        raise


class JobWatch:
    """Keeps the jobs of a cluster by watches. `changed` is set by every change, and cleared by its reader."""

    def __init__(self, client: Client, first: JobObjects, namespace: str) -> None:
        """Read what is not watched from the first list."""
        self._first = first
        self._groups: dict[str, PodGroup] = {}
        #: By key of the Job: the groups that suspended Volcano Jobs had.
        self._without_pods: dict[str, PodGroup] = {}
        self.changed = asyncio.Event()
        scope = "" if first.is_complete else namespace
        self._reflectors: list[Reflector[Any]] = [
            Reflector(client, POD_GROUPS, self, namespace=scope),
            Reflector(client, NATIVE_POD_GROUPS, self, namespace=scope, optional=True),
            Reflector(client, LISTED_VOLCANO_JOBS, self, namespace=scope, optional=True),
        ]

    @property
    def current(self) -> JobObjects:
        without_pods = {group.key: group for group in self._without_pods.values()}
        groups = {**without_pods, **self._groups}
        suspended = without_pods.keys() - self._groups.keys()
        suspended |= {key for key in self._first.suspended & self._groups.keys() if lacks_pods(self._groups[key])}
        return replace(self._first, groups=list(groups.values()), suspended=frozenset(suspended))

    async def run(self) -> None:
        """Watch until cancelled."""
        await asyncio.gather(*(reflector.run() for reflector in self._reflectors))

    async def synced(self) -> None:
        """Wait until all jobs are known."""
        for reflector in self._reflectors:
            await reflector.synced.wait()

    def apply(self, entry: PodGroup | NativePodGroup | ListedVolcanoJob) -> None:
        if not isinstance(entry, ListedVolcanoJob):
            group = _as_group(entry)
            self._groups[group.key] = group
        elif (without_pods := suspended_group(entry)) is not None:
            self._without_pods[entry.key] = without_pods
        elif self._without_pods.pop(entry.key, None) is None:
            return
        self.changed.set()

    def remove(self, entry: PodGroup | NativePodGroup | ListedVolcanoJob) -> None:
        if isinstance(entry, ListedVolcanoJob):
            self._without_pods.pop(entry.key, None)
        else:
            self._groups.pop(_as_group(entry).key, None)
        self.changed.set()

    def unreadable(self, resource: Resource[Any], key: str, uid: str, problem: str) -> None:
        warn([f"{resource.kind} {key} cannot be decoded: {problem}"])


def _as_group(entry: PodGroup | NativePodGroup) -> PodGroup:
    return as_group(entry) if isinstance(entry, NativePodGroup) else entry
