"""What does not change costs nothing: the number of function calls does not grow with the cluster."""

from __future__ import annotations

import msgspec

from stromboli import kube
from stromboli.cluster.standard_queues import standard_queues
from stromboli.cluster.state.cluster import Cluster
from stromboli.core.session.session import Session
from tests.testing.random_clusters import objects
from tests.testing.random_clusters.engine import default_program
from tests.testing.work import calls_of

SMALL = objects.template({"cpu": "1"})
NODES = 20


def cluster_with(jobs: int) -> Cluster:
    """Return a cluster with this number of running jobs of two pods, which has seen its first cycle."""
    cluster = Cluster()
    nodes = [objects.node(f"node-{place}", {"cpu": "1000", "memory": "8Gi"}) for place in range(NODES)]
    for entry in (*standard_queues(), *nodes):
        cluster.apply(entry)
    for place in range(jobs):
        spec = msgspec.structs.replace(SMALL, node_name=f"node-{place % NODES}")
        pods = [objects.pod(f"job-{place}-{number}", spec, group=f"job-{place}", phase="Running") for number in (0, 1)]
        for entry in (objects.group(f"job-{place}", min_member=2, phase="Running"), *pods):
            cluster.apply(entry)
    run_cycle(cluster)
    run_cycle(cluster)
    return cluster


def run_cycle(cluster: Cluster) -> None:
    Session(cluster.snapshot(), default_program()).run()


def test_idle_cycle_costs_the_same_with_ten_times_the_running_jobs() -> None:
    small, large = cluster_with(20), cluster_with(200)
    assert calls_of(lambda: run_cycle(large)) == calls_of(lambda: run_cycle(small))


def test_pod_event_costs_the_same_with_ten_times_the_running_jobs() -> None:
    small, large = cluster_with(20), cluster_with(200)
    assert calls_of(lambda: end_pod(large)) == calls_of(lambda: end_pod(small))


def end_pod(cluster: Cluster) -> None:
    pod = cluster.pods.get("Pod/team/job-7-0")
    cluster.apply(msgspec.structs.replace(pod, status=kube.PodStatus(phase="Succeeded")))
    cluster.cluster_state()
