"""Divisions whose result is known: weighted max-min fairness, with and without past usage."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stromboli.core.model.usage.weighting import divide, parts
from stromboli.core.plugins.capacity.fair_shares import Demand, fair_shares
from tests.testing.random_clusters.effort import examples


@dataclass(frozen=True)
class DivisionCase:
    name: str
    amount: float
    weights: list[float]
    wanted: list[float]
    given: list[float]
    used: list[float] | None = None
    strength: float = 0.0
    least: list[float] | None = None

    def __str__(self) -> str:
        return self.name


CASES = [
    DivisionCase("max-min: small demands are satisfied, the rest is shared", 10, [1, 1, 1, 1], [2, 2.6, 4, 5],
                 [2, 2.6, 2.7, 2.7]),
    DivisionCase("weighted max-min", 16, [2.5, 4, 0.5, 1], [4, 2, 10, 4], [4, 2, 6, 4]),
    DivisionCase("nothing is left while something is wanted", 10, [1, 1], [20, 1], [9, 1]),
    DivisionCase("all are satisfied", 10, [3, 1], [2, 3], [2, 3]),
    DivisionCase("a queue without weight gets nothing", 10, [0, 1], [5, 20], [0, 10]),
    DivisionCase("a guarantee above the share", 12, [1, 1, 1], [9, 9, 9], [6, 3, 3], least=[6, 0, 0]),
    DivisionCase("past usage equal to the weights changes nothing", 12, [2, 1], [12, 12], [8, 4], [2 / 3, 1 / 3], 3),
    DivisionCase("past usage above the weight takes away", 12, [1, 1], [12, 12], [4, 8], [0.75, 0.25], 2 / 3),
    DivisionCase("down to nothing", 12, [1, 1], [12, 12], [0, 12], [1.0, 0.0], 1),
    DivisionCase("unless the others want no more", 12, [1, 1], [12, 5], [7, 5], [1.0, 0.0], 1),
    DivisionCase("where all used too much, weights count", 12, [2, 1], [12, 12], [8, 4], [1.0, 1.0], 10),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=str)
def test_divide(case: DivisionCase) -> None:
    number = len(case.weights)
    columns = (case.used or [0.0] * number, case.strength, case.wanted, case.least or [0.0] * number)
    used, strength, wanted, least = (np.array(each, dtype=float) for each in columns)
    result = divide(case.amount, np.array(case.weights, float), used, float(strength), wanted, least)
    assert result == pytest.approx(case.given)


WHOLE_CASES = [case for case in CASES if case.least is None and case.amount >= 12]


@pytest.mark.parametrize("case", WHOLE_CASES, ids=str)
def test_surplus_is_divided_alike(case: DivisionCase) -> None:
    used = case.used or [0.0] * len(case.weights)
    demands = [
        Demand(0, round(wanted * 1000), round(weight * 1000), 0, (float(place), ""), past)
        for place, (wanted, weight, past) in enumerate(zip(case.wanted, case.weights, used, strict=True))
    ]
    shares = fair_shares(round(case.amount * 1000), demands, 1, case.strength)
    assert [share / 1000 for share in shares] == pytest.approx(case.given, abs=0.002)


fractions = st.lists(
    st.tuples(st.floats(0, 9), st.floats(0, 1), st.floats(0, 50), st.floats(0, 20)), min_size=1, max_size=6
)


@examples(200)
@given(fractions, st.floats(0, 60), st.floats(0, 30))
def test_division_is_complete_and_within_limits(rows: list[tuple[float, ...]], amount: float, strength: float) -> None:
    weights, used, wanted, least = (np.array(column) for column in zip(*rows, strict=True))
    least = np.minimum(least, wanted) * (least.sum() <= amount)
    result = divide(amount, weights, used, strength, wanted, least)
    assert (result <= wanted + 0.01).all()
    assert (result >= least - 0.01).all() or amount <= 0.001
    assert result.sum() <= amount + 0.01
    if amount > 0.01 and weights.min() > 0:
        assert result.sum() == pytest.approx(min(amount, wanted.sum()), abs=0.01)


@given(st.lists(st.tuples(st.floats(0.1, 9), st.floats(0, 1)), min_size=1), st.floats(0, 30))
def test_parts_follow_the_formula(rows: list[tuple[float, float]], strength: float) -> None:
    weights, used = (np.array(column) for column in zip(*rows, strict=True))
    normal = weights / weights.sum()
    following = [max(n + strength * (n - u), 0.0) for n, u in zip(normal, used, strict=True)]
    expected = [each / sum(following) for each in following] if sum(following) else normal
    assert parts(weights, used, strength) == pytest.approx(expected)
