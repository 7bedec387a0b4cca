"""Status of a job at the end of a cycle."""

from __future__ import annotations

import pytest

from stromboli import kube
from stromboli.cluster.standard_queues import standard_queues
from stromboli.cluster.state.cluster import Cluster
from stromboli.core.session.session import Session
from stromboli.core.session.status import JobStatus
from tests.testing.random_clusters import objects
from tests.testing.random_clusters.engine import default_program, session_of

WAITING = objects.template({"cpu": "1"})
LARGE = objects.template({"cpu": "100"})
PLACED = objects.template({"cpu": "1"}, node_name="a")


def status_with(*pods: kube.Pod, phase: str) -> JobStatus:
    group = objects.group("gang", min_member=1, phase=phase)
    session = session_of([objects.node("a", {"cpu": "8", "memory": "8Gi"}), group, *pods])
    session.run()
    return session.statuses["team/gang"]


@pytest.mark.parametrize("phase", ["Pending", "Inqueue"])
def test_pod_deleted_without_node_does_not_count_as_scheduled(phase: str) -> None:
    status = status_with(objects.pod("one", WAITING, group="gang", leaving=True), phase=phase)
    assert status.phase == "Inqueue"
    assert [condition.type for condition in status.conditions] == ["Unschedulable"]


def finished(name: str, phase: str) -> kube.Pod:
    return objects.pod(name, PLACED, group="gang", phase=phase)


@pytest.mark.parametrize(
    ("pods", "expected"),
    [
        ([finished("one", "Failed")], ("Completed", [])),
        ([finished("one", "Succeeded")], ("Completed", ["Scheduled"])),
        ([objects.pod("one", PLACED, group="gang", phase="Succeeded", leaving=True)], ("Completed", ["Scheduled"])),
        ([objects.pod("one", PLACED, group="gang", phase="Running")], ("Running", ["Scheduled"])),
        ([objects.pod("one", LARGE, group="gang")], ("Inqueue", ["Unschedulable"])),
        ([finished("one", "Failed"), objects.pod("two", LARGE, group="gang")], ("Completed", ["Unschedulable"])),
    ],
    ids=["failed", "succeeded", "removed", "runs again", "waits again", "failed, and a retry waits"],
)
def test_completed_group_stays_completed_until_it_has_new_pods(
    pods: list[kube.Pod], expected: tuple[str, list[str]]
) -> None:
    status = status_with(*pods, phase="Completed")
    assert (status.phase, [condition.type for condition in status.conditions]) == expected


def test_terminating_pod_on_a_node_counts_as_scheduled() -> None:
    status = status_with(objects.pod("one", PLACED, group="gang", phase="Running", leaving=True), phase="Inqueue")
    assert (status.phase, status.conditions) == ("Running", ())


def test_job_that_never_fits_is_compared_with_the_nodes_of_every_cycle() -> None:
    """Its reason is kept between cycles, and not longer than the nodes are the same."""
    cluster = Cluster()
    for entry in (*standard_queues(), objects.group("gang", min_member=1), objects.pod("one", LARGE, group="gang")):
        cluster.apply(entry)
    found = []
    for cores in ("8", "8", "16", "200"):
        cluster.apply(objects.node("a", {"cpu": cores, "memory": "8Gi", "pods": "10"}))
        session = Session(cluster.snapshot(), default_program())
        session.run()
        found.append([(reason.code.value, reason.short) for reason in session.statuses["team/gang"].reasons[:1]])
    small = [("ExceedsEveryNode", "needs 100 cpu, largest node has 8")]
    assert found == [small, small, [("ExceedsEveryNode", "needs 100 cpu, largest node has 16")], []]
