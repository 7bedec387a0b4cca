"""The model of Lublin and Feitelson for parallel jobs: sizes, run times that depend on them, and a daily cycle.

U. Lublin and D. G. Feitelson, "The workload on parallel supercomputers: modeling the characteristics of rigid jobs",
JPDC 63(11), 2003; the parameters are those of batch and interactive jobs together.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import exp, log2
from random import Random

from stromboli.traces.trace import Trace, TraceHeader, TraceJob

NAME = "lublin"
# Sizes: the probability of one processor and of a power of two, and a uniform distribution of log2 in two stages.
_SERIAL, _POWER_OF_TWO = 0.244, 0.576
_LOW, _MIDDLE_BELOW_HIGH, _LOW_PROBABILITY = 0.8, 2.5, 0.86
# Run times: log(seconds) has a hyper-gamma distribution, whose mixture depends on the size.
_SHORT, _LONG = (4.2, 0.94), (312.0, 0.03)
_MIXTURE_SLOPE, _MIXTURE = -0.0054, 0.78
_MAX_LOG_RUN_TIME = 12.0
# Arrivals: log(seconds) between arrivals has a gamma distribution, and their rate a daily cycle of half hours.
_GAP, _CYCLE, _RUSH_RATIO = (10.2303, 0.4871), (8.1737, 3.9631), 1.0225
_MAX_LOG_GAP = 13.0
_SLOT, _SLOTS, _FIRST_SLOT = 1800.0, 48, 11


def lublin(jobs: int, processors: int, seed: int) -> Trace:
    """Return a trace for a machine of so many processors."""
    header = TraceHeader(nodes=processors, processors=processors, computer="Lublin-Feitelson model")
    return Trace(NAME, NAME, lambda: _jobs(jobs, processors, Random(seed)), header)  # noqa: S311 - a simulation


def _jobs(jobs: int, processors: int, chance: Random) -> Iterator[TraceJob]:
    cycle, now = _daily_cycle(), 0.0
    for number in range(1, jobs + 1):
        now = _after(now, _limited(chance, _GAP, _MAX_LOG_GAP) / _RUSH_RATIO, cycle)
        size = _size(processors, chance)
        yield TraceJob(
            name=str(number), submitted=float(round(now)), run_time=float(max(round(_run_time(size, chance)), 1)),
            pods=size, cpu=1000, status="completed",
        )  # fmt: skip


def _size(processors: int, chance: Random) -> int:
    kind, high = chance.random(), log2(processors)
    if kind <= _SERIAL or processors == 1:
        return 1
    low = min(_LOW, high)
    middle = max(low, high - _MIDDLE_BELOW_HIGH)
    drawn = chance.uniform(low, middle) if chance.random() <= _LOW_PROBABILITY else chance.uniform(middle, high)
    drawn = round(drawn) if kind <= _SERIAL + _POWER_OF_TWO else drawn
    return min(max(round(2**drawn), 1), processors)


def _run_time(size: int, chance: Random) -> float:
    is_short = chance.random() <= min(max(_MIXTURE_SLOPE * size + _MIXTURE, 0.0), 1.0)
    return _limited(chance, _SHORT if is_short else _LONG, _MAX_LOG_RUN_TIME)


def _limited(chance: Random, shape: tuple[float, float], limit: float) -> float:
    """Draw a duration whose logarithm has a gamma distribution; values above the limit are drawn again."""
    while (drawn := chance.gammavariate(*shape)) > limit:
        pass
    return exp(drawn)


def _daily_cycle() -> list[float]:
    """Return the rate of arrivals in each half hour of a day, relative to the mean."""
    shape, scale = _CYCLE
    rates = [0.0] * _SLOTS
    for slot in range(_FIRST_SLOT, _FIRST_SLOT + _SLOTS):
        rates[slot % _SLOTS] = (slot / scale) ** (shape - 1) * exp(-slot / scale)
    mean = sum(rates) / _SLOTS
    return [rate / mean for rate in rates]


def _after(now: float, gap: float, cycle: list[float]) -> float:
    """Return the moment at which so much time has passed, where time passes at the rate of the cycle."""
    while True:
        rate = cycle[int(now // _SLOT) % _SLOTS]
        end = (now // _SLOT + 1) * _SLOT
        if gap <= (end - now) * rate:
            return now + gap / rate
        gap -= (end - now) * rate
        now = end
