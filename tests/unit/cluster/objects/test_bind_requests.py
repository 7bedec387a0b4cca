"""Placements of bind requests: for the pod with this uid, counted once, until the pod or the request changes them."""

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
from tests.testing.placements import placement

NODES = [node("a", 8), node("b", 8)]
#: Nodes of the members of a gang of two, two CPUs each.
HERE, THERE = {"gang-task-0": "a", "gang-task-1": "a"}, {"gang-task-0": "b", "gang-task-1": "b"}


def request(
    places: dict[str, str], phase: str = "", name: str = "gang-0-1", members: str = "", epoch: int = 0, **facts: Any
) -> BindRequest:
    """`members` are the phases of members by first letter: B for Bound, F for Failed, U for Unwound."""
    phases = {"B": "Bound", "F": "Failed", "U": "Unwound"}
    pods = [
        BoundPod(pod_name=each, pod_uid=f"pod-default-{each}", selected_node=place) for each, place in places.items()
    ]
    statuses = [MemberStatus(member.pod_uid, phases[letter]) for member, letter in zip(pods, members, strict=False)]
    return BindRequest(
        metadata=ObjectMeta(name=name, namespace="default", uid=f"request-{name}"),
        spec=BindRequestSpec(scheduler="stromboli", epoch=epoch, pods=pods, **facts),
        status=BindRequestStatus(phase=phase, pods=statuses),
    )


def decoded(*manifests: Any) -> list[TopLevel]:
    return [*objects(flattened(manifests))]


def used(cluster: Cluster) -> str:
    """Used CPUs by node: `a4 b0`."""
    snapshot = cluster.snapshot()
    rows = snapshot.amounts[snapshot.layout.used + CPU]
    return " ".join(f"{name}{rows[place] // 1000}" for name, place in sorted(snapshot.nodes.index.items()))


def on(place: str, cpu: int = 2, **facts: Any) -> Manifest:
    """A member that is bound."""
    return pod(cpu, name="gang-task-0", nodeName=place, **facts)


def again(manifest: Manifest) -> Manifest:
    """Another object of the same name."""
    return {**manifest, "metadata": {**manifest["metadata"], "uid": "another"}}


FOREIGN_POD = pod(3, name="alien", schedulerName="another")

CASES: dict[str, tuple[list[Any], list[BindRequest], str]] = {
    "new request": ([gang(2, 2)], [request(HERE)], "a4 b0"),
    "pending request": ([gang(2, 2)], [request(HERE, "Pending")], "a4 b0"),
    "binding request": ([gang(2, 2)], [request(HERE, "Binding", members="B")], "a4 b0"),
    "unwinding request": ([gang(2, 2)], [request(HERE, "Unwinding", members="BF")], "a4 b0"),
    "unknown phase of a later version": ([gang(2, 2)], [request(HERE, "Meditating")], "a4 b0"),
    "failed request": ([gang(2, 2)], [request(HERE, "Failed")], "a0 b0"),
    "succeeded request, pods not updated yet": ([gang(2, 2)], [request(HERE, "Succeeded", members="BB")], "a4 b0"),
    "succeeded request with one failed member": ([gang(2, 2)], [request(HERE, "Succeeded", members="BF")], "a2 b0"),
    "pod bound as requested": ([on("a")], [request(HERE, "Binding")], "a2 b0"),
    "pod bound to another node": ([on("b")], [request(HERE, "Binding")], "a0 b2"),
    "pod bound, request failed": ([on("a")], [request(HERE, "Failed")], "a2 b0"),
    "pod recreated under the same name": ([again(pod(2, name="gang-task-0"))], [request(HERE)], "a0 b0"),
    "pod of another scheduler": ([FOREIGN_POD], [request({"alien": "b"})], "a0 b3"),
    "pod of another scheduler without request": ([FOREIGN_POD], [], "a0 b0"),
    "pod of another scheduler, failed request": ([FOREIGN_POD], [request({"alien": "b"}, "Failed")], "a0 b0"),
    "node does not exist": ([gang(2, 2)], [request({"gang-task-0": "gone"})], "a0 b0"),
    "two requests: the later epoch counts": (
        [gang(2, 2)], [request(HERE, name="gang-1-9", epoch=1), request(THERE, name="gang-2-1", epoch=2)], "a0 b4",
    ),
    "two requests, one failed": (
        [gang(2, 2)], [request(HERE, name="gang-1-9", epoch=1), request(THERE, "Failed", "gang-2-1", epoch=2)], "a4 b0",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("manifests", "requests", "expected"), CASES.values(), ids=CASES)
def test_placements_count_once_in_any_event_order(
    manifests: list[Any], requests: list[BindRequest], expected: str
) -> None:
    parts: list[list[TopLevel]] = [decoded(NODES), decoded(*manifests), *[list[TopLevel]([each]) for each in requests]]
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
    "pods deleted and recreated": ([*GANG, OPEN, "no pods", *GANG], "a4 b0"),
    "request changes the node": ([*GANG, OPEN, request(THERE, "Binding")], "a0 b4"),
    "request drops a pod": ([*GANG, OPEN, request({"gang-task-1": "a"}, "Binding")], "a2 b0"),
    "request fails": ([*GANG, OPEN, request(HERE, "Failed")], "a0 b0"),
    "request fails and is deleted": ([*GANG, OPEN, request(HERE, "Failed"), "gone"], "a0 b0"),
    "request succeeds and is deleted after its pods are bound": (
        [*GANG, OPEN, *decoded(gang(2, 2, nodeName="a")), request(HERE, "Succeeded", members="BB"), "gone"], "a4 b0",
    ),
    "pods are bound before the request is seen": ([*decoded(gang(2, 2, nodeName="a")), OPEN, "gone"], "a4 b0"),
    "own decision for the same node": ([*GANG, "assume a", OPEN], "a4 b0"),
    "own decision for another node": ([*GANG, "assume b", OPEN], "a4 b0"),
    "own decision is forgotten while the request holds": ([*GANG, "assume a", OPEN, "forget"], "a4 b0"),
    "own decision, request deleted": ([*GANG, "assume a", OPEN, "gone"], "a4 b0"),
    "own decision forgotten, request deleted": ([*GANG, "assume a", OPEN, "forget", "gone"], "a0 b0"),
}  # fmt: skip


@pytest.mark.parametrize(("steps", "expected"), CHANGES.values(), ids=CHANGES)
def test_placements_follow_requests_and_pods(steps: list[TopLevel | str], expected: str) -> None:
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
    elif step == "forget":
        for uid in uids:
            cluster.assumptions.forget(uid)
    else:
        for uid in uids:
            cluster.assumptions.assume(placement(uid, step.removeprefix("assume ")))


def test_dump_and_compaction_keep_placements(tmp_path: Path) -> None:
    cluster = Cluster()
    for entry in [*decoded(NODES, FOREIGN_POD), *GANG, OPEN, request({"alien": "b"}, name="alien-1")]:
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


def test_cpus_of_a_bind_request_are_allocated() -> None:
    cluster, given = Cluster(), json.dumps({"main": "0-1"})
    for entry in [*decoded(NODES, pod(2, name="p")), with_member(annotations={PROCESSORS: given})]:
        cluster.apply(entry)
    assert cluster.assumptions.processors_of("pod-default-p") == given
    cluster.remove(with_member())
    assert cluster.assumptions.processors_of("pod-default-p") == ""


@pytest.mark.parametrize("order", list(permutations(range(3))))
def test_chosen_volume_is_not_free(order: tuple[int, ...]) -> None:
    """In any order of arrival of the request, the pod and its claim."""
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
