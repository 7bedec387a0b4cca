"""Usage samples of nodes: in any order, replaced, removed, and kept in dumps."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

from stromboli.cluster.dump.contents import cluster_with, contents_of
from stromboli.cluster.dump.dump import Dump, read_dump, write_dump
from stromboli.cluster.state.cluster import Cluster
from stromboli.core.model.nodes.usage import Usage
from stromboli.kube.objects.kinds import KubeObject
from tests.testing.cases.case import objects
from tests.testing.manifests.builders import node
from tests.testing.manifests.node_usage import measured

NOON = 1_772_366_400.0


def usage_table_of(*manifests: Any) -> list[KubeObject]:
    return objects(manifests)


def cluster_of(*manifests: Any) -> Cluster:
    cluster = Cluster()
    for entry in usage_table_of(*manifests):
        cluster.apply(entry)
    return cluster


def samples_of(cluster: Cluster) -> list[tuple[float, float]] | None:
    """By node, fractions of cpu and memory; -1 without a sample."""
    usage = cluster.snapshot().usage
    if usage is None:
        return None
    known = zip(usage.cpu.tolist(), usage.memory.tolist(), strict=True)
    return [(-1.0, -1.0) if math.isnan(cpu) else (cpu, memory) for cpu, memory in known]


A, B = node("a", 10, "100Gi"), node("b", 20, "100Gi")


@pytest.mark.parametrize("manifests", [(A, B, measured("b", 5, "50Gi")), (measured("b", 5, "50Gi"), B, A)])
def test_samples_and_nodes_in_any_order(manifests: Any) -> None:
    assert samples_of(cluster_of(*manifests)) == [(-1.0, -1.0), (0.25, 0.5)]


def test_without_samples_there_is_no_table() -> None:
    assert samples_of(cluster_of(A, B)) is None


def test_sample_is_replaced_and_removed() -> None:
    cluster = cluster_of(A, measured("a", 1))
    for entry in usage_table_of(measured("a", 5)):
        cluster.apply(entry)
    assert samples_of(cluster) == [(0.5, 0.0)]
    cluster.remove(usage_table_of(measured("a", 5))[0])
    assert samples_of(cluster) is None


def test_invalid_sample_removes_the_previous_one() -> None:
    cluster = cluster_of(A, measured("a", 1), measured("a", "lots"))
    assert samples_of(cluster) is None
    assert [warning[:31] for warning in cluster.snapshot().warnings] == ['NodeMetrics a: usage.cpu: "lots']
    cluster.remove(usage_table_of(measured("a", 1))[0])
    assert cluster.snapshot().warnings == ()


def test_changed_capacity_changes_the_fractions() -> None:
    cluster = cluster_of(A, measured("a", 5))
    assert samples_of(cluster) == [(0.5, 0.0)]
    cluster.apply(usage_table_of(node("a", 50, "100Gi"))[0])
    assert samples_of(cluster) == [(0.1, 0.0)]


def test_report_replaces_all_samples() -> None:
    cluster = cluster_of(A, B, measured("a", 5))
    cluster.usage.report({"b": Usage(0.75, 0.5, NOON)})
    assert samples_of(cluster) == [(-1.0, -1.0), (0.75, 0.5)]


def test_table_is_reused_without_changes() -> None:
    cluster = cluster_of(A, measured("a", 5))
    first = cluster.snapshot().usage
    assert cluster.snapshot().usage is first
    cluster.compact()
    assert samples_of(cluster) == [(0.5, 0.0)]


def test_dump_keeps_samples(tmp_path: Path) -> None:
    cluster = cluster_of(A, B, measured("a", 5))
    cluster.usage.report({"a": Usage(0.75, 0.5, NOON), "b": Usage(4000, 0, NOON, in_parts=False)})
    contents = contents_of(cluster)
    cluster.usage.report({})
    write_dump(tmp_path / "dump", Dump(contents))
    restored = cluster_with(read_dump(tmp_path / "dump").contents)
    assert samples_of(restored) == [(0.75, 0.5), (0.2, 0.0)]
