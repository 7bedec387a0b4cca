"""How past usage counts: a half-life, and a window outside of which it does not count at all."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from math import exp, inf, log


class WindowForm(StrEnum):
    #: The last seconds before the present.
    SLIDING = "sliding"
    #: The present one of consecutive periods: usage starts from zero with each of them.
    TUMBLING = "tumbling"
    #: Everything since `origin`.
    SINCE = "since"


@dataclass(frozen=True, slots=True)
class UsageDecay:
    """Durations are in seconds; 0 means no decay, and no window. Tumbling windows begin at multiples after `origin`."""

    half_life: float = 0.0
    window: float = 0.0
    form: WindowForm = WindowForm.SLIDING
    origin: float = 0.0

    @property
    def rate(self) -> float:
        """The rate of the exponential decay, per second."""
        return log(2.0) / self.half_life if self.half_life else 0.0

    def window_start(self, now: float) -> float:
        """Return the moment before which usage does not count."""
        if self.form is WindowForm.SINCE:
            return self.origin
        if not self.window:
            return -inf
        if self.form is WindowForm.SLIDING:
            return now - self.window
        return now - (now - self.origin) % self.window

    def span(self, now: float) -> float:
        """Return the usage of one unit that is always in use, in seconds; infinity if nothing limits it."""
        length = now - self.window_start(now)
        return (1.0 - exp(-self.rate * length)) / self.rate if self.rate else length
