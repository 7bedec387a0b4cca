"""Zones: nodes that are revocable during the same hours, and the pods that may use them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from stromboli.core.model.ledger.ledger import Ledger
from stromboli.core.model.nodes.amounts import Rows
from stromboli.core.model.nodes.table import Index, Mask, NodeTable, Vector
from stromboli.core.model.reasons import Code, Reason
from stromboli.core.model.tasks.task_class import TaskClass
from stromboli.core.search.node_rules import Locality, NodeFilter, NodeScorer

ZONE = "volcano.sh/revocable-zone"
PREEMPTABLE = "volcano.sh/preemptable"
ANY_ZONE = "*"

_HOURS = re.compile(r"([01]?\d|2[0-3]):([0-5]\d)-([01]?\d|2[0-3]):([0-5]\d)", re.ASCII)
_MINUTES_PER_DAY = 24 * 60
_POINTS = 100.0


@dataclass(frozen=True, slots=True)
class Hours:
    """From one minute of the day to another, which may lie in the next day. Days are those of UTC."""

    text: str
    start: int
    end: int

    def has(self, now: float) -> bool:
        minute = now // 60 % _MINUTES_PER_DAY
        if self.start < self.end:
            return self.start <= minute < self.end
        return minute >= self.start or minute < self.end


def hours_of(text: str) -> Hours:
    """Parse a range of hours; raise ValueError with the expected form."""
    found = _HOURS.fullmatch(text.strip())
    if found is None:
        raise ValueError(f"{text[:64]!r} is no range of hours; write one such as 20:00-06:00")
    start_hour, start_minute, end_hour, end_minute = map(int, found.groups())
    return Hours(text.strip(), start_hour * 60 + start_minute, end_hour * 60 + end_minute)


def may_use_revocable_nodes(task_class: TaskClass) -> bool:
    """Report whether pods of a class may run on revocable nodes: by annotation, or because they are preemptable."""
    zone = task_class.annotations.get(ZONE)
    return zone == ANY_ZONE if zone is not None else is_marked(task_class) is True


def is_marked(task_class: TaskClass) -> bool | None:
    """Report whether pods of a class are marked as preemptable; None if they are not marked at all."""
    text = task_class.annotations.get(PREEMPTABLE) or task_class.labels.get(PREEMPTABLE)
    return None if text is None else text.lower() == "true"


class Zones:
    """The zones of the configuration, at one time."""

    def __init__(self, hours: Mapping[str, Hours]) -> None:
        self.hours = hours
        self.now = 0.0

    def is_open(self, zone: str) -> bool:
        return zone in self.hours and self.hours[zone].has(self.now)

    def is_over(self, zone: str) -> bool:
        """Report whether the hours of a zone are over."""
        return zone in self.hours and not self.hours[zone].has(self.now)

    def opened(self, nodes: NodeTable) -> Mask:
        """Return the revocable nodes that take pods now."""
        column = nodes.column(ZONE)
        return np.array([*map(self.is_open, column.values), False], dtype=np.bool_)[column.codes]


class RevocableNodeFilter(NodeFilter):
    """A revocable node takes pods that may use it, during its hours."""

    locality = Locality.ROW  # not static: the hours begin and end

    def __init__(self, zones: Zones) -> None:
        self._zones = zones

    def applies_to(self, task_class: TaskClass, ledger: Ledger) -> bool:
        return bool(ledger.nodes.column(ZONE).values)

    def filter(self, task_class: TaskClass, rows: Rows, ledger: Ledger) -> Mask:
        welcome = self._allowed_nodes(task_class, rows.nodes)
        return welcome if rows.index is None else welcome[rows.index]

    def _allowed_nodes(self, task_class: TaskClass, nodes: NodeTable) -> Mask:
        outside: Mask = nodes.column(ZONE).codes < 0
        return outside | self._zones.opened(nodes) if may_use_revocable_nodes(task_class) else outside

    def refusals(self, task_class: TaskClass, ledger: Ledger, refused: Mask) -> Iterable[tuple[Reason, Index]]:
        column, lent = ledger.nodes.column(ZONE), np.zeros(len(ledger.nodes), dtype=np.bool_)
        for code, zone in enumerate(column.values):
            rows = np.flatnonzero(refused & (column.codes == code))
            if self._zones.is_open(zone):
                lent[rows] = True
            elif len(rows):
                yield Reason(Code.REVOCABLE_NODE, self._closed(zone)), rows
        if lent.any():
            yield Reason(Code.REVOCABLE_NODE, "not allow to dispatch to revocable node"), np.flatnonzero(lent)

    def _closed(self, zone: str) -> str:
        hours = self._zones.hours.get(zone)
        if hours is None:
            return f"revocable zone {zone} not support"
        return f"current time beyond revocable zone {zone}:{hours.text}"


class RevocableNodeScorer(NodeScorer):
    """Pods that may use revocable nodes prefer them, and leave the other nodes to pods that may not."""

    locality = Locality.ROW

    def __init__(self, zones: Zones) -> None:
        self._zones = zones

    def applies_to(self, task_class: TaskClass, ledger: Ledger) -> bool:
        return may_use_revocable_nodes(task_class) and bool(ledger.nodes.column(ZONE).values)

    def scores(self, task_class: TaskClass, rows: Rows, ledger: Ledger, candidates: Mask | None) -> Vector:
        points: Vector = np.where(self._zones.opened(rows.nodes), _POINTS, 0.0)
        return points if rows.index is None else points[rows.index]
