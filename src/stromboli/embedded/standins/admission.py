"""A kubelet's own look at a pod before it starts: schedulers can be wrong, and two of them can be right at once."""

from __future__ import annotations

from fractions import Fraction

from stromboli.embedded.standins.amounts import Amounts, amounts_of, plus, pod_requests
from stromboli.kube.objects.cluster import Node
from stromboli.kube.objects.pod import Pod


class Admission:
    """What the pods that were let in hold on each node."""

    def __init__(self) -> None:
        self._held: dict[str, dict[str, Amounts]] = {}

    def is_admitted(self, node: str, uid: str) -> bool:
        return uid in self._held.get(node, ())

    def admit(self, node: Node, pod: Pod) -> tuple[str, str] | None:
        """Lets the pod in, or says why not: a reason in one word, and a message."""
        try:
            wanted, room = pod_requests(pod), amounts_of(node.status.allocatable)
        except ValueError as error:
            return "UnexpectedAdmissionError", str(error)
        used = self._used(node.metadata.name)
        for resource, amount in sorted(wanted.items()):
            taken, capacity = used.get(resource, Fraction()), room.get(resource, Fraction())
            if amount and taken + amount > capacity:
                return f"OutOf{resource}", _shortage(resource, amount, taken, capacity)
        self.count(node.metadata.name, pod, wanted)
        return None

    def count(self, node: str, pod: Pod, amounts: Amounts | None = None) -> None:
        """The pod is in, whatever it holds: it was let in before."""
        if amounts is None:
            try:
                amounts = pod_requests(pod)
            except ValueError:
                amounts = {}
        self._held.setdefault(node, {})[pod.metadata.uid] = amounts

    def release(self, node: str, uid: str) -> None:
        if (held := self._held.get(node)) is not None:
            held.pop(uid, None)
            if not held:
                del self._held[node]

    def _used(self, node: str) -> Amounts:
        total = Amounts()
        for held in self._held.get(node, {}).values():
            total = plus(total, held)
        return total


def _shortage(resource: str, wanted: Fraction, used: Fraction, capacity: Fraction) -> str:
    """As kubelets say it; cpu in thousandths."""
    unit = 1000 if resource == "cpu" else 1
    amounts = (f"{name}: {int(amount * unit)}" for name, amount in zip(_WORDS, (wanted, used, capacity), strict=True))
    return f"Node didn't have enough resource: {resource}, {', '.join(amounts)}"


_WORDS = ("requested", "used", "capacity")
