"""How long to wait before trying again: longer each time, and never in step with anybody else."""

from __future__ import annotations

import random
from dataclasses import dataclass, field


@dataclass(slots=True)
class Backoff:
    """Decorrelated jitter: each wait is drawn between the shortest one and three times the one before."""

    shortest: float = 0.8
    longest: float = 30.0
    chance: random.Random = field(default_factory=random.SystemRandom)
    _last: float = 0.0

    def next(self, at_least: float | None = None) -> float:
        """The next wait in seconds; `at_least` is what the server asked for, and is stretched, never shortened."""
        self._last = min(self.chance.uniform(self.shortest, max(self._last, self.shortest) * 3), self.longest)
        if at_least is None:
            return self._last
        return max(self._last, at_least * self.chance.uniform(1.0, 1.2))

    def reset(self) -> None:
        self._last = 0.0
