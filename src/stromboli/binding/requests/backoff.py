"""How long a decision waits for its next attempt: the pause doubles with every one that failed."""

from __future__ import annotations

from collections.abc import Callable

from stromboli.binding.requests.decisions import Decision
from stromboli.binding.requests.options import BinderOptions


class AttemptBackoff:
    def __init__(self, options: BinderOptions, clock: Callable[[], float]) -> None:
        self._options = options
        self._clock = clock

    def after(self, decision: Decision, attempts: int) -> float:
        """Nothing is tried before. No pause lasts longer than there is time, unless something is left to be undone."""
        options = self._options
        pause = min(options.shortest_pause * 2.0 ** min(max(attempts - 1, 0), 30), options.longest_pause)
        now = self._clock()
        if now < decision.deadline and not decision.is_unwinding:
            pause = min(pause, max(decision.deadline - now, options.shortest_pause))
        decision.not_before = now + pause
        return pause
