"""Resource names that no node offers: pods that request them wait with their reason, and no table grows."""

from __future__ import annotations

from stromboli import kube
from stromboli.cluster.audit.auditor import audit
from stromboli.cluster.objects.pods.decoder import MAX_UNOFFERED
from stromboli.cluster.standard_queues import standard_queues
from stromboli.cluster.state.cluster import Cluster
from stromboli.core.session.session import Session
from tests.testing.random_clusters import objects
from tests.testing.random_clusters.engine import default_program

PODS, NAMES = 20, 30
CAPACITY = {"cpu": "8", "pods": "20"}


def name_of(pod: int, place: int) -> str:
    return f"example.com/{pod:02}-{place:02}"


def pods_with_names() -> list[kube.KubeObject]:
    """Pods that each name resources of their own."""
    specs = (objects.template({name_of(pod, place): "1" for place in range(NAMES)}) for pod in range(PODS))
    return [entry for pod, spec in enumerate(specs) for entry in objects.gang(f"p{pod:02}", 1, spec)]


def cluster_of(*entries: kube.KubeObject) -> Cluster:
    cluster = Cluster()
    for entry in (*standard_queues(), objects.node("a", CAPACITY), *entries):
        cluster.apply(entry)
    return cluster


def session_of(cluster: Cluster) -> Session:
    session = Session(cluster.snapshot(), default_program())
    session.run()
    return session


def bound(session: Session) -> dict[str, str]:
    return {each.name: each.node for statement in session.decisions.binds for each in statement}


def test_tables_do_not_grow_with_the_names_that_pods_make_up() -> None:
    cluster = cluster_of(*pods_with_names())
    session = session_of(cluster)
    assert session.snapshot.layout.resources <= 3 + MAX_UNOFFERED + 1
    assert bound(session) == {}
    assert audit(cluster) == []


def test_pod_is_refused_with_the_names_that_it_requests() -> None:
    session = session_of(cluster_of(*pods_with_names()))
    last = session.jobs[f"team/p{PODS - 1:02}"]
    reason = session.impossible.find(last)
    assert reason is not None
    assert reason.detail.startswith(f"no node has {name_of(PODS - 1, 0)}, {name_of(PODS - 1, 1)}, ")
    (task,) = last.tasks.values()
    groups = session.search.refusals(task.task_class).groups
    listed = [*(name_of(PODS - 1, p) for p in range(8)), f"{NAMES - 8} more resources that no node offers"]
    assert [str(reason) for reason, _ in groups] == [f"Insufficient {each}" for each in listed]
    assert len({id(nodes) for _, nodes in groups}) == 1, "the nodes of all names are stored once"


def test_none_of_an_unknown_resource_can_be_requested() -> None:
    spec = objects.template({"cpu": "1", "example.com/none": "0"})
    assert bound(session_of(cluster_of(*pods_with_names(), *objects.gang("gang", 1, spec)))) == {"gang-0": "a"}


def test_pod_starts_on_a_node_that_offers_its_resource_later() -> None:
    spec = objects.template({"cpu": "1", "example.com/late": "2"})
    cluster = cluster_of(*pods_with_names(), *objects.gang("gang", 1, spec))
    assert bound(session_of(cluster)) == {}
    cluster.apply(objects.node("b", {**CAPACITY, "example.com/late": "2"}))
    assert bound(session_of(cluster)) == {"gang-0": "b"}
    assert session_of(cluster).snapshot.layout.resources <= 4 + MAX_UNOFFERED + 1
    assert audit(cluster) == []


def test_queue_that_limits_an_unknown_resource_counts_it() -> None:
    spec = objects.template({"cpu": "1", "example.com/late": "1"})
    jobs = [entry for n in "xy" for entry in objects.gang(n, 1, spec, queue="small")]
    cluster = cluster_of(*pods_with_names(), *jobs)
    session_of(cluster)
    cluster.apply(objects.queue("small", capability={"cpu": "8", "example.com/late": "1"}))
    cluster.apply(objects.node("b", {**CAPACITY, "example.com/late": "8"}))
    assert bound(session_of(cluster)) == {"x-0": "b"}


def test_columns_are_given_back_when_the_pods_are_gone() -> None:
    cluster = cluster_of()
    size = len(cluster.axis)
    guests = pods_with_names()
    for entry in guests:
        cluster.apply(entry)
    cluster.snapshot()
    assert [cluster.needs_compaction] == [False]
    for entry in guests:
        cluster.remove(entry)
    cluster.snapshot()
    assert [cluster.needs_compaction] == [True]
    cluster.compact()
    assert (len(cluster.axis), cluster.needs_compaction) == (size, False)
