"""What the scorers of network-topology-aware have in common: the classes that they score, and the current task."""

from __future__ import annotations

from collections.abc import Set
from typing import TYPE_CHECKING

from stromboli.core.model.ledger.ledger import Ledger
from stromboli.core.model.tasks.task import Task
from stromboli.core.model.tasks.task_class import TaskClass
from stromboli.core.search.node_rules import NodeScorer

if TYPE_CHECKING:
    from stromboli.core.session.session import Session


class ClassScorer(NodeScorer):
    """Scores nodes for the current task, for classes that have such tasks."""

    _session: Session | None = None
    _classes: Set[int] = frozenset()

    def open(self, session: Session, classes: Set[int]) -> None:
        self._session, self._classes = session, classes

    def applies_to(self, task_class: TaskClass, ledger: Ledger) -> bool:
        return task_class.number in self._classes

    @property
    def current_task(self) -> Task | None:
        return self._session.search.current_task if self._session else None
