"""Terms of placed pods that select a class.

A pod with an anti-affinity also keeps away pods that have no such term themselves, so every class must be compared with
every term of every pod. The index is by what the terms select: a class has the terms it satisfies (`feeds`), and looks
up the owners of those.
"""

from __future__ import annotations

from stromboli.core.model.tasks.pod_terms import OwnedTerm, TermRegistry
from stromboli.core.model.tasks.task_class import TaskClass


class OwnedTerms:
    """Terms that pods own, by the number of the pod term they select.

    The registry only grows, so the index continues where it stopped. An owned term is registered after the pod term it
    selects.
    """

    __slots__ = ("_about", "_registry", "_seen")

    def __init__(self) -> None:
        self._registry: TermRegistry | None = None
        self._seen = 0
        self._about: dict[int, list[tuple[int, OwnedTerm]]] = {}

    def about(self, task_class: TaskClass, registry: TermRegistry) -> list[tuple[int, OwnedTerm]]:
        """Return the owned terms, with their numbers, that select members of the class."""
        self._read_on(registry)
        return [found for number in task_class.feeds for found in self._about.get(number, ())]

    def _read_on(self, registry: TermRegistry) -> None:
        if registry is not self._registry:
            self._registry, self._seen, self._about = registry, 0, {}
        for number in range(self._seen, len(registry.counted)):
            counted = registry.counted[number]
            if isinstance(counted, OwnedTerm):
                self._add(number, counted, registry)
        self._seen = len(registry.counted)

    def _add(self, number: int, owned: OwnedTerm, registry: TermRegistry) -> None:
        about = registry.find(owned.term)
        if about is not None:
            self._about.setdefault(about, []).append((number, owned))
