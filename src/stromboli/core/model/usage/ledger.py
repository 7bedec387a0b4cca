"""The usage ledger: starts and ends of pods, charged to accounts.

The ledger keeps one entry of 13 bytes for each start and each end, so that any decay can be asked for at any time. Sums
of a decay that was asked for before are updated by new entries alone.
"""

from __future__ import annotations

from array import array
from dataclasses import dataclass

import numpy as np

from stromboli.core.model.resources.resources import ResourceAxis
from stromboli.core.model.usage.decay import UsageDecay
from stromboli.core.model.usage.past_usage import Account, AccountTable, PastUsage
from stromboli.core.model.usage.sums import RunEvents, WindowedSums

_STARTED, _ENDED = 1, -1
#: Entries that are added to sums at once, to save memory.
_PART = 200_000
#: Sums that are kept up to date: beyond this, those of the decay that was asked for the longest time ago are dropped.
_MAX_DECAYS = 32


@dataclass(frozen=True, slots=True)
class OpenRun:
    """A pod that has started and not ended, as far as its recorder knows."""

    uid: str
    account: int
    started: float


class UsageLedger:
    """Used by one thread."""

    def __init__(self) -> None:
        self._table = AccountTable()
        self._moments = array("d")
        self._accounts = array("i")
        self._signs = array("b")
        #: Sums of each decay, and the number of entries that they contain.
        self._sums: dict[UsageDecay, tuple[WindowedSums, int]] = {}
        #: Whether recorded runs are still being loaded: more is used than is known here.
        self.is_loading = False

    def __len__(self) -> int:
        return len(self._moments)

    def copy(self) -> UsageLedger:
        """Return a ledger that continues from here. Both share the accounts."""
        other = UsageLedger()
        other._table = self._table
        other._moments, other._accounts, other._signs = self._moments[:], self._accounts[:], self._signs[:]
        other.is_loading = self.is_loading
        return other

    def account(self, account: Account) -> int:
        """Return the number of an account."""
        return self._table.number(account)

    def started(self, account: int, moment: float) -> None:
        """Charge a pod to an account from this moment on."""
        self._enter(account, moment, _STARTED)

    def ended(self, account: int, moment: float) -> None:
        """End the charge of a pod that started before."""
        self._enter(account, moment, _ENDED)

    def _enter(self, account: int, moment: float, sign: int) -> None:
        self._moments.append(moment)
        self._accounts.append(account)
        self._signs.append(sign)

    def enter(self, events: RunEvents) -> None:
        """Enter many starts or ends."""
        self._moments.frombytes(events.moments.tobytes())
        self._accounts.frombytes(events.accounts.tobytes())
        self._signs.frombytes(events.signs.tobytes())

    def at(self, now: float, decay: UsageDecay, axis: ResourceAxis, size: int) -> PastUsage:
        """Return the usage at a moment, which must not be before those of earlier calls."""
        seconds = self._sums_of(decay, now).at(now)
        dimensions = {name: axis.find(name) for name in self._table.names}
        return PastUsage(self._table, seconds, dimensions, size)

    def _sums_of(self, decay: UsageDecay, now: float) -> WindowedSums:
        known = self._sums.pop(decay, None)
        sums, position = known if known is not None else (WindowedSums(decay, now), 0)
        sums.add(self._part(position), len(self._table))
        for start in range(position + _PART, len(self), _PART):
            sums.add(self._part(start), len(self._table))
        self._sums[decay] = sums, len(self)
        if len(self._sums) > _MAX_DECAYS:
            del self._sums[next(iter(self._sums))]
        return sums

    def _part(self, start: int) -> RunEvents:
        """Return a copy of some entries: arrays that grow must not be shared."""
        part = slice(start, start + _PART)
        return RunEvents(
            np.frombuffer(self._moments, np.float64)[part].copy(),
            np.frombuffer(self._accounts, np.int32)[part].copy(),
            np.frombuffer(self._signs, np.int8)[part].copy(),
        )
