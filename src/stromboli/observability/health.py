"""Liveness and readiness of the process, by named checks.

A check is a function without arguments that returns a problem, or nothing. It is called from another thread while the
checked one is busy, so it must not wait.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

Check = Callable[[], str | None]


@dataclass(frozen=True, slots=True)
class HealthReport:
    """The problems of all checks, by name; None where there is none."""

    problems: dict[str, str | None]

    @property
    def is_good(self) -> bool:
        return not any(self.problems.values())

    def as_text(self, *, verbose: bool) -> str:
        """Format as Kubernetes does: `ok`, or one line per check."""
        if self.is_good and not verbose:
            return "ok\n"
        lines = [
            f"[-]{name} failed: {problem}" if problem else f"[+]{name} ok" for name, problem in self.problems.items()
        ]
        return "\n".join((*lines, "check passed" if self.is_good else "check failed")) + "\n"


class Health:
    """Checks of two kinds: a process that is not alive is restarted; one that is not ready gets no traffic."""

    def __init__(self) -> None:
        self._alive: dict[str, Check] = {}
        self._ready: dict[str, Check] = {}

    def check_alive(self, name: str, check: Check) -> None:
        self._alive[name] = check

    def check_ready(self, name: str, check: Check) -> None:
        self._ready[name] = check

    def alive(self) -> HealthReport:
        return HealthReport({"ping": None, **_run_checks(self._alive)})

    def ready(self) -> HealthReport:
        """Return the readiness report, which includes the liveness checks."""
        return HealthReport({"ping": None, **_run_checks(self._alive), **_run_checks(self._ready)})


def _run_checks(checks: dict[str, Check]) -> dict[str, str | None]:
    return {name: _run_check(check) for name, check in list(checks.items())}


def _run_check(check: Check) -> str | None:
    """A check that raises has failed."""
    try:
        return check() or None
    except Exception as error:
        return f"{type(error).__name__}: {error}"


class Heartbeat:
    """A check of a loop: it must beat again within the limit, in seconds."""

    def __init__(self, what: str, limit: float, clock: Callable[[], float]) -> None:
        self._what = what
        self._limit = limit
        self._clock = clock
        self._last = clock()

    def beat(self) -> None:
        self._last = self._clock()

    def __call__(self) -> str | None:
        elapsed = self._clock() - self._last
        if elapsed <= self._limit:
            return None
        return f"{self._what} has been stuck for {elapsed:.0f} s, the limit is {self._limit:g} s"


class Milestone:
    """A check of a precondition, such as the first list of every kind."""

    def __init__(self, missing: str) -> None:
        self._missing: str | None = missing

    def reached(self) -> None:
        self._missing = None

    def lost(self, missing: str) -> None:
        self._missing = missing

    def __call__(self) -> str | None:
        return self._missing
