"""Estimates of run times: how long a pod is likely to run, given how long it has run already.

An estimate is a distribution, from which a number between 0 and 1 draws a run time. Earlier runs of equal pods count
most; without them the declared run time, and last the limit of the kubelet, before which a pod may end at any time.
"""

from __future__ import annotations

import enum
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from math import inf


class RunTimeSource(enum.Enum):
    """What an estimate is based on."""

    LEARNED = "learned"
    DECLARED = "declared"
    LIMIT = "limit"
    #: A workload that does not end by itself, such as a Deployment.
    SERVICE = "service"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class RunTimeEstimate:
    """`runs` are sorted; `limit` ends a run in any case."""

    source: RunTimeSource
    runs: Sequence[float] = ()
    limit: float = inf

    def draw(self, part: float, elapsed: float = 0.0) -> float:
        """Return a run time of at least `elapsed`, at this part of the distribution; infinite if it is unknown."""
        if self.source in (RunTimeSource.SERVICE, RunTimeSource.UNKNOWN):
            return inf
        if self.source is RunTimeSource.LIMIT:
            return max(elapsed + part * (self.limit - elapsed), elapsed)
        return max(min(_drawn(self.runs, part, elapsed), self.limit), elapsed)


def _drawn(runs: Sequence[float], part: float, elapsed: float) -> float:
    """Draw from the runs that were longer than what has elapsed.

    The next of n comparable runs lies with equal probability in each of the n + 1 intervals between them. The last
    interval is open; a run that is longer than all earlier ones is assumed to end before it is twice as long.
    """
    left = runs[bisect_right(runs, elapsed) :]
    if len(runs) == 1 and left:  # a declared run time
        return left[0]
    bounds = (elapsed, *left, 2 * max(elapsed, runs[-1]))
    position = part * (len(bounds) - 1)
    place = min(int(position), len(bounds) - 2)
    return bounds[place] + (position - place) * (bounds[place + 1] - bounds[place])


UNKNOWN_RUN_TIME = RunTimeEstimate(RunTimeSource.UNKNOWN)
SERVICE_RUN_TIME = RunTimeEstimate(RunTimeSource.SERVICE)


def declared_run_time(seconds: float, limit: float = inf) -> RunTimeEstimate:
    return RunTimeEstimate(RunTimeSource.DECLARED, (seconds,), limit)


def limited_run_time(limit: float) -> RunTimeEstimate:
    return RunTimeEstimate(RunTimeSource.LIMIT, (), limit)


def learned_run_time(runs: Sequence[float], limit: float = inf) -> RunTimeEstimate:
    return RunTimeEstimate(RunTimeSource.LEARNED, tuple(sorted(runs)), limit)
