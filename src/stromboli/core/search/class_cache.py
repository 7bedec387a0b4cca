"""Results that a rule computes once per class and cycle."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Generic, TypeVar
from weakref import WeakKeyDictionary

from stromboli.core.model.ledger.ledger import Ledger
from stromboli.core.model.tasks.task_class import TaskClass

Kept = TypeVar("Kept")


class ClassCache(Generic[Kept]):
    """Results by class, valid for one ledger.

    Rules live as long as the configuration; classes and ledgers do not: the cache is cleared with another ledger, and
    when its ledger is gone, since a rule may not be asked again. The ledger itself is not kept alive.
    """

    __slots__ = ("_kept", "_lasting", "_ledger", "_make")

    def __init__(self, make: Callable[[TaskClass, Ledger], Kept], *, lasts: bool = False) -> None:
        """Compute results with `make`. With `lasts` they follow from the class alone, and are kept while it exists."""
        self._make = make
        self._lasting: WeakKeyDictionary[TaskClass, Kept] | None = WeakKeyDictionary() if lasts else None
        self._kept: dict[TaskClass, Kept] = {}
        self._ledger: Callable[[], Ledger | None] = _no_ledger

    def of(self, task_class: TaskClass, ledger: Ledger) -> Kept:
        if self._ledger() is not ledger:
            self._ledger = weakref.ref(ledger, self._clear)
            self._kept = {}
        try:
            return self._kept[task_class]
        except KeyError:
            lasting = self._lasting
            made = None if lasting is None else lasting.get(task_class)
            if made is None:
                made = self._make(task_class, ledger)
                if lasting is not None:
                    lasting[task_class] = made
            self._kept[task_class] = made
            return made

    def _clear(self, _: weakref.ref[Ledger]) -> None:
        self._kept = {}


def _no_ledger() -> None:
    return None
