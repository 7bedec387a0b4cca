"""Start latencies and failures of jobs, drawn from distributions.

Each draw depends on the seed, the job and its attempt alone: policies that are compared meet the same luck.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import log
from random import Random

from stromboli.core.model.values.times import parse_duration

#: Names with the number of their parameters.
DISTRIBUTIONS = {"constant": 1, "uniform": 2, "exponential": 1, "lognormal": 2, "weibull": 2}
_SYNTAX = "constant:TIME, uniform:TIME,TIME, exponential:MEAN, lognormal:MEDIAN,SIGMA or weibull:SCALE,SHAPE"


@dataclass(frozen=True, slots=True)
class DurationDistribution:
    """A distribution of seconds."""

    name: str
    parameters: tuple[float, ...]

    def draw(self, chance: Random) -> float:
        first, second = (*self.parameters, 0.0)[:2]
        draws: dict[str, Callable[[], float]] = {
            "constant": lambda: first,
            "uniform": lambda: chance.uniform(first, second),
            "exponential": lambda: chance.expovariate(1 / first),
            "lognormal": lambda: chance.lognormvariate(log(first), second),
            "weibull": lambda: chance.weibullvariate(first, second),
        }
        return draws[self.name]()


def parse_distribution(text: str) -> DurationDistribution:
    """Parse `exponential:30s`; a duration alone is constant. Raises ValueError."""
    name, separator, rest = text.partition(":")
    if not separator:
        name, rest = "constant", text
    parts = [part.strip() for part in rest.split(",")]
    if DISTRIBUTIONS.get(name) != len(parts):
        raise ValueError(f"{text!r} is not a distribution; write {_SYNTAX}")
    try:
        first = parse_duration(parts[0])
        second = [parse_duration(part) if name == "uniform" else float(part) for part in parts[1:]]
    except ValueError as error:
        raise ValueError(f"{text!r}: {error}; write {_SYNTAX}") from error
    if name == "uniform" and second[0] < first:
        raise ValueError(f"{text!r}: the bounds are in the wrong order")
    if name not in ("constant", "uniform") and not all(0 < value < float("inf") for value in (first, *second)):
        raise ValueError(f"{text!r}: the parameters must be above zero")
    return DurationDistribution(name, (first, *second))


@dataclass(frozen=True, slots=True)
class Chance:
    seed: int
    #: Seconds from the binding of a pod to its start.
    latency: DurationDistribution | None = None
    #: Seconds from the start of a pod to its failure.
    failure: DurationDistribution | None = None

    def latency_of(self, number: int, attempt: int, pods: int) -> float:
        """Return the seconds until the last pod of a job has started."""
        if self.latency is None:
            return 0.0
        chance = self._source("latency", number, attempt)
        return max(self.latency.draw(chance) for _ in range(pods))

    def failure_of(self, number: int, attempt: int, pods: int) -> float | None:
        """Return the seconds until the first pod of a job fails."""
        if self.failure is None:
            return None
        chance = self._source("failure", number, attempt)
        return min(self.failure.draw(chance) for _ in range(pods))

    def _source(self, what: str, number: int, attempt: int) -> Random:
        return Random(f"{self.seed}/{what}/{number}/{attempt}")  # noqa: S311 - a simulation
