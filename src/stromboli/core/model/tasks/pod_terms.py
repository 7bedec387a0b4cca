"""Terms: what inter-pod rules count, and the tallies that count it.

Affinity, anti-affinity and topology spread need the number of selected pods on each node. Each selection is a `PodTerm`
with a number; the ledger keeps one column of counts per term in use. A class has the columns that its members feed, so
that placing a pod keeps every count valid and undo restores it like any other row.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from stromboli.core.model.tasks.selectors import LabelSelector


@dataclass(frozen=True, slots=True)
class PodTerm:
    """Pods whose labels match, in these namespaces (None: in all)."""

    selector: LabelSelector
    namespaces: frozenset[str] | None

    def matches(self, namespace: str, labels: Mapping[str, str]) -> bool:
        return (self.namespaces is None or namespace in self.namespaces) and self.selector.matches(labels)


@dataclass(frozen=True, slots=True)
class OwnedTerm:
    """Pods that own a term about others: (required) anti-affinity, or a weighted preference."""

    term: PodTerm
    topology_key: str
    #: 0 for required anti-affinity, otherwise the signed weight of the preference.
    weight: int


Counted = PodTerm | OwnedTerm


class TermRegistry:
    """Numbers of everything that is counted per node. It only grows; a new term increments `generation`."""

    def __init__(self) -> None:
        self.counted: list[Counted] = []
        self._numbers: dict[Counted, int] = {}
        self.generation = 0

    def number(self, counted: Counted) -> int:
        known = self._numbers.get(counted)
        if known is None:
            known = self._numbers[counted] = len(self.counted)
            self.counted.append(counted)
            self.generation += 1
        return known

    def find(self, counted: Counted) -> int | None:
        return self._numbers.get(counted)

    def matching(self, namespace: str, labels: Mapping[str, str]) -> list[int]:
        """Return the numbers of the pod terms that a pod with these labels satisfies."""
        return [
            number
            for number, counted in enumerate(self.counted)
            if isinstance(counted, PodTerm) and counted.matches(namespace, labels)
        ]
