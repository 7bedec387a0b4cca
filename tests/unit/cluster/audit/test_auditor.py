"""The auditor finds what is wrong with the books, wherever it is, and nothing where nothing is."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from stromboli import kube
from stromboli.cluster.audit.auditor import Auditor, audit
from stromboli.cluster.state.cluster import Cluster
from stromboli.controllers.default_queues import standard_queues
from stromboli.core.model.resources.resources import CPU
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
    cluster.assume("Pod/team/job-3", "b")
    cluster.assume_evicted("Pod/team/job-0")
    cluster.snapshot()
    return cluster


def everything_sampled(cluster: Cluster) -> list[str]:
    """What comes up when samples have come round to everything."""
    auditor = Auditor(cluster, pods=2)
    return [str(found) for _ in range(20) for found in auditor.sample()]


def test_good_books_are_found_good() -> None:
    cluster = a_cluster()
    assert audit(cluster) == []
    assert audit(cluster, nodes=["a", "b", "unknown"]) == []
    assert everything_sampled(cluster) == []


def test_an_audit_takes_no_news_from_the_next_cycle() -> None:
    cluster = a_cluster()
    cluster.apply(objects.pod("job-0", on("a", host_port=80), group="job", phase="Succeeded", role="worker"))
    cluster.apply(objects.pod("job-2", on("b"), group="job", phase="Running"))
    audit(cluster)
    assert "team/job" in cluster.snapshot().touched


def spoil_used(cluster: Cluster) -> None:
    cluster_state = cluster.cluster_state()
    cluster_state.books[cluster_state.layout.used + CPU, cluster_state.table.index["a"]] += 1


def spoil_releasing(cluster: Cluster) -> None:
    cluster_state = cluster.cluster_state()
    cluster_state.books[cluster_state.layout.releasing + CPU, cluster_state.table.index["b"]] = 0


def spoil_offer(cluster: Cluster) -> None:
    cluster_state = cluster.cluster_state()
    cluster_state.books[cluster_state.layout.allocatable + CPU, 0] -= 1000


def spoil_port(cluster: Cluster) -> None:
    cluster_state = cluster.cluster_state()
    cluster_state.books[cluster_state.layout.port, cluster_state.table.index["a"]] = 0


def spoil_tally(cluster: Cluster) -> None:
    next(column for column in cluster.cluster_state().tallies.values() if column.any())[0] += 1


def spoil_counter(cluster: Cluster) -> None:
    cluster.cluster_state().jobs["team/job"].counts[0] += 1


def spoil_role(cluster: Cluster) -> None:
    cluster.cluster_state().jobs["team/job"].role_counts["worker"][0] += 1


def spoil_allocated(cluster: Cluster) -> None:
    cluster.cluster_state().jobs["team/job"].allocated[CPU] -= 1


def spoil_requested(cluster: Cluster) -> None:
    cluster.cluster_state().jobs["team/job"].requested[CPU] = 0


def spoil_members(cluster: Cluster) -> None:
    cluster.cluster_state().jobs["team/job"].tasks.popitem()


def spoil_waiting(cluster: Cluster) -> None:
    cluster.cluster_state().waiting.discard("team/idle")


def spoil_sum(cluster: Cluster) -> None:
    cluster.cluster_state().sums.books["nuggets"].allocated[CPU] += 500


def spoil_sum_above(cluster: Cluster) -> None:
    cluster.cluster_state().sums.books["root"].request[CPU] -= 500


def spoil_number_of_jobs(cluster: Cluster) -> None:
    cluster.cluster_state().sums.books["gold"].jobs += 1


def spoil_status(cluster: Cluster) -> None:
    cluster_state = cluster.cluster_state()
    cluster_state.columns.status[cluster_state.jobs["team/job"].tasks["Pod/team/job-2"].row] = 5


def spoil_place(cluster: Cluster) -> None:
    cluster_state = cluster.cluster_state()
    cluster_state.columns.node_of[cluster_state.jobs["team/job"].tasks["Pod/team/job-0"].row] = 1


SPOILED: dict[str, tuple[Callable[[Cluster], None], str]] = {
    "used cpu of a node": (spoil_used, "used"),
    "what a node is about to have": (spoil_releasing, "releasing"),
    "what a node offers": (spoil_offer, "allocatable"),
    "a port in use": (spoil_port, "port"),
    "pods that match a term": (spoil_tally, "term"),
    "pods of a job by status": (spoil_counter, "job"),
    "pods of a role": (spoil_role, "worker"),
    "what a job has": (spoil_allocated, "allocated"),
    "what a job asks for": (spoil_requested, "requested"),
    "members of a job": (spoil_members, "job"),
    "who waits": (spoil_waiting, "wait"),
    "the sum of a queue": (spoil_sum, "nuggets, allocated"),
    "the sum of the root": (spoil_sum_above, "root, request"),
    "the number of jobs": (spoil_number_of_jobs, "gold, jobs"),
    "the status of a pod": (spoil_status, "job-2"),
    "the node of a pod": (spoil_place, "job-0"),
}


@pytest.mark.parametrize(("spoil", "word"), SPOILED.values(), ids=SPOILED)
def test_what_is_wrong_is_found_in_full(spoil: Callable[[Cluster], None], word: str) -> None:
    cluster = a_cluster()
    spoil(cluster)
    found = [str(difference) for difference in audit(cluster)]
    assert found
    assert any(word in text.lower() or "tallies" in text for text in found), found


@pytest.mark.parametrize(("spoil", "word"), SPOILED.values(), ids=SPOILED)
def test_what_is_wrong_is_found_by_samples(spoil: Callable[[Cluster], None], word: str) -> None:
    cluster = a_cluster()
    spoil(cluster)
    found = everything_sampled(cluster)
    assert any(word in text.lower() for text in found), found


def test_what_is_wrong_around_a_node_is_found_there_alone() -> None:
    cluster = a_cluster()
    spoil_used(cluster)
    assert [str(found) for found in audit(cluster, nodes=["a"])] == ["node a, used cpu: expected 2000, found 2001"]
    assert audit(cluster, nodes=["b"]) == []


def test_books_that_are_wrong_can_be_made_anew() -> None:
    cluster = a_cluster()
    spoil_used(cluster)
    cluster.rebuild()
    assert audit(cluster) == []


def test_books_that_cannot_be_counted_are_wrong() -> None:
    cluster = a_cluster()
    cluster.cluster_state().columns.status[:] = 99
    assert any("the audit: expected an end" in text for text in everything_sampled(cluster))


def test_queues_that_are_their_own_ancestors_are_no_difference() -> None:
    cluster = a_cluster()
    cluster.apply(objects.queue("gold", parent="nuggets"))
    assert audit(cluster) == []
    assert everything_sampled(cluster) == []


def test_a_pod_that_was_forgotten_by_the_books_is_found() -> None:
    cluster = a_cluster()
    cluster.books.counted.pop("Pod/team/job-0")
    assert any("job-0" in text for text in everything_sampled(cluster))
