"""Whether the process is alive and ready, by named checks.

A check is a function without arguments that answers what is wrong, or nothing. It is called from another thread
than the one it tells about, and while that one is busy: so it looks at something and waits for nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

Check = Callable[[], str | None]


@dataclass(frozen=True, slots=True)
class Verdict:
    """The answers of all checks that were asked, by name; None where nothing is wrong."""

    problems: dict[str, str | None]

    @property
    def is_good(self) -> bool:
        return not any(self.problems.values())

    def in_words(self, *, verbose: bool) -> str:
        """As Kubernetes says it: `ok`, or one line per check."""
        if self.is_good and not verbose:
            return "ok\n"
        lines = [f"[-]{name} failed: {told}" if told else f"[+]{name} ok" for name, told in self.problems.items()]
        return "\n".join((*lines, "check passed" if self.is_good else "check failed")) + "\n"


class Health:
    """Checks of two kinds. A process that is not alive should be started anew; one that is not ready, left alone."""

    def __init__(self) -> None:
        self._alive: dict[str, Check] = {}
        self._ready: dict[str, Check] = {}

    def check_alive(self, name: str, check: Check) -> None:
        self._alive[name] = check

    def check_ready(self, name: str, check: Check) -> None:
        self._ready[name] = check

    def alive(self) -> Verdict:
        return Verdict({"ping": None, **_ask(self._alive)})

    def ready(self) -> Verdict:
        """What is ready is alive, too."""
        return Verdict({"ping": None, **_ask(self._alive), **_ask(self._ready)})


def _ask(checks: dict[str, Check]) -> dict[str, str | None]:
    return {name: _answer(check) for name, check in list(checks.items())}


def _answer(check: Check) -> str | None:
    """A check that fails to answer has answered."""
    try:
        return check() or None
    except Exception as error:
        return f"{type(error).__name__}: {error}"


class Heartbeat:
    """A check of something that goes round: it must come by again before the limit, in seconds."""

    def __init__(self, what: str, limit: float, clock: Callable[[], float]) -> None:
        self._what = what
        self._limit = limit
        self._clock = clock
        self._last = clock()

    def beat(self) -> None:
        self._last = self._clock()

    def __call__(self) -> str | None:
        silence = self._clock() - self._last
        if silence <= self._limit:
            return None
        return f"{self._what} has not come by for {silence:.0f} s, the limit is {self._limit:g} s"


class Milestone:
    """A check of something that must have happened, such as the first list of every kind."""

    def __init__(self, missing: str) -> None:
        self._missing: str | None = missing

    def reached(self) -> None:
        self._missing = None

    def lost(self, missing: str) -> None:
        self._missing = missing

    def __call__(self) -> str | None:
        return self._missing
