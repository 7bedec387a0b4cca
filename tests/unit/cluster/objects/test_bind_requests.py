"""Rooms that bind requests hold: for this very pod, exactly once, until the pod or the request says otherwise."""

from __future__ import annotations

import json
from itertools import permutations
from pathlib import Path
from typing import Any

import msgspec
import pytest

from stromboli.cluster.audit.auditor import audit
from stromboli.cluster.dump.contents import cluster_with, contents_of
from stromboli.cluster.dump.dump import Dump, read_dump, write_dump
from stromboli.cluster.state.cluster import Cluster
from stromboli.core.model.nodes.numa import PROCESSORS
from stromboli.core.model.resources.resources import CPU
from stromboli.kube.objects.bind_requests import (
    BindRequest,
    BindRequestSpec,
    BindRequestStatus,
    BoundPod,
    ChosenVolume,
    MemberStatus,
)
from stromboli.kube.objects.meta import ObjectMeta, TopLevel
from tests.testing.cases.case import flattened, objects
from tests.testing.manifests.builders import Manifest, gang, node, pod
from tests.testing.manifests.storage import claim, storage_class, using, volume

NODES = [node("a", 8), node("b", 8)]
#: Places of the members of a gang of two, each of two cpus.
HERE, THERE = {"gang-task-0": "a", "gang-task-1": "a"}, {"gang-task-0": "b", "gang-task-1": "b"}


def request(
    places: dict[str, str], phase: str = "", name: str = "gang-0-1", members: str = "", epoch: int = 0, **facts: Any
) -> BindRequest:
    """`members` are the phases of members, each by its first letter: B for Bound, F for Failed, U for Unwound."""
    words = {"B": "Bound", "F": "Failed", "U": "Unwound"}
    pods = [
        BoundPod(pod_name=each, pod_uid=f"pod-default-{each}", selected_node=place) for each, place in places.items()
    ]
    told = [MemberStatus(member.pod_uid, words[letter]) for member, letter in zip(pods, members, strict=False)]
    return BindRequest(
        metadata=ObjectMeta(name=name, namespace="default", uid=f"request-{name}"),
        spec=BindRequestSpec(scheduler="stromboli", epoch=epoch, pods=pods, **facts),
        status=BindRequestStatus(phase=phase, pods=told),
    )


def decoded(*manifests: Any) -> list[TopLevel]:
    return [*objects(flattened(manifests))]


def used(cluster: Cluster) -> str:
    """Cpus that are taken, by node: `a4 b0`."""
    snapshot = cluster.snapshot()
    rows = snapshot.books[snapshot.layout.used + CPU]
    return " ".join(f"{name}{rows[place] // 1000}" for name, place in sorted(snapshot.nodes.index.items()))


def on(place: str, cpu: int = 2, **facts: Any) -> Manifest:
    """A member that has its node."""
    return pod(cpu, name="gang-task-0", nodeName=place, **facts)


def again(manifest: Manifest) -> Manifest:
    """Another object of the same name."""
    return {**manifest, "metadata": {**manifest["metadata"], "uid": "another"}}


STRANGER = pod(3, name="alien", schedulerName="somebody-else")

