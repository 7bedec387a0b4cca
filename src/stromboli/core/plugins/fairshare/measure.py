"""How much is used: fractions of the cluster over time, and one number for all resources."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import exp, inf, log
from typing import NamedTuple

import numpy as np

from stromboli.core.model.queues.queue import ROOT, Queue, ancestry
from stromboli.core.model.resources.resources import PODS
from stromboli.core.model.usage.decay import UsageDecay
from stromboli.core.model.usage.past_usage import PastUsage, UsageVector
from stromboli.core.model.usage.queue_annotations import HALF_LIFE, half_life_in, half_life_problems
from stromboli.core.plugins.fairshare.arguments import FairShareArguments
from stromboli.core.session.session import Session

#: What is allocated counts as if it stayed so for this part of a half-life: the order reacts to it within a cycle.
_AHEAD = 0.1
_PAST = exp(-_AHEAD * log(2.0))


#: By resource, the part of the past, and the factor of what is allocated.
_Terms = Sequence[tuple[int, float, float]]


@dataclass(frozen=True, slots=True)
class UsageLevel:
    """The usage of one queue or user."""

    #: Returns it for what the queue or user holds, in plain numbers: it is asked at every turn.
    at: Callable[[Sequence[int]], float]

    @classmethod
    def of(cls, terms: _Terms, *, adds_up: bool) -> UsageLevel:
        """The sum by billing weights; without any, the largest part."""
        if adds_up:
            return cls(lambda allocated: sum([past + factor * allocated[d] for d, past, factor in terms]))
        return cls(_larger_of_two(*terms) if len(terms) == 2 else _largest(terms))


def _larger_of_two(one: tuple[int, float, float], other: tuple[int, float, float]) -> Callable[[Sequence[int]], float]:
    """Implement the largest of cpu and memory, which most clusters have alone, in half the time."""
    (first, past_first, by_first), (second, past_second, by_second) = one, other

    def at(allocated: Sequence[int]) -> float:
        level, another = past_first + by_first * allocated[first], past_second + by_second * allocated[second]
        return level if level > another else another

    return at


def _largest(terms: _Terms) -> Callable[[Sequence[int]], float]:
    def at(allocated: Sequence[int]) -> float:
        level = 0.0
        for dimension, past, factor in terms:
            value = past + factor * allocated[dimension]
            if value > level:
                level = value
        return level

    return at


class DecayedUsage(NamedTuple):
    """Past usage with the decay of a tree of queues, and what the cluster could have given in that time."""

    past: PastUsage
    whole: UsageVector

    @classmethod
    def of(cls, session: Session, decay: UsageDecay) -> DecayedUsage:
        past, span = session.past_usage(decay), decay.span(session.now)
        shareable = np.array(session.shareable, dtype=np.float64)
        #: Without a limit of time, usage counts in relation to that of all queues.
        whole = shareable * span if span < inf else past.total
        return cls(past, np.where(whole > 0, whole, inf))


class UsageMeasure:
    """The measure of one cycle. A tree of queues has the half-life of its top queue, the root, or the argument."""

    def __init__(self, session: Session, arguments: FairShareArguments) -> None:
        #: By queue, the queue with its ancestors below the root, the highest first.
        self.paths = {queue.name: _path(session.queues, queue) for queue in session.queues.values()}
        session.warnings += (
            f"Queue {queue.name}: annotation {HALF_LIFE}: {problem}; it is ignored"
            for queue in session.queues.values()
            for problem in half_life_problems(queue.annotations, is_top=len(self.paths[queue.name]) == 1)
        )
        root = session.queues.get(ROOT)
        common = arguments.decay if root is None else self._decay(root, arguments.decay)
        decays = {name: self._decay(path[0], common) for name, path in self.paths.items()}
        usage = {decay: DecayedUsage.of(session, decay) for decay in {common, *decays.values()}}
        self._common = usage[common]
        self._usage = {name: usage[decay] for name, decay in decays.items()}
        billed = self._billed(session, arguments.billing)
        self._adds_up = bool(billed)
        present = {d: 1.0 for d, amount in enumerate(session.shareable) if amount and d != PODS}
        #: By resource, its weight, and the factor of what is allocated.
        self._factors = [
            (d, weight, (1.0 - _PAST) * weight / session.shareable[d])
            for d, weight in (billed or present).items()
            if session.shareable[d]
        ]
        #: The level of a user without past usage, for the amounts that the user holds.
        self.of_amounts = self.level(np.zeros(session.snapshot.size))

    @staticmethod
    def _billed(session: Session, billing: Mapping[str, float]) -> dict[int, float]:
        """Return the billing weights by resource, which add up to 1."""
        found = {session.axis.find(name): weight for name, weight in billing.items() if weight}
        total = sum(found.values())
        return {d: weight / total for d, weight in found.items() if d is not None and d < session.snapshot.size}

    @staticmethod
    def _decay(queue: Queue, inherited: UsageDecay) -> UsageDecay:
        half_life, _ = half_life_in(queue.annotations.get(HALF_LIFE, ""))
        return inherited if half_life is None else replace(inherited, half_life=half_life)

    def of_queue(self, name: str) -> UsageVector:
        """Return what a queue itself has used, without its descendants."""
        return self._usage[name].past.queue(name)

    def of_user(self, queue: str, user: str) -> UsageVector:
        return self._usage[queue].past.user(queue, user)

    def levels_of_users(self, held: Mapping[tuple[str, str], Sequence[int]]) -> Sequence[float]:
        """Return the levels of users, by queue and name, who hold these amounts: calculated for all of them at once."""
        if not held or not self._factors:
            return [0.0] * len(held)
        whole = np.array([self._usage[queue].whole for queue, _ in held])
        used = np.array([self.of_user(queue, user) for queue, user in held]) / whole
        amounts = np.array([*held.values()], dtype=np.float64)
        parts = [_PAST * weight * used[:, d] + factor * amounts[:, d] for d, weight, factor in self._factors]
        levels: list[float] = (np.add if self._adds_up else np.maximum).reduce(parts).tolist()
        return levels

    def users_of(self, queue: str) -> Sequence[str]:
        """Return the users who have used a queue."""
        return self._usage[queue].past.users_of(queue)

    def fractions(self, queue: str, used: UsageVector) -> UsageVector:
        """Return the fraction of the cluster that was used over time in a queue, by resource."""
        fractions: UsageVector = used / self._usage[queue].whole
        return fractions

    @property
    def total(self) -> UsageVector:
        """The fraction that all queues have used."""
        fractions: UsageVector = self._common.past.total / self._common.whole
        return fractions

    def level(self, fractions: UsageVector, weight: float = 1.0) -> UsageLevel:
        """Return the level in relation to a weight."""
        terms = [
            (d, _PAST * billed * float(fractions[d]) / weight, factor / weight) for d, billed, factor in self._factors
        ]
        return UsageLevel.of(terms, adds_up=self._adds_up)

    @property
    def dimensions(self) -> Sequence[int]:
        """The resources that count."""
        return [dimension for dimension, _, _ in self._factors]

    def billed(self, fractions: UsageVector) -> dict[int, float]:
        """Return fractions multiplied by billing weights, by resource."""
        return {dimension: weight * float(fractions[dimension]) for dimension, weight, _ in self._factors}

    def past_level(self, fractions: UsageVector) -> float:
        """Return the level of the past alone."""
        parts = self.billed(fractions).values()
        return sum(parts) if self._adds_up else max(parts, default=0.0)


def _path(queues: Mapping[str, Queue], queue: Queue) -> tuple[Queue, ...]:
    """Return the queue with its ancestors below the root, the highest first."""
    ancestors = [queues[name] for name in ancestry(queues, queue.name)[1:] if name != ROOT]
    return (*reversed(ancestors), queue)
