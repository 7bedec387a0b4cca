"""Pod admission of a kubelet, which detects scheduling errors and races of several schedulers."""

from __future__ import annotations

from stromboli.kube.objects.cluster import KubeNode
from stromboli.kube.objects.pod import Pod
from stromboli.local.api_server.quantities import UNIT
from stromboli.local.fakes.kubelet.pod_requests import Amounts, amounts_of, pod_requests


class Admission:
    """Resources of the admitted pods on each node."""

    def __init__(self) -> None:
        self._held: dict[str, dict[str, Amounts]] = {}
        #: Total resources by node.
        self._used: dict[str, Amounts] = {}

    def is_admitted(self, node: str, uid: str) -> bool:
        return uid in self._held.get(node, ())

    def admit(self, node: KubeNode, pod: Pod) -> tuple[str, str] | None:
        """Admit the pod, or return a one-word reason and a message."""
        try:
            wanted, room = pod_requests(pod), amounts_of(node.status.allocatable)
        except ValueError as error:
            return "UnexpectedAdmissionError", str(error)
        used = self._used.get(node.metadata.name, {})
        for resource, amount in sorted(wanted.items()):
            taken, capacity = used.get(resource, 0), room.get(resource, 0)
            if amount and taken + amount > capacity:
                return f"OutOf{resource}", _shortage(resource, amount, taken, capacity)
        self.count(node.metadata.name, pod, wanted)
        return None

    def count(self, node: str, pod: Pod, amounts: Amounts | None = None) -> None:
        """Count a pod that was admitted before, without a check."""
        if amounts is None:
            try:
                amounts = pod_requests(pod)
            except ValueError:
                amounts = {}
        self.release(node, pod.metadata.uid)
        self._held.setdefault(node, {})[pod.metadata.uid] = amounts
        self._add(node, amounts, 1)

    def release(self, node: str, uid: str) -> None:
        held = self._held.get(node, {})
        amounts = held.pop(uid, None)
        if amounts is not None:
            self._add(node, amounts, -1)
        if node in self._held and not held:
            del self._held[node], self._used[node]

    def _add(self, node: str, amounts: Amounts, sign: int) -> None:
        used = self._used.setdefault(node, {})
        for resource, amount in amounts.items():
            used[resource] = used.get(resource, 0) + sign * amount


def _shortage(resource: str, wanted: int, used: int, capacity: int) -> str:
    """The message of a kubelet; cpu in thousandths."""
    unit = UNIT // 1000 if resource == "cpu" else UNIT
    amounts = (f"{name}: {amount // unit}" for name, amount in zip(_WORDS, (wanted, used, capacity), strict=True))
    return f"Node didn't have enough resource: {resource}, {', '.join(amounts)}"


_WORDS = ("requested", "used", "capacity")
