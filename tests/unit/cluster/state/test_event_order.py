"""A cache that follows events equals one that was built from the end result, and snapshots never change."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import pytest

from stromboli import kube
from stromboli.cluster.audit.auditor import audit
from stromboli.cluster.audit.comparison import compare
from stromboli.cluster.standard_queues import standard_queues
from stromboli.cluster.state.cluster import Cluster
from stromboli.core.model.jobs.job import Job
from stromboli.core.model.snapshot import Snapshot
from stromboli.core.session.session import Session
from tests.testing.random_clusters import objects
from tests.testing.random_clusters.engine import default_program

SMALL = objects.template({"cpu": "1"})
RUNNING = objects.template({"cpu": "1"}, node_name="a")
NONSENSE = objects.template({"cpu": "a lot"})


def cluster_of(*given: kube.KubeObject) -> Cluster:
    cluster = Cluster()
    for entry in (*standard_queues(), objects.node("a", {"cpu": "8", "memory": "8Gi"}), *given):
        cluster.apply(entry)
    return cluster


def job_in(snapshot: Snapshot, name: str = "team/gang") -> Job:
    return snapshot.jobs[name]


def reasons(snapshot: Snapshot, name: str = "team/gang") -> Sequence[str]:
    session = Session(snapshot, default_program())
    session.run()
    return session.statuses[name].sentences


def parts(place: int) -> list[kube.KubeSubGroupPolicy]:
    return [kube.KubeSubGroupPolicy(name=f"part-{place}", match_label_keys=["rank"])]


def member(name: str, rank: str, priority: int | None = None) -> kube.Pod:
    spec = msgspec.structs.replace(SMALL, priority=priority)
    return objects.pod(name, spec, group="gang", labels={"rank": rank})


SPREAD = kube.TopologySpreadConstraint(
    max_skew=1,
    topology_key=objects.HOSTNAME,
    when_unsatisfiable="DoNotSchedule",
    label_selector=kube.KubeLabelSelector(match_labels={"app": "web"}),
    match_label_keys=["rank"],
)
RELABELLED = {
    "label copied from the node by the server": (
        {"app": "web"},
        {"app": "web", "topology.kubernetes.io/zone": "z"},
    ),
    "a role": ({"volcano.sh/task-spec": "master"}, {"volcano.sh/task-spec": "worker"}),
    "role in the gang": ({"rank": "0"}, {"rank": "1"}),
    "label that a term matches": ({"app": "web"}, {"app": "database"}),
    "label removed": ({"app": "web"}, {}),
}


@pytest.mark.parametrize(("before", "after"), RELABELLED.values(), ids=RELABELLED)
@pytest.mark.parametrize("spread", [None, [SPREAD]], ids=["plain", "pod with constraints"])
def test_changed_labels_are_used(
    before: dict[str, str], after: dict[str, str], spread: list[kube.TopologySpreadConstraint] | None
) -> None:
    spec = objects.template({"cpu": "1"}, topology_spread_constraints=spread)
    group = objects.group("gang", min_member=1, sub_group_policy=parts(0))
    other = objects.pod(
        "other",
        objects.template({"cpu": "1"}, topology_spread_constraints=[SPREAD]),
        group="gang",
        labels={"app": "web"},
    )
    cluster = cluster_of(group, other, objects.pod("one", spec, group="gang", labels=before))
    cluster.snapshot()
    changed = objects.pod("one", spec, group="gang", labels=after)
    cluster.apply(changed)
    node = objects.node("a", {"cpu": "8", "memory": "8Gi"})
    assert compare(cluster, [*standard_queues(), node, group, other, changed]) == []


# -- invalid objects that are corrected --------------------------------------------------------------------------------


def test_job_recovers_when_invalid_pod_is_corrected() -> None:
    cluster = cluster_of(objects.group("gang", min_member=1), objects.pod("one", NONSENSE, group="gang"))
    assert "cpu" in job_in(cluster.snapshot()).spec.fault
    cluster.apply(objects.pod("one", SMALL, group="gang"))
    snapshot = cluster.snapshot()
    assert (job_in(snapshot).spec.fault, snapshot.warnings) == ("", ())


def test_job_recovers_when_invalid_pod_is_removed() -> None:
    faulty = objects.pod("one", NONSENSE, group="gang")
    cluster = cluster_of(objects.group("gang", min_member=1), faulty, objects.pod("two", SMALL, group="gang"))
    assert len(cluster.snapshot().warnings) == 1
    cluster.remove(faulty)
    snapshot = cluster.snapshot()
    assert (job_in(snapshot).spec.fault, snapshot.warnings) == ("", ())


def test_job_recovers_when_group_appears() -> None:
    cluster = cluster_of(objects.pod("one", SMALL, group="gang"))
    assert "does not exist" in job_in(cluster.snapshot()).spec.fault
    cluster.apply(objects.group("gang", min_member=1))
    assert job_in(cluster.snapshot()).spec.fault == ""


# -- removed groups ----------------------------------------------------------------------------------------------------


def test_removed_group_becomes_the_fault_of_its_pods() -> None:
    group = objects.group("gang", min_member=1, queue="default")
    cluster = cluster_of(group, objects.pod("one", SMALL, group="gang"))
    assert job_in(cluster.snapshot()).spec.fault == ""
    cluster.remove(group)
    snapshot = cluster.snapshot()
    assert "does not exist" in job_in(snapshot).spec.fault
    assert snapshot.queue_usage["default"].jobs == 0
    assert reasons(snapshot) == [job_in(snapshot).spec.fault]


def test_job_without_group_and_pods_is_dropped() -> None:
    pod = objects.pod("one", SMALL, group="gang")
    cluster = cluster_of(pod)
    assert cluster.snapshot().waiting == ("team/gang",)
    cluster.remove(pod)
    snapshot = cluster.snapshot()
    assert (snapshot.waiting, dict(snapshot.jobs)) == ((), {})


# -- resources ---------------------------------------------------------------------------------------------------------


def test_group_may_request_an_unknown_resource() -> None:
    cluster = cluster_of(objects.pod("one", SMALL, group="gang"))
    cluster.snapshot()
    cluster.apply(objects.group("gang", min_member=1, min_resources={"example.com/new": "3"}))
    snapshot = cluster.snapshot()
    assert snapshot.axis.names[snapshot.size - 1] == "example.com/new"
    assert job_in(snapshot).min_resources == ((snapshot.size - 1, 3000),)


# -- sub-jobs ----------------------------------------------------------------------------------------------------------


def test_sub_job_without_pods_is_dropped() -> None:
    last = member("two", "2")
    group = objects.group("gang", min_member=1, sub_group_policy=parts(1))
    cluster = cluster_of(group, member("one", "1"), last)
    assert len(job_in(cluster.snapshot()).sub_jobs) == 2
    cluster.remove(last)
    assert list(job_in(cluster.snapshot()).sub_jobs) == ["team/gang/part-1-1"]


def test_sub_job_has_the_highest_priority_of_its_pods() -> None:
    chief = member("two", "1", priority=50)
    group = objects.group("gang", min_member=1, sub_group_policy=parts(1))
    cluster = cluster_of(group, member("one", "1", priority=-7), chief)
    assert [sub_job.priority for sub_job in job_in(cluster.snapshot()).sub_jobs.values()] == [50]
    cluster.remove(chief)
    assert [sub_job.priority for sub_job in job_in(cluster.snapshot()).sub_jobs.values()] == [-7]


# -- snapshots ---------------------------------------------------------------------------------------------------------


def test_snapshot_keeps_its_sub_jobs() -> None:
    cluster = cluster_of(objects.group("gang", min_member=1, sub_group_policy=parts(1)), member("one", "1"))
    before = cluster.snapshot()
    cluster.apply(objects.group("gang", min_member=1, sub_group_policy=parts(2)))
    after = cluster.snapshot()
    for snapshot, key in ((before, "team/gang/part-1-1"), (after, "team/gang/part-2-1")):
        assert [task.sub_job for task in job_in(snapshot).tasks.values()] == [key]
        assert list(job_in(snapshot).sub_jobs) == [key]
    session = Session(before, default_program())
    session.run()
    assert [bind.name for binds in session.decisions.binds for bind in binds] == ["one"]


def test_pod_joins_a_new_group_once() -> None:
    alone, grouped = objects.pod("gang-0", SMALL), objects.pod("gang-0", SMALL, group="gang")
    cluster = cluster_of(alone)
    cluster.snapshot()
    cluster.apply(objects.group("gang", min_member=1))
    cluster.apply(grouped)
    assert job_in(cluster.snapshot()).pending_count == 1
    assert audit(cluster) == []
