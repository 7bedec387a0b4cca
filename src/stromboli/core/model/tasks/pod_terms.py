"""Terms: what inter-pod rules count, and the tallies that count it.

Affinity, anti-affinity and topology spread need the number of selected pods on each node. Each selection is a `PodTerm`
with a number; the ledger keeps one column of counts per term in use. A class has the columns that its members feed, so
that placing a pod keeps every count valid and undo restores it like any other row. Pods with the same host ports are
counted in the same way.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple
from weakref import WeakKeyDictionary

from stromboli.core.model.tasks.host_ports import PortIndex, PortSet
from stromboli.core.model.tasks.selectors import LabelSelector

if TYPE_CHECKING:
    from stromboli.core.model.tasks.task_class import TaskClass


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


Counted = PodTerm | OwnedTerm | PortSet
#: Owned terms with their numbers.
OwnedNumbers = tuple[tuple[int, OwnedTerm], ...]


#: A pod that owns more terms than this has them in common with others.
_MANY_OWNED = 16


class Feeds(NamedTuple):
    """The tallies that a pod feeds: with many terms about all pods, the first part is the same for most pods."""

    common: frozenset[int]
    own: tuple[int, ...]


class TermRegistry:
    """Numbers of everything that is counted per node. It only grows; a new term increments `generation`."""

    def __init__(self) -> None:
        self.counted: list[Counted] = []
        #: The numbers of everything but selections of pods: terms and ports that pods have themselves.
        self.owned: set[int] = set()
        self._numbers: dict[Counted, int] = {}
        self.ports = PortIndex()
        self.generation = 0
        self._feeds: WeakKeyDictionary[TaskClass, Feeds] = WeakKeyDictionary()
        #: Equal sets of selections are identical; those of earlier generations are forgotten.
        self._common: dict[frozenset[int], frozenset[int]] = {}
        self._common_at = 0

    def number(self, counted: Counted) -> int:
        known = self._numbers.get(counted)
        if known is None:
            known = self._numbers[counted] = len(self.counted)
            self.counted.append(counted)
            self.generation += 1
            if not isinstance(counted, PodTerm):
                self.owned.add(known)
            if isinstance(counted, PortSet):
                self.ports.add(known, counted)
        return known

    def find(self, counted: Counted) -> int | None:
        return self._numbers.get(counted)

    def feeds_of(self, task_class: TaskClass) -> Feeds:
        """Return what members of the class feed, in its parts."""
        known = self._feeds.get(task_class)
        if known is None:
            known = self._feeds[task_class] = self._split(frozenset(task_class.feeds))
        return known

    def _split(self, feeds: frozenset[int]) -> Feeds:
        own = feeds & self.owned
        if len(own) > _MANY_OWNED:
            own = frozenset()
        if self._common_at != self.generation:
            self._common, self._common_at = {}, self.generation
        common = feeds - own
        return Feeds(self._common.setdefault(common, common), tuple(sorted(own)))

    def matching(self, namespace: str, labels: Mapping[str, str]) -> list[int]:
        """Return the numbers of the pod terms that a pod with these labels satisfies."""
        return [
            number
            for number, counted in enumerate(self.counted)
            if isinstance(counted, PodTerm) and counted.matches(namespace, labels)
        ]


class OwnedTerms:
    """Terms of placed pods that select a class, by the number of the pod term they select.

    A pod with an anti-affinity also keeps away pods that have no such term themselves, so every class is compared with
    the owners of the terms it satisfies (`feeds`).

    The registry only grows, so the index continues where it stopped. An owned term is registered after the pod term it
    selects.
    """

    __slots__ = ("_about", "_by_class", "_found", "_is_required", "_registry", "_seen")

    def __init__(self, *, required: bool) -> None:
        """Consider required anti-affinity, or preferences."""
        self._is_required = required
        self._registry: TermRegistry | None = None
        self._seen = 0
        self._about: dict[int, list[tuple[int, OwnedTerm]]] = {}
        #: By the terms that a class satisfies and others own: most classes satisfy the same.
        self._found: dict[frozenset[int], OwnedNumbers] = {}
        self._by_class: WeakKeyDictionary[TaskClass, OwnedNumbers] = WeakKeyDictionary()

    def about(self, task_class: TaskClass, registry: TermRegistry) -> OwnedNumbers:
        """Return the owned terms, with their numbers, that select members of the class. Equal results are identical."""
        self._read_on(registry)
        if not self._about:
            return ()
        known = self._by_class.get(task_class)
        if known is None:
            known = self._by_class[task_class] = self._find(frozenset(self._about.keys() & task_class.feeds))
        return known

    def _find(self, satisfied: frozenset[int]) -> OwnedNumbers:
        known = self._found.get(satisfied)
        if known is None:
            known = self._found[satisfied] = tuple(
                found for number in sorted(satisfied) for found in self._about[number]
            )
        return known

    def _read_on(self, registry: TermRegistry) -> None:
        if registry is not self._registry:
            self._registry, self._seen, self._about = registry, 0, {}
            self._forget()
        for number in range(self._seen, len(registry.counted)):
            counted = registry.counted[number]
            if isinstance(counted, OwnedTerm) and (counted.weight == 0) == self._is_required:
                self._add(number, counted, registry)
        self._seen = len(registry.counted)

    def _add(self, number: int, owned: OwnedTerm, registry: TermRegistry) -> None:
        about = registry.find(owned.term)
        if about is not None:
            self._about.setdefault(about, []).append((number, owned))
            self._forget()

    def _forget(self) -> None:
        self._found.clear()
        self._by_class.clear()