STORIES: dict[str, tuple[list[Any], list[BindRequest], str]] = {
    "nobody has begun": ([gang(2, 2)], [request(HERE)], "a4 b0"),
    "it waits": ([gang(2, 2)], [request(HERE, "Pending")], "a4 b0"),
    "it is being carried out": ([gang(2, 2)], [request(HERE, "Binding", members="B")], "a4 b0"),
    "it is being taken back": ([gang(2, 2)], [request(HERE, "Unwinding", members="BF")], "a4 b0"),
    "a phase of a later version": ([gang(2, 2)], [request(HERE, "Meditating")], "a4 b0"),
    "it failed": ([gang(2, 2)], [request(HERE, "Failed")], "a0 b0"),
    "it succeeded, and its pods say nothing yet": ([gang(2, 2)], [request(HERE, "Succeeded", members="BB")], "a4 b0"),
    "it succeeded, but for one": ([gang(2, 2)], [request(HERE, "Succeeded", members="BF")], "a2 b0"),
    "a pod has its node": ([on("a")], [request(HERE, "Binding")], "a2 b0"),
    "a pod has another node": ([on("b")], [request(HERE, "Binding")], "a0 b2"),
    "a pod has its node, and the request failed": ([on("a")], [request(HERE, "Failed")], "a2 b0"),
    "a pod of that name came again": ([again(pod(2, name="gang-task-0"))], [request(HERE)], "a0 b0"),
    "a pod of another scheduler": ([STRANGER], [request({"alien": "b"})], "a0 b3"),
    "a pod of another scheduler, and no request": ([STRANGER], [], "a0 b0"),
    "a pod of another scheduler, and a failed one": ([STRANGER], [request({"alien": "b"}, "Failed")], "a0 b0"),
    "a node that is gone": ([gang(2, 2)], [request({"gang-task-0": "gone"})], "a0 b0"),
    "two requests: the later leader's counts": (
        [gang(2, 2)], [request(HERE, name="gang-1-9", epoch=1), request(THERE, name="gang-2-1", epoch=2)], "a0 b4",
    ),
    "two requests, of which one failed": (
        [gang(2, 2)], [request(HERE, name="gang-1-9", epoch=1), request(THERE, "Failed", "gang-2-1", epoch=2)], "a4 b0",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("manifests", "requests", "expected"), STORIES.values(), ids=STORIES)
def test_rooms_are_held_once_in_whatever_order_news_comes(
    manifests: list[Any], requests: list[BindRequest], expected: str
) -> None:
    parts: list[list[TopLevel]] = [decoded(NODES), decoded(*manifests), *([each] for each in requests)]
    for order in permutations(parts):
        cluster = Cluster()
        for part in order:
            for entry in part:
                cluster.apply(entry)
                cluster.apply(entry)
                cluster.cluster_state()
        assert used(cluster) == expected
        assert audit(cluster) == []


OPEN = request(HERE, "Binding")
GANG = decoded(gang(2, 2))

CHANGES: dict[str, tuple[list[TopLevel | str], str]] = {
    "deleted before its pods": ([OPEN, "gone", *GANG], "a0 b0"),
    "deleted after its pods": ([OPEN, *GANG, "gone"], "a0 b0"),
    "pods deleted first": ([*GANG, OPEN, "no pods"], "a0 b0"),
    "pods deleted, and there again": ([*GANG, OPEN, "no pods", *GANG], "a4 b0"),
    "it says another node": ([*GANG, OPEN, request(THERE, "Binding")], "a0 b4"),
    "it says fewer pods": ([*GANG, OPEN, request({"gang-task-1": "a"}, "Binding")], "a2 b0"),
    "it fails": ([*GANG, OPEN, request(HERE, "Failed")], "a0 b0"),
    "it fails, and is deleted": ([*GANG, OPEN, request(HERE, "Failed"), "gone"], "a0 b0"),
    "it succeeds, and is deleted when its pods have said so": (
        [*GANG, OPEN, *decoded(gang(2, 2, nodeName="a")), request(HERE, "Succeeded", members="BB"), "gone"], "a4 b0",
    ),
    "its pods say so before it is heard of": ([*decoded(gang(2, 2, nodeName="a")), OPEN, "gone"], "a4 b0"),
    "we meant the same": ([*GANG, "we mean a", OPEN], "a4 b0"),
    "we meant another node": ([*GANG, "we mean b", OPEN], "a4 b0"),
    "we meant the same, and leave it to the request": ([*GANG, "we mean a", OPEN, "we forget"], "a4 b0"),
    "we meant the same, and it is deleted": ([*GANG, "we mean a", OPEN, "gone"], "a4 b0"),
    "we meant the same, and gave up": ([*GANG, "we mean a", OPEN, "we forget", "gone"], "a0 b0"),
}  # fmt: skip


@pytest.mark.parametrize(("steps", "expected"), CHANGES.values(), ids=CHANGES)
def test_what_changes(steps: list[TopLevel | str], expected: str) -> None:
    cluster = Cluster()
    for entry in decoded(NODES):
        cluster.apply(entry)
    for step in steps:
        carry_out(cluster, step)
        assert audit(cluster) == []
    assert used(cluster) == expected


def carry_out(cluster: Cluster, step: TopLevel | str) -> None:
    uids = [f"pod-default-{name}" for name in HERE]
    if isinstance(step, TopLevel):
        cluster.apply(step)
    elif step == "gone":
        cluster.remove(OPEN)
    elif step == "no pods":
        for entry in GANG:
            cluster.remove(entry)
    elif step == "we forget":
        for uid in uids:
            cluster.forget(uid)
    else:
        for uid in uids:
            cluster.assume(uid, step.removeprefix("we mean "))


def test_a_dump_and_a_cluster_made_anew_hold_the_same_rooms(tmp_path: Path) -> None:
    cluster = Cluster()
    for entry in [*decoded(NODES, STRANGER), *GANG, OPEN, request({"alien": "b"}, name="alien-1")]:
        cluster.apply(entry)
    write_dump(tmp_path / "dump", Dump(contents_of(cluster)))
    assert used(cluster_with(read_dump(tmp_path / "dump").contents)) == used(cluster) == "a4 b3"
    cluster.compact()
    assert used(cluster) == "a4 b3"


def with_member(**facts: Any) -> BindRequest:
    (member,) = request({"p": "a"}).spec.pods
    held = request({"p": "a"})
    held.spec.pods = [msgspec.structs.replace(member, **facts)]
    return held


def test_processors_that_travel_with_the_binding_are_taken() -> None:
    cluster, given = Cluster(), json.dumps({"main": "0-1"})
    for entry in [*decoded(NODES, pod(2, name="p")), with_member(annotations={PROCESSORS: given})]:
        cluster.apply(entry)
    assert cluster.decisions.processors == {"pod-default-p": given}
    cluster.remove(with_member())
    assert cluster.decisions.processors == {}


@pytest.mark.parametrize("order", list(permutations(range(3))))
def test_a_volume_that_was_chosen_is_given_to_nobody_else(order: tuple[int, ...]) -> None:
    """In whatever order the request, the pod and its claim are heard of."""
    news: list[list[TopLevel]] = [
        [with_member(volumes=[ChosenVolume("x", "v-1")])],
        decoded(pod(1, name="p", volumes=using("x"))),
        decoded(claim("x")),
    ]
    cluster = Cluster()
    for entry in [*decoded(NODES, storage_class(), volume("v-1"), volume("v-2")), *(e for n in order for e in news[n])]:
        cluster.apply(entry)
    assert [each.name for each in cluster.volumes.table().volumes if not each.is_promised] == ["v-2"]
    assert audit(cluster) == []
    cluster.remove(news[0][0])
    assert [each.name for each in cluster.volumes.table().volumes if not each.is_promised] == ["v-1", "v-2"]
