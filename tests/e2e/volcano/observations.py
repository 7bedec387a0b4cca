"""What is observed of the workloads of a case, and whether it is what was expected."""

from __future__ import annotations

from typing import Any

import msgspec

from stromboli.kube.client.client import Client
from stromboli.kube.objects.catalogue import EVENTS, JOBS, NODES, POD_GROUPS, QUEUES
from stromboli.kube.objects.pod import Pod
from stromboli.kube.objects.volcano import PodGroup
from stromboli.local.fakes.kubelet.commands import PODS_WITH_COMMANDS, restart_count
from stromboli.workloads.groups import GROUP_NAME
from tests.e2e.volcano.cases import Expected
from tests.e2e.volcano.workloads import TASK, WORKLOAD

_PHASES = {"running": "Running", "succeeded": "Succeeded", "failed": "Failed"}


class Observer:
    """Reads the objects of one namespace."""

    def __init__(self, client: Client, namespace: str) -> None:
        self._client = client
        self._namespace = namespace
        self._pods: list[Pod] = []
        self._groups: dict[str, PodGroup] = {}

    async def differences(self, expected: dict[str, Expected], queues: dict[str, dict[str, Any]]) -> list[str]:
        """All that is not as expected now."""
        self._pods = (await self._client.list(PODS_WITH_COMMANDS, namespace=self._namespace)).items
        groups = (await self._client.list(POD_GROUPS, namespace=self._namespace)).items
        self._groups = {group.metadata.name: group for group in groups}
        found = [text for name, one in expected.items() for text in await self._workload(name, one)]
        return found + [text for name, status in queues.items() for text in await self._queue(name, status)]

    async def _workload(self, name: str, expected: Expected) -> list[str]:
        pods = self._pods_of(name)
        observed = await self._observed(name.partition("/")[0], pods, expected)
        wanted = {field: value for field, value in msgspec.structs.asdict(expected).items() if value is not None}
        return [
            f"{name}: {field} is {observed[field]!r}, not {value!r}"
            for field, value in wanted.items()
            if not _fits(field, value, observed[field])
        ]

    async def _observed(self, name: str, pods: list[Pod], expected: Expected) -> dict[str, Any]:
        bound = sorted({pod.spec.node_name for pod in pods if pod.spec.node_name})
        unbound = [pod for pod in pods if not pod.spec.node_name and pod.metadata.deletion_timestamp is None]
        counts = {field: sum(pod.status.phase == phase for pod in pods) for field, phase in _PHASES.items()}
        return counts | {
            "pending": sum(_is_reported(pod) for pod in unbound),
            "unbound": len(unbound),
            "restarts": sum(restart_count(pod) for pod in pods),
            "phase": (group.status.phase or "Pending") if (group := self._group(name, pods)) else "",
            "because": self._messages(self._group(name, pods), pods) if expected.because else "",
            "event": (events := await self._events(name, pods) if expected.event or expected.no_event else ""),
            "no_event": events,
            "nodes": len(bound),
            "hosts": bound,
            "labels": await self._labels(bound, expected.labels or {}),
            "condition": await self._condition(name) if expected.condition else "",
        }

    def _pods_of(self, name: str) -> list[Pod]:
        workload, _, task = name.partition("/")
        wanted = {WORKLOAD: workload} | ({TASK: task} if task else {})
        return [pod for pod in self._pods if wanted.items() <= (pod.metadata.labels or {}).items()]

    def _group(self, name: str, pods: list[Pod]) -> PodGroup | None:
        named = [(pod.metadata.annotations or {}).get(GROUP_NAME, "") for pod in pods]
        return self._groups.get(next((group for group in named if group), name))

    def _messages(self, group: PodGroup | None, pods: list[Pod]) -> str:
        of_group = [(c.type, c.status, c.message) for c in (group.status.conditions or () if group else ())]
        of_pods = [(c.type, c.status, c.message) for pod in pods for c in pod.status.conditions or ()]
        waiting = (("Unschedulable", "True"), ("PodScheduled", "False"))
        return "\n".join(message or "" for kind, status, message in of_group + of_pods if (kind, status) in waiting)

    async def _events(self, name: str, pods: list[Pod]) -> str:
        group = self._group(name, pods)
        names = {name, *(pod.metadata.name for pod in pods), *([group.metadata.name] if group else [])}
        events = (await self._client.list(EVENTS, namespace=self._namespace)).items
        about = [event for event in events if event.involved_object and event.involved_object.name in names]
        return " ".join(f"{event.reason}" for event in about)

    async def _labels(self, nodes: list[str], labels: dict[str, int]) -> dict[str, int]:
        known = [await self._client.get(NODES, node) for node in nodes] if labels else []
        return {label: len({(node.metadata.labels or {}).get(label) for node in known}) for label in labels}

    async def _condition(self, job: str) -> str:
        answer = await self._client.request("GET", JOBS.path(namespace=self._namespace, name=job))
        conditions = msgspec.json.decode(answer).get("status", {}).get("conditions", [])
        return next((c["type"] for c in reversed(conditions) if c["status"] == "True"), "")

    async def _queue(self, name: str, wanted: dict[str, Any]) -> list[str]:
        answer = await self._client.request("GET", QUEUES.path(name=name))
        status = msgspec.json.decode(answer).get("status", {})
        found = {field: _selected(status.get(field), value) for field, value in wanted.items()}
        return [] if found == wanted else [f"queue {name}: status is {found}, not {wanted}"]


def _is_reported(pod: Pod) -> bool:
    return any(c.type == "PodScheduled" and c.status == "False" for c in pod.status.conditions or ())


def _fits(field: str, wanted: Any, found: Any) -> bool:
    if field == "no_event":
        return wanted not in found
    if field == "restarts":
        return bool(found >= wanted)
    return wanted in found if field in ("because", "event") else bool(wanted == found)


def _selected(found: Any, wanted: Any) -> Any:
    """The part of a value that is compared; an amount that is absent is 0."""
    if isinstance(wanted, dict):
        return {key: (found or {}).get(key, "0") for key in wanted}
    return found
