"""Expected starts of waiting jobs: from declared, limited, learned and unknown run times."""

from __future__ import annotations

from math import inf
from typing import Any

import pytest

from stromboli.cluster.objects.pods.templates import template_of
from stromboli.core.config.configuration import parse_configuration
from stromboli.core.model.tasks.placement import Placement
from stromboli.core.session.program import Program
from stromboli.history.run_times import LearnedRunTimes
from stromboli.kube import Pod
from stromboli.kube.objects.timestamps import RUN_TIME
from stromboli.simulator.forecast.expected_starts import StartRange, expected_starts
from stromboli.simulator.workload import BEGINNING
from tests.testing.cases.case import BUILT_IN, flattened, objects
from tests.testing.manifests.builders import Manifest, gang, node
from tests.testing.simulations import PLAIN

NOW = BEGINNING
PROGRAM = Program(parse_configuration(PLAIN, BUILT_IN), BUILT_IN)


def runs(name: str, *, since: float = 0.0, run: str = "", limit: int = 0, owner: str = "") -> list[Manifest]:
    """A job of one pod that fills the node since some minutes."""
    manifests = gang(1, 4, name=name, annotations={RUN_TIME: run} if run else {})
    for manifest in manifests:
        manifest["metadata"]["creationTimestamp"] = moment(-since)
        if manifest["kind"] == "Pod":
            manifest["spec"]["nodeName"] = "a"
            manifest["status"] = {"phase": "Running"}
            if limit:
                manifest["spec"]["activeDeadlineSeconds"] = limit * 60
            if owner:
                reference = {"apiVersion": "v1", "kind": owner, "name": name, "uid": name, "controller": True}
                manifest["metadata"]["ownerReferences"] = [reference]
        else:
            manifest["status"] = {"phase": "Running"}
    return manifests


def waits(name: str, *, run: str = "10m", cpu: int = 4, count: int = 1) -> list[Manifest]:
    manifests = gang(count, cpu, name=name, annotations={RUN_TIME: run} if run else {})
    for manifest in manifests:
        manifest["metadata"]["creationTimestamp"] = moment(-1)
    return manifests


def moment(minutes: float) -> str:
    from stromboli.kube.objects.timestamps import stamp

    return stamp(NOW + minutes * 60)


def minutes(found: StartRange) -> tuple[float, float | None]:
    """Return the range in minutes from now, rounded to 2 %, the resolution of the simulation."""

    def rounded(seconds: float | None) -> float | None:
        return None if seconds is None else round((seconds - NOW) / 60, 1)

    earliest, latest = rounded(found.earliest), rounded(found.latest)
    assert earliest is not None
    return earliest, latest


def forecast(*manifests: Any, **options: Any) -> dict[str, tuple[float, float | None]]:
    found = expected_starts(objects(flattened([node("a", 4), *manifests])), PROGRAM, now=NOW, **options)
    return {key.partition("/")[2]: minutes(each) for key, each in found.items()}


EXACT = [
    pytest.param([runs("old", run="30m")], {"new": 30.0}, id="declared run time"),
    pytest.param([runs("old", since=20, run="30m")], {"new": 10.0}, id="rest of a declared run time"),
    pytest.param([runs("old", run="30m"), waits("ahead", run="20m")], {"ahead": 30.0, "new": 50.0}, id="one ahead"),
    pytest.param([], {"new": 0.0}, id="free node"),
]


@pytest.mark.parametrize(("others", "starts"), EXACT)
def test_declared_run_times_give_a_moment(others: list[Any], starts: dict[str, float]) -> None:
    found = forecast(*others, waits("new"), scenarios=3)
    assert set(found) == set(starts)
    for name, (earliest, latest) in found.items():
        assert latest is not None
        assert starts[name] <= earliest <= latest <= starts[name] * 1.03 + 0.1


def test_limit_gives_a_range_up_to_it() -> None:
    earliest, latest = forecast(runs("old", limit=60), waits("new"))["new"]
    assert latest is not None
    assert 0 < earliest < 20 < 40 < latest <= 61


def test_run_time_of_a_service_does_not_end() -> None:
    found = forecast(runs("old", owner="ReplicaSet"), waits("new"), scenarios=3)
    assert found["new"] == (0.0, None)


UNKNOWN = [
    pytest.param([runs("old")], (0.0, None), id="it may end at any time"),
    pytest.param([runs("old", run="30m"), waits("ahead", run="")], (30.0, None), id="not before a known end"),
]


@pytest.mark.parametrize(("others", "expected"), UNKNOWN)
def test_unknown_run_time_leaves_the_latest_start_open(others: list[Any], expected: tuple[float, float | None]) -> None:
    earliest, latest = forecast(*others, waits("new"), scenarios=3)["new"]
    assert latest is None
    assert expected[0] <= earliest <= expected[0] * 1.03 + 0.1


def test_run_that_needs_no_unknown_end_is_known_in_spite_of_others() -> None:
    """The second node becomes free at a known time."""
    found = forecast(node("b", 8), runs("old"), waits("new", cpu=8), scenarios=3)
    assert found["new"] == (0.0, 0.0)


def learned_of(manifests: list[Manifest], name: str, seconds: list[float]) -> LearnedRunTimes:
    learned = LearnedRunTimes()
    pod = next(entry for entry in objects(manifests) if isinstance(entry, Pod))
    for run in seconds:
        learned.add("default", "", name, template_of(pod), run)
    return learned


def test_earlier_runs_count_more_than_the_declared_run_time() -> None:
    old = runs("old-3", since=10, run="9h")
    learned = learned_of(old, "old-1", [60.0 * each for each in (15, 16, 17, 18, 19, 20)])
    earliest, latest = forecast(old, waits("new"), learned=learned)["new"]
    assert latest is not None
    assert 0 < earliest < 7 < latest < 31


def test_job_that_runs_is_left_out_and_one_can_be_chosen() -> None:
    everything = (runs("old", run="30m"), waits("one"), waits("two"))
    assert set(forecast(*everything, scenarios=1)) == {"one", "two"}
    assert set(forecast(*everything, scenarios=1, jobs={"default/two"})) == {"two"}


def test_pod_that_is_being_bound_counts_as_running() -> None:
    waiting = waits("bound", run="30m")
    pod = next(entry for entry in objects(waiting) if isinstance(entry, Pod))
    placement = Placement(pod.metadata.uid, "default", pod.metadata.name, "default/bound", "a")
    found = forecast(waiting, waits("new"), scenarios=1, placements=[placement])
    assert set(found) == {"new"}
    assert found["new"][0] >= 29


def test_same_input_gives_the_same_ranges_and_an_early_end_leaves_them_unknown() -> None:
    world = (runs("old", limit=60), waits("one"), waits("two"))
    assert forecast(*world, scenarios=5) == forecast(*world, scenarios=5)
    assert forecast(*world, is_over=lambda: True) == {"one": (0.0, None), "two": (0.0, None)}


def test_infinite_moments_are_not_printed() -> None:
    plain = StartRange(NOW).as_plain()
    assert plain == {"earliest": "2026-01-01T00:00:00Z", "expected": None, "latest": None}
    assert inf not in plain.values()
