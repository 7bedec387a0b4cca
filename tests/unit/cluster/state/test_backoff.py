"""Pods in backoff after a failed bind wait until the backoff ends."""

from __future__ import annotations

from stromboli.cluster.standard_queues import standard_queues
from stromboli.cluster.state.cluster import Cluster
from stromboli.core.session.session import Session
from tests.testing.random_clusters import objects
from tests.testing.random_clusters.engine import default_program


def bound_pods(cluster: Cluster) -> list[str]:
    session = Session(cluster.snapshot(), default_program())
    session.run()
    return [bind.uid for statement in session.decisions.binds for bind in statement]


def test_pod_in_backoff_is_not_placed_until_the_backoff_ends() -> None:
    cluster = Cluster()
    gang = objects.gang("gang", 2, objects.template({"cpu": "1"}), minimum=1)
    for entry in (*standard_queues(), objects.node("a", {"cpu": "8", "memory": "8Gi"}), *gang):
        cluster.apply(entry)
    cluster.groups.set_phase("team/gang", "Inqueue")
    cluster.assumptions.start_backoff("Pod/team/gang-0")
    assert bound_pods(cluster) == ["Pod/team/gang-1"]
    cluster.assumptions.end_backoff("Pod/team/gang-0")
    assert sorted(bound_pods(cluster)) == ["Pod/team/gang-0", "Pod/team/gang-1"]
