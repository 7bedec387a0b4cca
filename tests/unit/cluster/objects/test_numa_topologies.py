"""CPU allocations from node reports and from decisions, in any order of events."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
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
from tests.testing.placements import placement


def topology(name: str = "a", allocatable: str = "0-7", **spec: Any) -> Manifest:
    """Two NUMA nodes of four CPUs; two CPUs share a core."""
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
    """A pod on node a that was bound with these CPUs."""
    notes = {PROCESSORS: json.dumps({"main": cpus})}
    return pod(cpu, name=name, nodeName="a", annotations=notes, **facts)


def one(document: Manifest) -> KubeObject:
    return objects([document])[0]


def cluster_of(*documents: Manifest) -> Cluster:
    cluster = Cluster()
    for entry in objects(documents):
        cluster.apply(entry)
    return cluster


def cpus_of(cluster: Cluster, name: str = "a") -> str:
    """`0-3 leaving 4-5`: free CPUs, and CPUs that will be free."""
    known = cluster.snapshot().processors.get(name)
    if known is None:
        return "nothing is known"
    return " leaving ".join(format_cpus(cpus) for cpus in (known.free, known.leaving) if cpus) or "none"


@pytest.mark.parametrize(
    ("case", "documents", "expected"),
    [
        ("no allocations", [topology()], "0-7"),
        ("only some CPUs allocatable", [topology(allocatable="2-5")], "2-5"),
        ("reserved CPUs", [topology(resReserved={"cpu": "2"})], "2-7"),
        ("fractional reservation rounds up", [topology(resReserved={"cpu": "1500m"})], "2-7"),
        ("node reports allocations", [topology(podAllocations=[allocation("x", "0-1")]),
                                        pod(2, name="x", nodeName="a")], "2-7"),
        ("terminating pod", [topology(podAllocations=[allocation("x", "0-1")]),
                                   pod(2, name="x", nodeName="a", releasing=True)], "2-7 leaving 0-1"),
        ("reported pod does not exist", [topology(podAllocations=[allocation("x", "0-1")])], "2-7 leaving 0-1"),
        ("decided, not reported yet", [topology(), placed("x", "4-5")], "0-3,6-7"),
        ("node report wins", [topology(podAllocations=[allocation("x", "0-1")]), placed("x", "4-5")], "2-7"),
        ("decided for a terminating pod", [topology(), placed("x", "4-5", releasing=True)], "0-3,6-7 leaving 4-5"),
        ("decided for a finished pod", [topology(), placed("x", "4-5", phase="Succeeded")], "0-7"),
        ("two pods", [topology(), placed("x", "4-5"), placed("y", "0-1")], "2-3,6-7"),
        ("on another node", [topology("b"), placed("x", "4-5")], "nothing is known"),
        ("nothing to give", [topology(numares={})], "none"),
    ],
)  # fmt: skip
def test_allocations_in_any_event_order(case: str, documents: list[Manifest], expected: str) -> None:
    for order in itertools.permutations([node("a", 8), *documents]):
        cluster = cluster_of(*order)
        assert cpus_of(cluster) == expected
        assert audit(cluster) == []


def test_allocations_follow_changes() -> None:
    cluster = cluster_of(node("a", 8), topology(), placed("x", "4-5"))
    steps: list[tuple[Callable[[], None], str]] = [
        (
            lambda: cluster.apply(one(topology(allocatable="0-3,6-7", podAllocations=[allocation("x", "4-5")]))),
            "0-3,6-7",
        ),
        (lambda: cluster.assumptions.assume_evicted("pod-default-x"), "0-3,6-7 leaving 4-5"),
        (lambda: cluster.assumptions.forget_eviction("pod-default-x"), "0-3,6-7"),
        (lambda: cluster.remove(one(placed("x", "4-5"))), "0-3,6-7 leaving 4-5"),
        (lambda: cluster.apply(one(topology())), "0-7"),
        (lambda: cluster.remove(one(topology())), "nothing is known"),
        (lambda: cluster.apply(one(placed("y", "0"))), "nothing is known"),
        (lambda: cluster.apply(one(topology())), "1-7"),
    ]
    assert cpus_of(cluster) == "0-3,6-7"
    for change, expected in steps:
        change()
        assert cpus_of(cluster) == expected
        assert audit(cluster) == []


def test_assumed_cpus_count_until_the_pod_is_bound() -> None:
    cluster = cluster_of(node("a", 8), topology(), pod(2, name="x"))
    before = cluster.snapshot().processors
    assert cluster.snapshot().processors is before
    cluster.assumptions.assume(placement("pod-default-x", "a", '{"main": "2-3"}'))
    assert cpus_of(cluster) == "0-1,4-7"
    assert format_cpus(before["a"].free) == "0-7"
    cluster.assumptions.forget("pod-default-x")
    assert cpus_of(cluster) == "0-7"
    cluster.assumptions.assume(placement("pod-default-x", "a", '{"main": "2-3"}'))
    cluster.apply(one(placed("x", "2-3")))
    assert cpus_of(cluster) == "0-1,4-7"


def test_dump_keeps_assumed_cpus(tmp_path: Path) -> None:
    cluster = cluster_of(node("a", 8), topology(), pod(2, name="x"))
    cluster.assumptions.assume(placement("pod-default-x", "a", '{"main": "2-3"}'))
    write_dump(tmp_path / "dump", Dump(contents_of(cluster)))
    assert cpus_of(cluster_with(read_dump(tmp_path / "dump").contents)) == "0-1,4-7"


@pytest.mark.parametrize(
    ("spec", "problem"),
    [
        (
            {"policies": {"TopologyManagerPolicy": "strict"}},
            "spec.policies.TopologyManagerPolicy: 'strict' is not known",
        ),
        ({"numares": {"cpu": {"allocatable": "0-x"}}}, "spec.numares.cpu.allocatable: '0-x' is not a processor"),
        ({"numares": {"cpu": {"allocatable": "7-3"}}}, "spec.numares.cpu.allocatable: '7-3' is not a processor"),
        ({"numares": {"cpu": {"allocatable": "0-9"}}}, "does not say where processor 8-9 lies"),
        ({"cpuDetail": {"first": {}}}, "spec.cpuDetail.first: is not a processor"),
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
def test_invalid_topology_affects_only_its_node(spec: dict[str, Any], problem: str) -> None:
    cluster = cluster_of(node("a", 8), node("b", 8), topology("a", **spec), topology("b"))
    [warning] = cluster.snapshot().warnings
    assert warning.startswith("Numatopology a: ")
    assert problem in warning
    assert warning.endswith("; the node takes no pods that have a NUMA policy")
    assert (cpus_of(cluster, "a"), cpus_of(cluster, "b")) == ("nothing is known", "0-7")
    assert [known.processors is not None for known in cluster.snapshot().nodes.nodes] == [False, True]
    cluster.apply(one(topology("a")))
    assert cluster.snapshot().warnings == ()
    assert cpus_of(cluster, "a") == "0-7"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("0-1", "expected lists of CPUs by container"),
        ('["0-1"]', "expected lists of CPUs by container"),
        ('{"main": 3}', "expected lists of CPUs by container"),
        ('{"main": "0-"}', "'0-' is not a processor"),
        ('{"main": "0-7"}', "it names 8 CPUs and the pod requests 2"),
        ("[" * 100_000, "expected lists of CPUs by container"),
    ],
)
def test_cpus_beyond_the_request_are_ignored(text: str, problem: str) -> None:
    liar = pod(2, name="x", nodeName="a", annotations={PROCESSORS: text})
    cluster = cluster_of(node("a", 8), topology(), liar)
    assert cpus_of(cluster) == "0-7"
    [warning] = cluster.snapshot().warnings
    assert warning.startswith(f"Pod default/x: annotation {PROCESSORS}: {problem}")
    cluster.remove(one(liar))
    assert cluster.snapshot().warnings == ()
