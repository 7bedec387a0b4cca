"""Run times of earlier runs: which count, and for which owners."""

from __future__ import annotations

from pathlib import Path

import pytest

from stromboli.history.records import RecordedPod
from stromboli.history.run_times import MIN_RUNS, LearnedRunTimes, family_of, learned_run_times
from tests.testing.histories import opened, recorded_job, recorded_pod, write_records

FAMILIES = [
    ("train", "train"),
    ("train-3", "train"),
    ("train-28491234", "train"),
    ("train-x7k2p", "train"),
    ("train-3-x7k2p", "train"),
    ("train-20260302-7f9c4d8b5f", "train"),
    ("train-large", "train-large"),
    ("resnet-50", "resnet"),
    ("3", "3"),
]


@pytest.mark.parametrize(("name", "family"), FAMILIES)
def test_generated_parts_of_a_name_are_left_out(name: str, family: str) -> None:
    assert family_of(name) == family


def learned_from(path: Path, pods: list[RecordedPod], names: list[str]) -> LearnedRunTimes:
    write_records(str(path), [recorded_job(name) for name in names], pods)
    with opened(path) as database:
        return learned_run_times(database)


def test_runs_that_ended_by_themselves_count_once_for_each_job_and_template(tmp_path: Path) -> None:
    names = [f"train-{n}" for n in range(MIN_RUNS)]
    pods = [recorded_pod(name, m, start=10, end=110 + 10 * m + n, outcome="Succeeded", template="worker")
            for n, name in enumerate(names) for m in range(3)]  # fmt: skip
    pods += [recorded_pod(name, 9, start=10, end=20, outcome="Failed", template="launcher") for name in names]
    learned = learned_from(tmp_path / "history.db", pods, names)
    assert sorted(learned.runs_of("team-a", "Job", "train-77", "worker")) == [120, 121, 122, 123, 124]
    assert learned.runs_of("team-a", "Job", "train-77", "launcher") == [10] * MIN_RUNS


NO_RUNS = [
    pytest.param({"evicted": 50.0}, id="evicted"),
    pytest.param({"outcome": None}, id="deleted"),
    pytest.param({"outcome": "Unknown"}, id="gone at a restart"),
    pytest.param({"end": None, "outcome": None}, id="still running"),
]


@pytest.mark.parametrize("facts", NO_RUNS)
def test_pods_that_did_not_run_to_their_end_do_not_count(facts: dict[str, object], tmp_path: Path) -> None:
    names = [f"train-{n}" for n in range(MIN_RUNS)]
    values = {"start": 10.0, "end": 100.0, "outcome": "Succeeded", **facts}
    pods = [recorded_pod(name, **values) for name in names]  # type: ignore[arg-type]
    assert not learned_from(tmp_path / "history.db", pods, names).by_template


def test_other_owners_with_the_template_count_where_the_own_runs_are_too_few() -> None:
    learned = LearnedRunTimes()
    for number in range(MIN_RUNS - 1):
        learned.add("team-a", "Job", f"train-{number}", "t", 100.0)
    assert not learned.runs_of("team-a", "Job", "train", "t")
    learned.add("team-a", "Job", "other", "t", 500.0)
    assert learned.runs_of("team-a", "Job", "train", "t") == [100.0] * (MIN_RUNS - 1) + [500.0]
    learned.add("team-a", "Job", "train-9", "t", 100.0)
    assert learned.runs_of("team-a", "Job", "train", "t") == [100.0] * MIN_RUNS
    assert not learned.runs_of("team-b", "Job", "train", "t")
