"""Durations by an injected stopwatch: the core has no clock."""

from collections import defaultdict
from collections.abc import Callable

Stopwatch = Callable[[], float]


class MeasuredBlock:
    """Adds the seconds of a block to its subject. A class, because a cycle enters dozens of them."""

    __slots__ = ("_measurements", "_start", "_what")

    def __init__(self, measurements: "Measurements", what: tuple[str, ...]) -> None:
        self._measurements = measurements
        self._what = what

    def __enter__(self) -> None:
        self._start = self._measurements.stopwatch()

    def __exit__(self, *error: object) -> None:
        self._measurements.seconds[self._what] += self._measurements.stopwatch() - self._start


class Measurements:
    """Seconds by subject, such as ("action", "allocate") or ("plugin", "drf", "open")."""

    def __init__(self, stopwatch: Stopwatch) -> None:
        self.stopwatch = stopwatch
        self.seconds: dict[tuple[str, ...], float] = defaultdict(float)
        #: (seconds since the cycle began, tasks) of every committed statement.
        self.tasks: list[tuple[float, int]] = []
        #: Network domains that were skipped by their sums, and those that were tried.
        self.domains_passed_over = 0
        self.domains_tried = 0
        self.began = stopwatch()

    def measure(self, *what: str) -> MeasuredBlock:
        return MeasuredBlock(self, what)

    def committed(self, tasks: int) -> None:
        """Record the number of tasks that were just decided."""
        self.tasks.append((self.stopwatch() - self.began, tasks))
