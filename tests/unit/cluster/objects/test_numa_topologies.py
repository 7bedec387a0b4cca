"""Who has which processors: from what nodes say and from what was decided, in whatever order it comes."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import pytest

from stromboli.cluster.audit.auditor import audit
from stromboli.cluster.dump.contents import cluster_with, contents_of
from stromboli.cluster.dump.dump import Dump, read_dump, write_dump
from stromboli.cluster.state.cluster import Cluster
from stromboli.core.model.nodes.numa import PROCESSORS, format_cpus
from stromboli.kube.objects.kinds import KubeObject
from tests.testing.cases.case import objects
from tests.testing.manifests.builders import Manifest, manifest, node, pod


def topology(name: str = "a", allocatable: str = "0-7", **spec: Any) -> Manifest:
    """Two cells of four processors, two of which share a core."""
    detail = {str(n): {"numa": n // 4, "socket": n // 4, "core": n // 2} for n in range(8)}
    fields = {
        "policies": {"CPUManagerPolicy": "static", "TopologyManagerPolicy": "restricted"},
        "numares": {"cpu": {"allocatable": allocatable, "capacity": 8}},
        "cpuDetail": detail,
        **spec,
    }
    return manifest("Numatopology", name, "nodeinfo.volcano.sh/v1alpha1", spec=fields)


def allocation(name: str, cpus: str) -> Manifest:
    return {"uid": f"pod-default-{name}", "containerAllocations": [{"name": "main", "allocations": {"cpu": cpus}}]}


def placed(name: str, cpus: str, cpu: int = 2, **facts: Any) -> Manifest:
    """A pod on node a that was bound with these processors."""
    notes = {PROCESSORS: json.dumps({"main": cpus})}
    return pod(cpu, name=name, nodeName="a", annotations=notes, **facts)


def one(document: Manifest) -> KubeObject:
    return objects([document])[0]


def cluster_of(*documents: Manifest) -> Cluster:
    cluster = Cluster()
    for entry in objects(documents):
        cluster.apply(entry)
    return cluster


def told(cluster: Cluster, name: str = "a") -> str:
    """`0-3 leaving 4-5`: what is free, and what will be."""
    known = cluster.snapshot().processors.get(name)
    if known is None:
        return "nothing is known"
    return " leaving ".join(format_cpus(cpus) for cpus in (known.free, known.leaving) if cpus) or "none"


@pytest.mark.parametrize(
    ("story", "documents", "expected"),
    [
        ("nobody has any", [topology()], "0-7"),
        ("the node gives only some", [topology(allocatable="2-5")], "2-5"),
        ("some are reserved", [topology(resReserved={"cpu": "2"})], "2-7"),
        ("a part of one is one", [topology(resReserved={"cpu": "1500m"})], "2-7"),
        ("the node says who has some", [topology(podAllocations=[allocation("x", "0-1")]),
                                        pod(2, name="x", nodeName="a")], "2-7"),
        ("a pod that is leaving", [topology(podAllocations=[allocation("x", "0-1")]),
                                   pod(2, name="x", nodeName="a", releasing=True)], "2-7 leaving 0-1"),
        ("a pod that nobody knows any more", [topology(podAllocations=[allocation("x", "0-1")])], "2-7 leaving 0-1"),
        ("what was decided and is not told yet", [topology(), placed("x", "4-5")], "0-3,6-7"),
        ("the node knows better", [topology(podAllocations=[allocation("x", "0-1")]), placed("x", "4-5")], "2-7"),
        ("decided for a pod that is leaving", [topology(), placed("x", "4-5", releasing=True)], "0-3,6-7 leaving 4-5"),
        ("decided for a pod that is done", [topology(), placed("x", "4-5", phase="Succeeded")], "0-7"),
        ("two pods", [topology(), placed("x", "4-5"), placed("y", "0-1")], "2-3,6-7"),
        ("on another node", [topology("b"), placed("x", "4-5")], "nothing is known"),
        ("nothing to give", [topology(numares={})], "none"),
    ],
)  # fmt: skip
def test_who_has_what_in_any_order(story: str, documents: list[Manifest], expected: str) -> None:
    for order in itertools.permutations([node("a", 8), *documents]):
        cluster = cluster_of(*order)
        assert told(cluster) == expected
        assert audit(cluster) == []


def test_changes_are_followed() -> None:
    cluster = cluster_of(node("a", 8), topology(), placed("x", "4-5"))
    steps = [
        (
            lambda: cluster.apply(one(topology(allocatable="0-3,6-7", podAllocations=[allocation("x", "4-5")]))),
            "0-3,6-7",
        ),
        (lambda: cluster.assume_evicted("pod-default-x"), "0-3,6-7 leaving 4-5"),
        (lambda: cluster.forget_eviction("pod-default-x"), "0-3,6-7"),
        (lambda: cluster.remove(one(placed("x", "4-5"))), "0-3,6-7 leaving 4-5"),
        (lambda: cluster.apply(one(topology())), "0-7"),
        (lambda: cluster.remove(one(topology())), "nothing is known"),
        (lambda: cluster.apply(one(placed("y", "0"))), "nothing is known"),
        (lambda: cluster.apply(one(topology())), "1-7"),
    ]
    assert told(cluster) == "0-3,6-7"
    for change, expected in steps:
        change()
        assert told(cluster) == expected
        assert audit(cluster) == []


def test_what_is_being_bound_counts_until_it_is_settled() -> None:
    cluster = cluster_of(node("a", 8), topology(), pod(2, name="x"))
    before = cluster.snapshot().processors
    assert cluster.snapshot().processors is before
    cluster.assume("pod-default-x", "a", '{"main": "2-3"}')
    assert told(cluster) == "0-1,4-7"
    assert format_cpus(before["a"].free) == "0-7"
    cluster.forget("pod-default-x")
    assert told(cluster) == "0-7"
    cluster.assume("pod-default-x", "a", '{"main": "2-3"}')
    cluster.apply(one(placed("x", "2-3")))
    assert told(cluster) == "0-1,4-7"


def test_a_dump_keeps_what_is_being_bound(tmp_path: Path) -> None:
    cluster = cluster_of(node("a", 8), topology(), pod(2, name="x"))
    cluster.assume("pod-default-x", "a", '{"main": "2-3"}')
    write_dump(tmp_path / "dump", Dump(contents_of(cluster)))
    assert told(cluster_with(read_dump(tmp_path / "dump").contents)) == "0-1,4-7"


@pytest.mark.parametrize(
    ("spec", "complaint"),
    [
        (
            {"policies": {"TopologyManagerPolicy": "strict"}},
            "spec.policies.TopologyManagerPolicy: 'strict' is not known",
        ),
        ({"numares": {"cpu": {"allocatable": "0-x"}}}, "spec.numares.cpu.allocatable: '0-x' is no processor"),
        ({"numares": {"cpu": {"allocatable": "7-3"}}}, "spec.numares.cpu.allocatable: '7-3' is no processor"),
        ({"numares": {"cpu": {"allocatable": "0-9"}}}, "does not say where processor 8-9 lies"),
        ({"cpuDetail": {"first": {}}}, "spec.cpuDetail.first: is no processor"),
        (
            {"cpuDetail": {"0": {"numa": 0, "core": 0}}},
            "spec.cpuDetail.0.socket: expected a number from 0 on, got None",
        ),
        ({"cpuDetail": {"0": {"numa": -1, "socket": 0, "core": 0}}}, "spec.cpuDetail.0.numa: expected a number"),
        ({"cpuDetail": {str(n): {"numa": n, "socket": 0, "core": n} for n in range(65)}}, "name at most 64"),
        ({"resReserved": {"cpu": "many"}}, "spec.resReserved.cpu: "),
        ({"resReserved": {"cpu": "9"}}, "spec.resReserved.cpu: 9 of 8 processors cannot be reserved"),
        (
            {"podAllocations": [allocation("x", "77")]},
            "spec.podAllocations[0].containerAllocations[0].allocations.cpu: ",
        ),
    ],
)
def test_a_broken_topology_concerns_its_node_alone(spec: dict[str, Any], complaint: str) -> None:
    cluster = cluster_of(node("a", 8), node("b", 8), topology("a", **spec), topology("b"))
    [warning] = cluster.snapshot().warnings
    assert warning.startswith("Numatopology a: ")
    assert complaint in warning
    assert warning.endswith("; the node takes no pods that have a NUMA policy")
    assert (told(cluster, "a"), told(cluster, "b")) == ("nothing is known", "0-7")
    assert [known.processors is not None for known in cluster.snapshot().nodes.nodes] == [False, True]
    cluster.apply(one(topology("a")))
    assert cluster.snapshot().warnings == ()
    assert told(cluster, "a") == "0-7"


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("0-1", "expected lists of processors by container"),
        ('["0-1"]', "expected lists of processors by container"),
        ('{"main": 3}', "expected lists of processors by container"),
        ('{"main": "0-"}', "'0-' is no processor"),
        ('{"main": "0-7"}', "it names 8 processors and the pod asks for 2"),
        ("[" * 100_000, "expected lists of processors by container"),
    ],
)
def test_nobody_claims_what_it_did_not_ask_for(text: str, complaint: str) -> None:
    liar = pod(2, name="x", nodeName="a", annotations={PROCESSORS: text})
    cluster = cluster_of(node("a", 8), topology(), liar)
    assert told(cluster) == "0-7"
    [warning] = cluster.snapshot().warnings
    assert warning.startswith(f"Pod default/x: annotation {PROCESSORS}: {complaint}")
    cluster.remove(one(liar))
    assert cluster.snapshot().warnings == ()
