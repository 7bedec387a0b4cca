"""Figures of nodes in the cache: in any order, replaced, gone, and kept in dumps."""

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


def told(*manifests: Any) -> list[KubeObject]:
    return objects(manifests)


def cluster_of(*manifests: Any) -> Cluster:
    cluster = Cluster()
    for entry in told(*manifests):
        cluster.apply(entry)
    return cluster


def figures(cluster: Cluster) -> list[tuple[float, float]] | None:
    """What is known of every node: parts of cpu and memory, and -1 where nothing is."""
    usage = cluster.snapshot().usage
    if usage is None:
        return None
    known = zip(usage.cpu.tolist(), usage.memory.tolist(), strict=True)
    return [(-1.0, -1.0) if math.isnan(cpu) else (cpu, memory) for cpu, memory in known]


A, B = node("a", 10, "100Gi"), node("b", 20, "100Gi")


@pytest.mark.parametrize("manifests", [(A, B, measured("b", 5, "50Gi")), (measured("b", 5, "50Gi"), B, A)])
def test_figures_and_nodes_come_in_any_order(manifests: Any) -> None:
    assert figures(cluster_of(*manifests)) == [(-1.0, -1.0), (0.25, 0.5)]


def test_without_figures_there_is_no_table() -> None:
    assert figures(cluster_of(A, B)) is None


def test_a_figure_is_replaced_and_goes() -> None:
    cluster = cluster_of(A, measured("a", 1))
    for entry in told(measured("a", 5)):
        cluster.apply(entry)
    assert figures(cluster) == [(0.5, 0.0)]
    cluster.remove(told(measured("a", 5))[0])
    assert figures(cluster) is None


def test_one_that_makes_no_sense_takes_the_old_one_away() -> None:
    cluster = cluster_of(A, measured("a", 1), measured("a", "lots"))
    assert figures(cluster) is None
    assert [warning[:31] for warning in cluster.snapshot().warnings] == ['NodeMetrics a: usage.cpu: "lots']
    cluster.remove(told(measured("a", 1))[0])
    assert cluster.snapshot().warnings == ()


def test_a_node_that_changes_changes_its_parts() -> None:
    cluster = cluster_of(A, measured("a", 5))
    assert figures(cluster) == [(0.5, 0.0)]
    cluster.apply(told(node("a", 50, "100Gi"))[0])
    assert figures(cluster) == [(0.1, 0.0)]


def test_a_report_replaces_all_figures() -> None:
    cluster = cluster_of(A, B, measured("a", 5))
    cluster.usage.report({"b": Usage(0.75, 0.5, NOON)})
    assert figures(cluster) == [(-1.0, -1.0), (0.75, 0.5)]


def test_the_table_is_made_once() -> None:
    cluster = cluster_of(A, measured("a", 5))
    first = cluster.snapshot().usage
    assert cluster.snapshot().usage is first
    cluster.compact()
    assert figures(cluster) == [(0.5, 0.0)]


def test_figures_survive_a_dump(tmp_path: Path) -> None:
    cluster = cluster_of(A, B, measured("a", 5))
    cluster.usage.report({"a": Usage(0.75, 0.5, NOON), "b": Usage(4000, 0, NOON, in_parts=False)})
    contents = contents_of(cluster)
    cluster.usage.report({})
    write_dump(tmp_path / "dump", Dump(contents))
    restored = cluster_with(read_dump(tmp_path / "dump").contents)
    assert figures(restored) == [(0.75, 0.5), (0.2, 0.0)]
