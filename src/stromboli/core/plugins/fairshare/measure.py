"""How much is used: fractions of the cluster over time, and one number for all resources."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import exp, inf, log

import numpy as np

from stromboli.core.model.resources.resources import PODS
from stromboli.core.model.usage.past_usage import UsageVector
from stromboli.core.plugins.fairshare.arguments import FairShareArguments
from stromboli.core.session.session import Session

#: What is allocated counts as if it stayed so for this part of a half-life: the order reacts to it within a cycle.
_AHEAD = 0.1
_PAST = exp(-_AHEAD * log(2.0))


@dataclass(frozen=True, slots=True)
class UsageLevel:
    """The usage of one queue or user as a function of what it holds, in plain numbers: it is asked at every turn."""

    #: By resource, the part of the past, and the factor of what is allocated.
    terms: Sequence[tuple[int, float, float]]
    adds_up: bool

    def at(self, allocated: Sequence[int]) -> float:
        """Return the sum by billing weights; without any, the largest part."""
        if self.adds_up:
            return sum([past + factor * allocated[dimension] for dimension, past, factor in self.terms])
        level = 0.0
        for dimension, past, factor in self.terms:
            value = past + factor * allocated[dimension]
            if value > level:
                level = value
        return level


class UsageMeasure:
    """The measure of one cycle."""

    def __init__(self, session: Session, arguments: FairShareArguments) -> None:
        decay = arguments.decay
        self.past = session.past_usage(decay)
        span = decay.span(session.now)
        shareable = np.array(session.shareable, dtype=np.float64)
        #: Without a limit of time, usage counts in relation to that of all queues.
        whole = shareable * span if span < inf else self.past.total
        self._whole = np.where(whole > 0, whole, inf)
        billed = self._billed(session, arguments.billing)
        self._adds_up = bool(billed)
        present = {d: 1.0 for d, amount in enumerate(session.shareable) if amount and d != PODS}
        #: By resource, its weight, and the factor of what is allocated.
        self._factors = [
            (d, weight, (1.0 - _PAST) * weight / session.shareable[d])
            for d, weight in (billed or present).items()
            if session.shareable[d]
        ]
        self._nothing = self.level(np.zeros(session.snapshot.size))

    @staticmethod
    def _billed(session: Session, billing: Mapping[str, float]) -> dict[int, float]:
        """Return the billing weights by resource, which add up to 1."""
        found = {session.axis.find(name): weight for name, weight in billing.items() if weight}
        total = sum(found.values())
        return {d: weight / total for d, weight in found.items() if d is not None and d < session.snapshot.size}

    def fractions(self, used: UsageVector) -> UsageVector:
        """Return the fraction of the cluster that was used over time, by resource."""
        fractions: UsageVector = used / self._whole
        return fractions

    def level(self, fractions: UsageVector, weight: float = 1.0) -> UsageLevel:
        """Return the level in relation to a weight."""
        terms = [
            (d, _PAST * billed * float(fractions[d]) / weight, factor / weight) for d, billed, factor in self._factors
        ]
        return UsageLevel(terms, self._adds_up)

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

    def of_amounts(self, amounts: Sequence[int]) -> float:
        """Return the level of a user without past usage who holds these amounts."""
        return self._nothing.at(amounts)
