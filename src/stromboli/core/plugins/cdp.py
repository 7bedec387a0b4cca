"""cdp: protect a pod from eviction during its cool-down time.

Evicting a pod that has just started wastes its work. A label or annotation of the pod sets how long after its placement
it is protected.
"""

from __future__ import annotations

from collections.abc import Sequence

from stromboli.core.config.plugin import EvictionContext, Plugin, Victims
from stromboli.core.model.tasks.task import Task
from stromboli.core.model.tasks.task_class import TaskClass
from stromboli.core.model.values.times import parse_duration
from stromboli.core.session.session import Session

COOLDOWN = "volcano.sh/cooldown-time"


class Cdp(Plugin):
    name = "cdp"
    reads_labels = (COOLDOWN,)
    reads_annotations = (COOLDOWN,)
    guards_victims = True

    def open(self, session: Session) -> None:
        self._now = session.now
        self._warnings = session.warnings
        self._times: dict[str, float] = {}

    def preemptable(self, preemptor: Task, candidates: Sequence[Task]) -> Victims:
        return self._past_cooldown(candidates)

    def reclaimable(self, preemptor: Task, candidates: Sequence[Task]) -> Victims:
        return self._past_cooldown(candidates)

    def evictable(self, context: EvictionContext, candidates: Sequence[Task]) -> Victims:
        return self._past_cooldown(candidates)

    def veto(self, preemptor: Task, victim: Task) -> str:
        has_run = self._now - (victim.placed_at or victim.created)
        return f"it was placed {has_run:.0f} s ago, and its cool-down time is {self._time_of(victim.task_class):.0f} s"

    def _past_cooldown(self, candidates: Sequence[Task]) -> list[Task]:
        return [task for task in candidates if self._is_past_cooldown(task)]

    def _is_past_cooldown(self, task: Task) -> bool:
        """Report whether the cool-down time is over. A pod without a placement time counts from its creation."""
        return (task.placed_at or task.created) + self._time_of(task.task_class) <= self._now

    def _time_of(self, task_class: TaskClass) -> float:
        """Return the cool-down time of a class in seconds; 0 if it is missing or invalid."""
        text = task_class.labels.get(COOLDOWN) or task_class.annotations.get(COOLDOWN)
        if text is None:
            return 0.0
        if text not in self._times:
            self._times[text] = self._read(text)
        return self._times[text]

    def _read(self, text: str) -> float:
        try:
            return parse_duration(text)
        except ValueError as error:
            self._warnings.append(f"label or annotation {COOLDOWN}: {error}; it is ignored")
            return 0.0
