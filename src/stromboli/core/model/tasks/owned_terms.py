"""Which terms that placed pods carry are about a given class.

A pod with an anti-affinity keeps others away even when those say nothing themselves, so every class must be
compared with every term that anybody carries. The index is kept by what the terms select: a class knows the
terms it satisfies (`feeds`), and looks up who cares about those.
"""

from __future__ import annotations

from stromboli.core.model.tasks.pod_terms import Owned, TermRegistry
from stromboli.core.model.tasks.task_class import TaskClass


class OwnedTerms:
    """Terms that pods carry, by the number of the pod term they are about.

    The registry only grows, so the index reads on where it stopped. Whoever registers an owned term registers the
    pod term it is about first.
    """

    __slots__ = ("_about", "_registry", "_seen")

    def __init__(self) -> None:
        self._registry: TermRegistry | None = None
        self._seen = 0
        self._about: dict[int, list[tuple[int, Owned]]] = {}

    def about(self, task_class: TaskClass, registry: TermRegistry) -> list[tuple[int, Owned]]:
        """The owned terms, with their numbers, that select members of the class."""
        self._read_on(registry)
        return [found for number in task_class.feeds for found in self._about.get(number, ())]

    def _read_on(self, registry: TermRegistry) -> None:
        if registry is not self._registry:
            self._registry, self._seen, self._about = registry, 0, {}
        for number in range(self._seen, len(registry.counted)):
            counted = registry.counted[number]
            if isinstance(counted, Owned):
                self._add(number, counted, registry)
        self._seen = len(registry.counted)

    def _add(self, number: int, owned: Owned, registry: TermRegistry) -> None:
        about = registry.find(owned.term)
        if about is not None:
            self._about.setdefault(about, []).append((number, owned))
