"""Means over seeds, their intervals, and sentences about differences."""

from __future__ import annotations

from typing import Any

import pytest

from stromboli.lab.comparison.comparison import Comparison
from stromboli.lab.comparison.statistics import mean_of, student_quantile
from stromboli.lab.comparison.verdict import verdicts_of


@pytest.mark.parametrize(("degrees", "value"), [
    (1, 12.7062), (2, 4.3027), (4, 2.7764), (9, 2.2622), (29, 2.0452), (100, 1.9840), (10_000, 1.9602),
])  # fmt: skip
def test_student_quantile_is_that_of_tables(degrees: int, value: float) -> None:
    assert student_quantile(degrees) == pytest.approx(value, abs=1e-4)


def test_interval_of_a_sample_is_that_of_the_textbook() -> None:
    found = mean_of([10, 12, 14])
    assert (found.mean, found.count) == (12, 3)
    assert found.margin == pytest.approx(4.3027 * 2 / 3**0.5, abs=1e-3)


def test_single_value_has_no_interval() -> None:
    assert mean_of([5]).margin is None


def run(wait: float, **figures: Any) -> dict[str, Any]:
    return {"wait": {"mean": wait, "max": 100}, "preemptions": 100, "queues": {}, "sizes": {}, **figures}


def comparison(a: list[dict[str, Any]], b: list[dict[str, Any]]) -> Comparison:
    return Comparison("trace", range(len(a)), {"a": a, "b": b})


A = [run(wait) for wait in (90, 100, 110)]


@pytest.mark.parametrize(("other", "sentence"), [
    ([run(wait, preemptions=102) for wait in (79, 88, 97)],
     "b waits 12 % ± 2.5 % less than a, at 2 % more preemptions."),
    ([run(wait) for wait in (180, 200, 220)], "b waits 100 % ± 25 % more than a."),
    ([run(wait) for wait in (70, 100, 130)], "b waits as long as a, as far as these seeds show (+0 % ± 50 %)."),
    (A, "b waits as long as a, as far as these seeds show (+0 %)."),
    ([run(wait, slowdown={"mean": 2}) for wait in (45, 50, 55)], "b waits 50 % ± 12 % less than a."),
    ([run(wait, preemptions=0) for wait in (45, 50, 55)],
     "b waits 50 % ± 12 % less than a, with 100 % fewer preemptions."),
])  # fmt: skip
def test_verdict_names_differences_that_the_seeds_show(other: list[dict[str, Any]], sentence: str) -> None:
    assert verdicts_of(comparison(A, other)) == [sentence]


def test_verdict_on_one_seed_states_that_it_has_no_interval() -> None:
    assert verdicts_of(comparison([run(100)], [run(50)])) == [
        "b waits 50 % less than a (one seed, no confidence interval)."
    ]


def test_preemptions_where_the_baseline_has_none_are_a_number() -> None:
    base, other = ([run(wait, preemptions=count) for wait in (90, 100)] for count in (0, 7))
    assert verdicts_of(comparison(base, other))[0].endswith("at 7 preemptions instead of none.")


def test_differences_are_paired_by_seed() -> None:
    """Waits differ much between seeds, and little between policies on one seed."""
    found = comparison([run(100), run(1000)], [run(90), run(990)]).differences("b")["wait.mean"]
    assert (found.absolute.mean, found.absolute.margin, found.is_better) == (-10, 0, True)


def test_figure_that_one_policy_lacks_is_not_compared() -> None:
    found = comparison([run(1)], [{**run(1), "wait": None}])
    assert "wait.mean" not in found.differences("b")
    assert verdicts_of(found)[0].startswith("b cannot be compared with a by mean wait")
