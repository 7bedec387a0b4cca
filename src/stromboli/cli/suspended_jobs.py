"""Which waiting jobs are suspended: their PodGroups do not state it, so their workloads are read."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec

from stromboli.cli.changes.workloads import JobWorkload, controlling
from stromboli.kube.client.api_errors import ApiError
from stromboli.kube.client.client import Client
from stromboli.kube.objects.volcano import PodGroup
from stromboli.planner.overview.job_list import WAITING_PHASES

#: More workloads are not read: a list stays fast.
_MAX_READ = 200
_SUSPENDED_PHASES = ("Aborting", "Aborted")


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
        status = group.status
        has_pods = status.running or status.succeeded or status.failed
        if (
            (status.phase or "") not in WAITING_PHASES
            or has_pods
            or (namespace and group.metadata.namespace != namespace)
        ):
            continue
        workload = JobWorkload(group.metadata.namespace, group, controlling(group))
        if workload.controller is not None and _lacks_pods(group):
            yield workload


def _lacks_pods(group: PodGroup) -> bool:
    """Report whether the scheduler misses pods, or has not reported anything."""
    conditions = [each for each in group.status.conditions or () if each.status == "True"]
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
