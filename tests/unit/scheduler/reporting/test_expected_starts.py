"""Expected starts are written when they have changed noticeably, and some of them at a time."""

from __future__ import annotations

from typing import Any

import pytest

from stromboli import kube
from stromboli.cluster.objects.pod_groups.expected_start import EXPECTED_START, describe_start, expected_start_of
from stromboli.cluster.state.cluster import Cluster
from stromboli.core.model.values.times import date_of
from stromboli.kube.objects.meta import ObjectMeta
from stromboli.kube.work.status_writer import DesiredStatus
from stromboli.scheduler.reporting import expected_starts
from stromboli.scheduler.reporting.expected_starts import ExpectedStarts, Range

NOW = 1_767_225_600.0


class Writes:
    """Collects what is to be written."""

    def __init__(self) -> None:
        self.desired: list[DesiredStatus] = []

    def want(self, desired: DesiredStatus) -> None:
        self.desired.append(desired)


def group(name: str, reported: Range | None = None, status: str = "True") -> kube.PodGroup:
    conditions = []
    if reported is not None:
        message = describe_start(*reported)
        conditions = [kube.PodGroupCondition(type=EXPECTED_START, status=status, message=message)]
    metadata = ObjectMeta(name=name, namespace="team", uid=name, resource_version="1")
    return kube.PodGroup(metadata=metadata, status=kube.PodGroupStatus(conditions=conditions))


def written(groups: list[kube.PodGroup], ranges: dict[str, Range]) -> list[dict[str, Any]]:
    cluster, writes = Cluster(), Writes()
    for entry in groups:
        cluster.apply(entry)
    ExpectedStarts(cluster, writes, lambda: NOW).report(ranges)  # type: ignore[arg-type]
    patches = [desired.make(next(g for g in groups if g.key == desired.key)) for desired in writes.desired]
    return [patch["status"]["conditions"][0] for patch in patches if patch is not None]


def minutes(earliest: float, latest: float | None) -> Range:
    return NOW + 60 * earliest, None if latest is None else NOW + 60 * latest


CHANGES = [
    pytest.param(None, (10, 20), True, id="first one"),
    pytest.param((10, 20), (10, 20), False, id="the same"),
    pytest.param((100, 200), (105, 195), False, id="a little different"),
    pytest.param((100, 200), (100, 260), True, id="later"),
    pytest.param((100, 200), (100, None), True, id="unknown now"),
    pytest.param((100, None), (100, 200), True, id="known now"),
    pytest.param((-50, None), (0, None), False, id="both have passed"),
]


@pytest.mark.parametrize(("before", "after", "is_written"), CHANGES)
def test_group_is_written_when_its_range_has_changed_noticeably(
    before: tuple[float, float | None] | None, after: tuple[float, float | None], is_written: bool
) -> None:
    entry = group("job", None if before is None else minutes(*before))
    assert bool(written([entry], {"team/job": minutes(*after)})) is is_written


def test_condition_names_both_moments_or_the_first_one() -> None:
    known, unknown = written(
        [group("a"), group("b")], {"team/a": minutes(10, 20), "team/b": minutes(30, None)}
    )  # fmt: skip
    stamp = date_of(NOW + 600).strftime("%Y-%m-%dT%H:%MZ")
    assert (known["status"], known["reason"]) == ("True", "Estimated")
    assert known["message"].startswith(f"expected to start between {stamp} and ")
    assert unknown["reason"] == "UnknownRunTimes"
    assert "not before 2026-01-01T00:30Z" in unknown["message"]


@pytest.mark.parametrize("reported", [minutes(10, 20), minutes(10, None)])
def test_range_is_read_from_the_condition_while_it_is_true(reported: Range) -> None:
    assert expected_start_of(group("job", reported)) == reported
    assert expected_start_of(group("job", reported, "False")) is None
    assert expected_start_of(group("job")) is None


def test_earliest_starts_are_written_first_and_the_others_later(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(expected_starts, "MAX_WRITES", 2)
    ranges = {f"team/{name}": minutes(at, at + 5) for name, at in (("c", 30), ("a", 10), ("b", 20))}
    messages = [condition["message"] for condition in written([group(name) for name in "abc"], ranges)]
    assert ["00:10" in messages[0], "00:20" in messages[1], len(messages)] == [True, True, 2]
