"""What users read about quotas: reasons of waiting jobs, protected pods, warnings and configuration errors."""

import pytest

from stromboli.core.config.configuration import ConfigurationError
from tests.scenarios.kai.situation import WEIGHT, Situation, job, kai, nodes, queue


def reasons(situation: Situation, name: str) -> list[str]:
    return list(situation.plan_of(situation.manifests).groups[f"default/{name}"].reasons)


def test_job_beyond_the_fair_share_reports_it() -> None:
    parts = (job("mine", "left", 2, "a"), job("old", "right", 2, "a"), job("new", "left"))
    situation = Situation("", nodes("a4"), queue("left", 1), queue("right", 1), *parts, ends="")
    expected = "queue left has nvidia.com/gpu 2, its fair share is 2: nvidia.com/gpu 1 more is not reclaimed for it"
    assert expected in reasons(situation, "new")


def test_non_preemptable_job_beyond_the_quota_reports_it() -> None:
    parts = (job("mine", "q", 1, "a", priority="build"), job("new", "q", 1, priority="build"))
    situation = Situation("", nodes("a4"), queue("q", 1), *parts, ends="")
    limit = "queue q deserves nvidia.com/gpu 1, and they have 1 of it"
    expected = f"non-preemptable jobs stay within what their queue deserves: {limit}"
    assert expected in reasons(situation, "new")


def test_protected_job_is_named_as_the_reason() -> None:
    parts = (job("old", "left", 2, "a", priority="build"), job("new", "right"))
    situation = Situation("", nodes("a2"), queue("left", 2), queue("right", 2), *parts, ends="")
    failures = situation.plan_of(situation.manifests).refusals["default/new"]
    found = {each.rule: each.why for failure in failures for each in failure.objections}
    assert found["non-preemptable-job"] == "PodGroup default/old is non-preemptable"


@pytest.mark.parametrize(
    "weight",
    ["-1", "heavy", "nan", "1e9", "", "=1", "cpu=", "cpu=1,", "1,cpu=-1", "cpu==1", "1,2", "cpu=1,cpu=2", "9" * 99],
)
def test_invalid_weight_is_a_warning_and_spec_weight_counts(weight: str) -> None:
    odd = queue("left", 0)
    odd["metadata"]["annotations"][WEIGHT] = weight
    situation = Situation("", nodes("a4"), odd, queue("right", 0), job("new", "left"), ends="")
    expected = (
        f"Queue left: annotation {WEIGHT}: expected a number from 0 to 1000000, or such numbers by resource, as in "
        f"nvidia.com/gpu=3,cpu=1, got {weight[:64]!r}; spec.weight 1 counts"
    )
    assert situation.plan_of(situation.manifests).warnings == [expected]


@pytest.mark.parametrize(
    ("argument", "value", "message"),
    [
        ("nonPreemptablePriority", -1, "expected at least 0, got -1"),
        ("nonPreemptablePriority", "high", "expected a whole number, got 'high'"),
        ("shareSurplus", "maybe", "expected true or false, got 'maybe'"),
        ("nonPreemptableWithinDeserved", 3, "expected true or false, got 3"),
    ],
)
def test_invalid_argument_is_an_error_that_names_it(argument: str, value: object, message: str) -> None:
    with pytest.raises(ConfigurationError, match=f"{argument}.*{message}"):
        Situation("", ends="", conf=kai(**{argument: value}))
