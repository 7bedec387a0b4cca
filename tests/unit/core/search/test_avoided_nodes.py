"""Nodes that rejected a pod are skipped for this pod only, with a reason."""

from __future__ import annotations

from pathlib import Path

import pytest

from stromboli.cluster.audit.auditor import audit
from stromboli.cluster.dump.contents import cluster_with, contents_of
from stromboli.cluster.dump.dump import Dump, read_dump, write_dump
from stromboli.cluster.state.cluster import Cluster
from stromboli.core.session.session import Session
from tests.testing.cases.case import configuration, flattened, objects
from tests.testing.manifests.builders import gang, node, queue
from tests.testing.random_clusters.engine import program_of

PROGRAM = program_of(configuration("gang", "predicates"))
FIRST, SECOND = "pod-default-first-task-0", "pod-default-second-task-0"


def cluster_of(*nodes: str) -> Cluster:
    cluster = Cluster()
    jobs = [gang(1, 1, name="first"), gang(1, 1, name="second")]
    for entry in objects(flattened([queue("default"), *(node(name, 4) for name in nodes), *jobs])):
        cluster.apply(entry)
    return cluster


def decided(cluster: Cluster) -> Session:
    session = Session(cluster.snapshot(), PROGRAM)
    session.run()
    return session


def places(session: Session) -> dict[str, str]:
    return {bind.uid: bind.node for statement in session.decisions.binds for bind in statement}


AVOIDED: dict[str, tuple[str, set[str]]] = {
    "none": ("", {"a", "b"}),
    "one": ("a", {"b"}),
    "the other": ("b", {"a"}),
    "both": ("ab", set()),
    "one that is gone": ("x", {"a", "b"}),
}


@pytest.mark.parametrize(("avoided", "possible"), AVOIDED.values(), ids=AVOIDED)
def test_pod_avoids_a_node_that_rejected_it(avoided: str, possible: set[str]) -> None:
    cluster = cluster_of("a", "b")
    for name in avoided:
        cluster.assumptions.avoid(FIRST, name)
    assert audit(cluster) == []
    found = places(decided(cluster))
    assert SECOND in found
    assert (found[FIRST] in possible) if possible else FIRST not in found


def test_avoidance_is_reported_and_expires() -> None:
    cluster = cluster_of("a")
    cluster.assumptions.avoid(FIRST, "a")
    session = decided(cluster)
    (condition,) = session.statuses["default/first"].conditions
    assert "1 node(s) recently rejected the pod" in condition.message
    cluster.assumptions.stop_avoiding(FIRST, "a")
    assert places(decided(cluster)) == {FIRST: "a", SECOND: "a"}
    assert audit(cluster) == []


def test_replay_avoids_the_same_nodes(tmp_path: Path) -> None:
    cluster = cluster_of("a")
    cluster.assumptions.avoid(FIRST, "a")
    write_dump(tmp_path / "dump", Dump(contents_of(cluster)))
    again = cluster_with(read_dump(tmp_path / "dump").contents)
    assert places(decided(again)) == {SECOND: "a"}
