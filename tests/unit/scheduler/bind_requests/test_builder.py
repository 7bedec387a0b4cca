"""Names, labels and parts of bind requests, for groups and pods with names of any length."""

from __future__ import annotations

import re
from typing import Any

import pytest

from stromboli.binding.orders import Commit
from stromboli.cluster.state.cluster import Cluster
from stromboli.core.config.bind_options import BindOptions
from stromboli.core.model.tasks.placement import Placement
from stromboli.core.model.volumes.volumes import VolumeChoice, VolumeOrder
from stromboli.kube.objects.bind_requests import BindRequest
from stromboli.scheduler.bind_requests import builder
from stromboli.scheduler.bind_requests.builder import BindRequestBuilder
from tests.testing.cases.case import objects
from tests.testing.manifests.builders import group

_VALID = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")


def requests_for(*members: Placement, name: str = "ring", epoch: int = 3, minimum: int = 1) -> list[BindRequest]:
    cluster = Cluster()
    for entry in objects([group(name, 1)]):
        cluster.apply(entry)
    requests = BindRequestBuilder(cluster, "stromboli", epoch=lambda: epoch, options=BindOptions)
    return requests.requests_of(Commit(f"default/{name}", members, minimum, name="decision"), members)


def placements(count: int, **facts: Any) -> list[Placement]:
    return [Placement(f"u{n}", "default", f"p{n}", "default/job", f"n{n}", **facts) for n in range(count)]


NAMES = {
    "ring": "ring-3-1",
    "a.b-c": "a.b-c-3-1",
    "r" * 200: f"{'r' * 200}-3-1",
    "r" * 253: f"{'r' * 191}-5897ca6a-3-1",
}


@pytest.mark.parametrize(("name", "expected"), NAMES.items())
def test_request_name_is_valid_for_any_group_name(name: str, expected: str) -> None:
    (request,) = requests_for(*placements(2), name=name)
    assert request.metadata.name == expected
    assert _VALID.fullmatch(request.metadata.name)
    assert len(request.metadata.name) <= 253


def test_long_names_that_differ_at_the_end_stay_different() -> None:
    one, other = (requests_for(*placements(2), name="r" * 250 + end)[0].metadata.name for end in "ab")
    assert one != other


@pytest.mark.parametrize(("name", "has_label"), [("ring", True), ("r" * 63, True), ("r" * 64, False)])
def test_invalid_label_value_is_omitted(name: str, has_label: bool) -> None:
    (request,) = requests_for(*placements(2), name=name)
    assert ("scheduling.stromboli.dev/pod-group" in (request.metadata.labels or {})) is has_label
    assert request.spec.pod_group == name


def test_parts_stay_below_the_object_size_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Parts with large members have fewer of them; the minimums of the parts add up to that of the gang."""
    monkeypatch.setattr(builder, "MAX_BYTES", 1000)
    parts = requests_for(*placements(10, annotations={"example.com/large": "x" * 200}), minimum=7)
    assert [each.spec.part for each in parts] == list(range(1, len(parts) + 1))
    assert {each.spec.parts for each in parts} == {len(parts)}
    assert [pod.pod_uid for each in parts for pod in each.spec.pods] == [f"u{n}" for n in range(10)]
    assert all(0 < each.spec.size <= 3 for each in parts)
    assert sum(each.spec.min_member for each in parts) == 7
    assert all(each.spec.min_member <= each.spec.size for each in parts)
    assert len({each.metadata.name for each in parts}) == len(parts)


@pytest.mark.parametrize(
    ("facts", "seconds"),
    [({}, 120), ({"volumes": VolumeOrder((VolumeChoice("data", "v1"),), 300.0)}, 420)],
    ids=["nothing to prepare", "volumes"],
)
def test_volumes_add_their_time_to_the_deadline(facts: dict[str, object], seconds: int) -> None:
    (request,) = requests_for(*placements(1, **facts))
    assert request.spec.deadline_seconds == seconds


def test_decision_is_written_under_the_next_name_when_the_name_is_taken() -> None:
    requests = BindRequestBuilder(Cluster(), "stromboli", epoch=lambda: 0, options=BindOptions)
    members = placements(1)
    (request,) = requests.requests_of(Commit("default/none", tuple(members), 1, name="d"), members)
    again = requests.renamed(request)
    assert (request.metadata.name, again.metadata.name) == ("p0-0-1", "p0-0-2")
    assert again.spec == request.spec
