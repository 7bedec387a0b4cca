"""Durations by an injected stopwatch: the core has no clock."""

from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager

Stopwatch = Callable[[], float]


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

    @contextmanager
    def measure(self, *what: str) -> Iterator[None]:
        start = self.stopwatch()
        try:
            yield
        finally:
            self.seconds[what] += self.stopwatch() - start

    def committed(self, tasks: int) -> None:
        """Record the number of tasks that were just decided."""
        self.tasks.append((self.stopwatch() - self.began, tasks))
