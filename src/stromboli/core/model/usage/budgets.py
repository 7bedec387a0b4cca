"""Budgets: hours of a resource that a queue, its users or its namespaces may use in a period.

They are an annotation of their queue and apply to the queue with its descendants; those of the root queue apply to the
cluster.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import lru_cache
from typing import Annotated, Literal

import msgspec

from stromboli.core.model.resources.resources import hour_on_axis, is_bytes, short_name
from stromboli.core.model.values.times import date_of

#: The annotation of a queue: a JSON array of budgets.
BUDGETS = "stromboli.dev/budgets"
#: Each user, or each namespace, has the budget for itself.
EACH = "*"
DAY, WEEK, MONTH = "day", "week", "month"
BLOCK, PREEMPTIBLE = "block", "preemptible"
WARN_AT = (80, 100)

Hours = Annotated[float, msgspec.Meta(ge=0, le=1e12)]
Percent = Annotated[int, msgspec.Meta(ge=1, le=1000)]


class Budget(msgspec.Struct, rename="camel", frozen=True, forbid_unknown_fields=True):
    """Hours are those of processors, of GiB of memory or storage, and of devices."""

    resource: Annotated[str, msgspec.Meta(min_length=1, max_length=256)]
    hours: Hours
    #: Calendar periods in UTC; a week begins on Monday.
    period: Literal["day", "week", "month"] = "month"
    #: Only usage of this user, and of this namespace; `*` for each by itself, and empty for all together.
    user: str = ""
    namespace: str = ""
    #: The most unused hours of the last period that are added.
    carry_over: Hours = 0.0
    #: Hours beyond the budget that have no consequence yet.
    grace: Hours = 0.0
    #: What happens to jobs beyond the budget: they are blocked, or served last and may be preempted.
    over: Literal["block", "preemptible"] = "block"
    #: Per cent of the budget at which the queue gets an event.
    warn_at: Annotated[tuple[Percent, ...], msgspec.Meta(max_length=8)] = WARN_AT

    @property
    def hour(self) -> float:
        """The usage of an hour, in processors, bytes and devices, times seconds."""
        return 3600.0 * (2**30 if is_bytes(self.resource) else 1)

    @property
    def hour_on_axis(self) -> float:
        """The same in the units of the resource axis."""
        return hour_on_axis(self.resource)

    @property
    def scope(self) -> str:
        """The text that distinguishes budgets of a queue: `nvidia.com/gpu, user ana`."""
        parts = [self.resource, self.user and f"user {self.user}", self.namespace and f"namespace {self.namespace}"]
        return ", ".join(filter(None, parts))

    def applies_to(self, user: str, namespace: str) -> bool:
        return self.user in ("", EACH, user) and self.namespace in ("", EACH, namespace)

    def holder(self, user: str, namespace: str) -> BudgetHolder:
        """Return by whose usage the budget is measured for a job."""
        return BudgetHolder(
            user if self.user == EACH else self.user, namespace if self.namespace == EACH else self.namespace
        )


@dataclass(frozen=True, slots=True)
class BudgetHolder:
    """A user and a namespace; empty for all."""

    user: str = ""
    namespace: str = ""

    def __str__(self) -> str:
        parts = [self.user and f"user {self.user}", self.namespace and f"namespace {self.namespace}"]
        return ", ".join(filter(None, parts))


@dataclass(frozen=True, slots=True)
class BudgetState:
    """A budget with what its holder has used. Hours."""

    queue: str
    budget: Budget
    holder: BudgetHolder
    used: float
    #: With what was carried over.
    limit: float
    #: The beginning of the period.
    since: float

    @property
    def subject(self) -> str:
        """The text that distinguishes the holder; empty for all. Jobs without a user count as those of one."""
        unknown = "no user" if self.budget.user == EACH and not self.holder.user else ""
        return ", ".join(filter(None, (unknown, str(self.holder))))

    @property
    def is_exhausted(self) -> bool:
        """Report whether the budget and its grace are used up."""
        return self.used >= self.limit + self.budget.grace

    @property
    def state(self) -> str:
        """Whether it is open, in its grace, or used up."""
        if self.is_exhausted:
            return "used up"
        return "in grace" if self.used >= self.limit else "open"

    @property
    def percent(self) -> float:
        return 100.0 * self.used / self.limit if self.limit else 100.0

    @property
    def warning(self) -> int:
        """The highest threshold that is reached; 0 for none."""
        return max((percent for percent in self.budget.warn_at if self.percent >= percent), default=0)

    def __str__(self) -> str:
        name = short_name(self.budget.resource)
        of = f" of {self.subject}" if self.subject else ""
        this = {DAY: "today", WEEK: "this week", MONTH: "this month"}[self.budget.period]
        return f"{self.used:.1f} of {self.limit:.1f} hours of {name}{of} are used {this}"


@lru_cache(maxsize=1024)
def budgets_of(text: str) -> Sequence[Budget]:
    """Return the budgets of an annotation. Raises ValueError."""
    try:
        budgets = msgspec.json.decode(text, type=tuple[Budget, ...])
    except (msgspec.DecodeError, RecursionError) as error:
        raise ValueError(f"annotation {BUDGETS}: {error}; write it with stromboli budget set") from None
    scopes = [budget.scope for budget in budgets]
    if twice := next((scope for scope in scopes if scopes.count(scope) > 1), None):
        raise ValueError(f"annotation {BUDGETS}: two budgets for {twice}; keep one")
    return budgets


def period_starts(period: str, now: float) -> tuple[float, float]:
    """Return the beginnings of the present period and of the one before."""
    day = date_of(now).replace(hour=0, minute=0, second=0, microsecond=0)
    if period == DAY:
        return day.timestamp(), (day - timedelta(days=1)).timestamp()
    if period == WEEK:
        monday = day - timedelta(days=day.weekday())
        return monday.timestamp(), (monday - timedelta(days=7)).timestamp()
    first = day.replace(day=1)
    return first.timestamp(), (first - timedelta(days=1)).replace(day=1).timestamp()


def period_end(period: str, start: float) -> float:
    """Return the end of the period that begins at a moment."""
    days = {DAY: 1, WEEK: 7, MONTH: 31}[period]
    # Noon, for a month of 31 days ends at that midnight; after a shorter one the next month has begun.
    return period_starts(period, start + (days + 0.5) * 86_400)[0]


def limit_of(budget: Budget, used_before: float) -> float:
    """Return the hours of a period after one in which so many were used."""
    return budget.hours + min(budget.carry_over, max(budget.hours - used_before, 0.0))
