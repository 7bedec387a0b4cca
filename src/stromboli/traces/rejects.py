"""Rows of a trace that cannot be used. They are skipped by rule and counted; nothing is guessed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

#: Further rows are only counted.
MAX_NAMED = 3


@dataclass(slots=True)
class RejectedRule:
    """The rows that one rule rejects: their number, and the first ones as `FILE:LINE: detail`."""

    rows: int = 0
    first: list[str] = field(default_factory=list)


@dataclass(slots=True)
class RejectedRows:
    by_rule: dict[str, RejectedRule] = field(default_factory=dict)

    @property
    def rows(self) -> int:
        return sum(rule.rows for rule in self.by_rule.values())

    def add(self, rule: str, place: str, detail: str = "") -> None:
        known = self.by_rule.setdefault(rule, RejectedRule())
        known.rows += 1
        if len(known.first) < MAX_NAMED:
            known.first.append(f"{place}: {detail}" if detail else place)

    def clear(self) -> None:
        self.by_rule.clear()

    def warnings(self) -> Iterator[str]:
        """Yield one message per rule."""
        for name, rule in self.by_rule.items():
            rows = "1 row" if rule.rows == 1 else f"{rule.rows:,} rows"
            more = ", ..." if rule.rows > len(rule.first) else ""
            yield f"{rows} skipped, {name}: {', '.join(rule.first)}{more}"


class RowProblem(ValueError):
    """Why one row is rejected: the rule, and the detail."""

    def __init__(self, rule: str, detail: str = "") -> None:
        super().__init__(f"{rule}: {detail}" if detail else rule)
        self.rule = rule
        self.detail = detail
