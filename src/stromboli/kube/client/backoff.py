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

    def next(self, asked: float | None = None) -> float:
        """The next wait in seconds. A wait that the server asked for is stretched a little, and never made to grow."""
        self._last = min(self.chance.uniform(self.shortest, max(self._last, self.shortest) * 3), self.longest)
        return self._last if asked is None else max(self.shortest, asked * self.chance.uniform(1.0, 1.2))

    def reset(self) -> None:
        self._last = 0.0
