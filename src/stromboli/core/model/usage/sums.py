"""Sums of decayed pod-seconds per account, updated by starts and ends of pods alone.

A pod that started at s counts (1 - exp(-r (t - s))) / r at a later moment t, for a decay rate r. The sum over all pods
is therefore a number of running pods and one offset per account, whose decay from one moment to another is a factor.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import exp, inf

import numpy as np
from numpy.typing import NDArray

from stromboli.core.model.usage.decay import UsageDecay, WindowForm

#: Exponents above this are avoided by a later reference moment.
_MAX_EXPONENT = 30.0


@dataclass(frozen=True, slots=True)
class RunEvents:
    """Starts (1) and ends (-1) of pods."""

    moments: NDArray[np.float64]
    accounts: NDArray[np.int32]
    signs: NDArray[np.int8]

    def __getitem__(self, part: slice | NDArray[np.intp]) -> RunEvents:
        return RunEvents(self.moments[part], self.accounts[part], self.signs[part])

    def __len__(self) -> int:
        return len(self.moments)

    def followed_by(self, later: RunEvents) -> RunEvents:
        """Return both, in the order of their moments."""
        joined = RunEvents(
            np.concatenate((self.moments, later.moments)),
            np.concatenate((self.accounts, later.accounts)),
            np.concatenate((self.signs, later.signs)),
        )
        is_sorted = bool((joined.moments[1:] >= joined.moments[:-1]).all())
        return joined if is_sorted else joined[np.argsort(joined.moments, kind="stable")]


class DecayedSums:
    """Pod-seconds since the first event, decayed."""

    def __init__(self, rate: float, reference: float) -> None:
        self._rate = rate
        self._reference = reference
        self._running = np.zeros(0)
        self._offsets = np.zeros(0)

    def add(self, events: RunEvents, size: int) -> None:
        """Add events of accounts below `size`."""
        if len(events):
            self._avoid_overflow(float(events.moments.max()))
        missing = size - len(self._running)
        if missing > 0:
            self._running = np.append(self._running, np.zeros(missing))
            self._offsets = np.append(self._offsets, np.zeros(missing))
        size = len(self._running)
        since = events.moments - self._reference
        primitive = np.exp(self._rate * since) / self._rate if self._rate else since
        self._running += np.bincount(events.accounts, events.signs, size)
        self._offsets -= np.bincount(events.accounts, primitive * events.signs, size)

    def at(self, moment: float) -> NDArray[np.float64]:
        """Return the sums at a moment after all events."""
        return self.up_to(moment, moment)

    def up_to(self, moment: float, now: float) -> NDArray[np.float64]:
        """Return the sums up to a moment after all events, as they count later: `now` is not before the reference."""
        self._avoid_overflow(moment)
        if self._rate:
            running = self._running * (exp(-self._rate * (now - moment)) / self._rate)
            return running + self._offsets * exp(-self._rate * (now - self._reference))
        return self._running * (moment - self._reference) + self._offsets

    def _avoid_overflow(self, moment: float) -> None:
        passed = moment - self._reference
        if self._rate * passed > _MAX_EXPONENT:
            self._offsets *= exp(-self._rate * passed)
            self._reference = moment


class WindowedSums:
    """Decayed pod-seconds within the window of a decay: all of them, less those up to the start of the window."""

    def __init__(self, decay: UsageDecay, now: float) -> None:
        self._decay = decay
        self._all = DecayedSums(decay.rate, now)
        self._is_fixed = decay.form is WindowForm.SINCE
        self._before = DecayedSums(decay.rate, now) if decay.window or self._is_fixed else None
        self._within = RunEvents(np.zeros(0), np.zeros(0, np.int32), np.zeros(0, np.int8))

    def add(self, events: RunEvents, size: int) -> None:
        self._all.add(events, size)
        if self._before is None:
            return
        if self._is_fixed:
            self._before.add(events[np.flatnonzero(events.moments <= self._decay.origin)], size)
        else:
            self._within = self._within.followed_by(events)
            self._before.add(events[:0], size)

    def at(self, now: float) -> NDArray[np.float64]:
        """Return the sums at a moment, which must not be before that of an earlier call."""
        sums = self._all.at(now)
        if self._before is not None:
            start = self._decay.window_start(now)
            passed = int(np.searchsorted(self._within.moments, start, "right"))
            self._before.add(self._within[:passed], len(sums))
            self._within = self._within[passed:]
            sums = sums - self._before.up_to(start, now)
        return np.clip(sums, 0.0, inf)
