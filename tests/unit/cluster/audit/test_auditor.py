"""The auditor finds every corruption of the accounting, and nothing in a consistent one."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from stromboli import kube
from stromboli.cluster.audit.auditor import Auditor, audit
from stromboli.cluster.standard_queues import standard_queues
from stromboli.cluster.state.cluster import Cluster
from stromboli.core.model.resources.resources import CPU
from stromboli.core.model.tasks.host_ports import HostPort, PortSet
from tests.testing.placements import placement
from tests.testing.random_clusters import objects

WEB = kube.KubeLabelSelector(match_labels={"app": "web"})
APART = kube.Affinity(
    pod_anti_affinity=kube.KubePodAffinity(
        required=[kube.PodAffinityTerm(label_selector=WEB, topology_key=objects.HOSTNAME)]
    )
)
ROLES = {"worker": 1}


def on(node: str, *, host_port: int | None = None) -> kube.PodSpec:
    spec = objects.template({"cpu": "1", "memory": "1Gi"}, affinity=APART, host_port=host_port)
    spec.node_name = node
    return spec


def a_cluster() -> Cluster:
    cluster = Cluster()
    entries: list[kube.KubeObject] = [
        *standard_queues(),
        objects.queue("gold", parent="root"),
        objects.queue("nuggets", parent="gold"),
        *(objects.node(name, {"cpu": "8", "memory": "16Gi", "pods": "20"}) for name in "ab"),
        objects.group("job", min_member=1, queue="nuggets", phase="Running", min_task_member=ROLES),
        objects.pod("job-0", on("a", host_port=80), group="job", phase="Running", role="worker", labels={"app": "web"}),
        objects.pod("job-1", on("b"), group="job", phase="Running", leaving=True),
        objects.pod("job-2", objects.template({"cpu": "2"}), group="job"),
        objects.pod("job-3", objects.template({"cpu": "2"}), group="job"),
        objects.group("idle", min_member=1, queue="gold"),
        objects.pod("other", on("a"), phase="Running"),
    ]
    for entry in entries:
        cluster.apply(entry)
    cluster.assumptions.assume(placement("Pod/team/job-3", "b"))
    cluster.assumptions.assume_evicted("Pod/team/job-0")
    cluster.snapshot()
    return cluster


def everything_sampled(cluster: Cluster) -> list[str]:
    """Differences found by the time samples have covered everything."""
    auditor = Auditor(cluster, pods=2)
    return [str(found) for _ in range(20) for found in auditor.sample()]


def test_consistent_accounting_has_no_differences() -> None:
    cluster = a_cluster()
    assert audit(cluster) == []
    assert audit(cluster, nodes=["a", "b", "unknown"]) == []
    assert everything_sampled(cluster) == []


def test_audit_does_not_reset_changed_jobs() -> None:
    cluster = a_cluster()
    cluster.apply(objects.pod("job-0", on("a", host_port=80), group="job", phase="Succeeded", role="worker"))
    cluster.apply(objects.pod("job-2", on("b"), group="job", phase="Running"))
    audit(cluster)
    assert "team/job" in cluster.snapshot().touched


def corrupt_used(cluster: Cluster) -> None:
    cluster_state = cluster.cluster_state()
    cluster_state.amounts[cluster_state.layout.used + CPU, cluster_state.table.index["a"]] += 1


def corrupt_releasing(cluster: Cluster) -> None:
    cluster_state = cluster.cluster_state()
    cluster_state.amounts[cluster_state.layout.releasing + CPU, cluster_state.table.index["b"]] = 0


def corrupt_allocatable(cluster: Cluster) -> None:
    cluster_state = cluster.cluster_state()
    cluster_state.amounts[cluster_state.layout.allocatable + CPU, 0] -= 1000


def corrupt_port(cluster: Cluster) -> None:
    number = cluster.decoder.terms.find(PortSet([HostPort("TCP", 80)]))
    assert number is not None
    cluster_state = cluster.cluster_state()
    cluster_state.tallies[number][cluster_state.table.index["a"]] = 0


def corrupt_tally(cluster: Cluster) -> None:
    next(column for column in cluster.cluster_state().tallies.values() if column.any())[0] += 1


def corrupt_counter(cluster: Cluster) -> None:
    cluster.cluster_state().jobs["team/job"].counts[0] += 1


def corrupt_role(cluster: Cluster) -> None:
    cluster.cluster_state().jobs["team/job"].role_counts["worker"][0] += 1


def corrupt_allocated(cluster: Cluster) -> None:
    cluster.cluster_state().jobs["team/job"].allocated[CPU] -= 1


def corrupt_requested(cluster: Cluster) -> None:
    cluster.cluster_state().jobs["team/job"].requested[CPU] = 0


def corrupt_members(cluster: Cluster) -> None:
    cluster.cluster_state().jobs["team/job"].tasks.popitem()


def corrupt_waiting(cluster: Cluster) -> None:
    cluster.cluster_state().waiting.discard("team/idle")


def corrupt_queue_sum(cluster: Cluster) -> None:
    cluster.cluster_state().sums.usage["nuggets"].allocated[CPU] += 500


def corrupt_parent_sum(cluster: Cluster) -> None:
    cluster.cluster_state().sums.usage["root"].request[CPU] -= 500


def corrupt_job_count(cluster: Cluster) -> None:
    cluster.cluster_state().sums.usage["gold"].jobs += 1


def corrupt_status(cluster: Cluster) -> None:
    cluster_state = cluster.cluster_state()
    cluster_state.columns.status[cluster_state.jobs["team/job"].tasks["Pod/team/job-2"].row] = 5


def corrupt_node(cluster: Cluster) -> None:
    cluster_state = cluster.cluster_state()
    cluster_state.columns.node_of[cluster_state.jobs["team/job"].tasks["Pod/team/job-0"].row] = 1


SPOILED: dict[str, tuple[Callable[[Cluster], None], str]] = {
    "used cpu of a node": (corrupt_used, "used"),
    "releasing amount of a node": (corrupt_releasing, "releasing"),
    "allocatable amount of a node": (corrupt_allocatable, "allocatable"),
    "a port in use": (corrupt_port, "port"),
    "pods that match a term": (corrupt_tally, "term"),
    "pods of a job by status": (corrupt_counter, "job"),
    "pods of a role": (corrupt_role, "worker"),
    "allocated amount of a job": (corrupt_allocated, "allocated"),
    "requested amount of a job": (corrupt_requested, "requested"),
    "members of a job": (corrupt_members, "job"),
    "waiting jobs": (corrupt_waiting, "wait"),
    "sum of a queue": (corrupt_queue_sum, "nuggets, allocated"),
    "sum of the root": (corrupt_parent_sum, "root, request"),
    "number of jobs": (corrupt_job_count, "gold, jobs"),
    "status of a pod": (corrupt_status, "job-2"),
    "node of a pod": (corrupt_node, "job-0"),
}


@pytest.mark.parametrize(("spoil", "word"), SPOILED.values(), ids=SPOILED)
def test_full_audit_finds_every_corruption(spoil: Callable[[Cluster], None], word: str) -> None:
    cluster = a_cluster()
    spoil(cluster)
    found = [str(difference) for difference in audit(cluster)]
    assert found
    assert any(word in text.lower() or "tallies" in text for text in found), found


@pytest.mark.parametrize(("spoil", "word"), SPOILED.values(), ids=SPOILED)
def test_samples_find_every_corruption(spoil: Callable[[Cluster], None], word: str) -> None:
    cluster = a_cluster()
    spoil(cluster)
    found = everything_sampled(cluster)
    assert any(word in text.lower() for text in found), found


def test_audit_of_a_node_reports_only_that_node() -> None:
    cluster = a_cluster()
    corrupt_used(cluster)
    assert [str(found) for found in audit(cluster, nodes=["a"])] == ["node a, used cpu: expected 2000, found 2001"]
    assert audit(cluster, nodes=["b"]) == []


def test_rebuild_repairs_corrupted_accounting() -> None:
    cluster = a_cluster()
    corrupt_used(cluster)
    cluster.rebuild()
    assert audit(cluster) == []


def test_audit_that_raises_is_a_difference() -> None:
    cluster = a_cluster()
    cluster.cluster_state().columns.status[:] = 99
    assert any("audit: expected completed" in text for text in everything_sampled(cluster))


def test_queue_cycle_is_no_difference() -> None:
    cluster = a_cluster()
    cluster.apply(objects.queue("gold", parent="nuggets"))
    assert audit(cluster) == []
    assert everything_sampled(cluster) == []


def test_pod_missing_from_accounting_is_found() -> None:
    cluster = a_cluster()
    cluster.accounting.counted.pop("Pod/team/job-0")
    assert any("job-0" in text for text in everything_sampled(cluster))
