"""What is written about groups, pods and queues: only what differs, and never what others wrote."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as some

from stromboli.cluster.objects.pod_groups.previous_domains import (
    ALLOCATED_HYPERNODE,
    SUB_GROUP_HYPERNODES,
    placement_record_of,
    previous_domains_in,
)
from stromboli.kube.events.series import shortened
from stromboli.kube.objects.meta import KubeCondition, ObjectMeta
from stromboli.kube.objects.pod import Pod
from stromboli.kube.objects.volcano import KubeQueue, PodGroup, PodGroupCondition
from stromboli.scheduler.reporting.patches import (
    GroupCondition,
    GroupStatus,
    PendingPodStatus,
    group_patch,
    pod_patch,
    staleness_patch,
)
from stromboli.scheduler.reporting.queue_statuses import queue_patch

NOW = "2024-01-01T00:00:00Z"
LACKS = GroupCondition("Unschedulable", "NotEnoughResources", "Insufficient cpu", "7")
READY = GroupCondition("Scheduled", "tasks in gang are ready to be scheduled", "", "8")


def a_group(*conditions: PodGroupCondition, **status: Any) -> PodGroup:
    described = PodGroup(metadata=ObjectMeta("job", "default", "uid", resource_version="42"))
    described.status.conditions = [*conditions] or None
    for field, value in status.items():
        setattr(described.status, field, value)
    return described


def said(kind: str, status: str = "True", reason: str = "", message: str | None = None) -> PodGroupCondition:
    return PodGroupCondition(type=kind, status=status, reason=reason, message=message, last_transition_time="before")


STANDS = said("Unschedulable", "True", "NotEnoughResources", "Insufficient cpu")
OTHERS = said("Audited", "True", "ByUs")

#: What stands there, what is wanted, and what is written: phase and counts, and the conditions in short.
GROUPS: dict[str, tuple[PodGroup, GroupStatus, dict[str, Any] | None, list[str] | None]] = {
    "nothing new": (a_group(STANDS, phase="Pending"), GroupStatus("Pending", 0, 0, 0, LACKS), None, None),
    "nothing to say": (a_group(phase="Running", running=2), GroupStatus("Running", 2, 0, 0), None, None),
    "a phase": (a_group(phase="Pending"), GroupStatus("Inqueue", 0, 0, 0), {"phase": "Inqueue"}, None),
    "counts": (
        a_group(phase="Running", running=2),
        GroupStatus("Running", 1, 1, 0),
        {"running": 1, "succeeded": 1},
        None,
    ),
    "a condition": (a_group(phase="Pending"), GroupStatus("Pending", 0, 0, 0, LACKS), {}, ["Unschedulable=True"]),
    "the opposite": (
        a_group(STANDS, phase="Running"),
        GroupStatus("Running", 0, 0, 0, READY),
        {},
        ["Unschedulable=False", "Scheduled=True"],
    ),
    "and back": (
        a_group(said("Unschedulable", "False"), said("Scheduled"), phase="Pending"),
        GroupStatus("Pending", 0, 0, 0, LACKS),
        {},
        ["Unschedulable=True", "Scheduled=False"],
    ),
    "pods of a completed group are removed": (
        a_group(phase="Completed", succeeded=3, failed=1),
        GroupStatus("Completed", 0, 1, 0),
        None,
        None,
    ),
    "a completed group restarts": (
        a_group(phase="Completed", succeeded=3),
        GroupStatus("Running", 2, 0, 0),
        {"phase": "Running", "running": 2, "succeeded": 0},
        None,
    ),
    "a group completes that was unschedulable": (
        a_group(OTHERS, STANDS, phase="Running", running=1),
        GroupStatus("Completed", 0, 0, 1),
        {"phase": "Completed", "running": 0, "failed": 1},
        ["Audited=True", "Unschedulable=False"],
    ),
    "an evicted group is scheduled again": (
        a_group(said("Evicted"), said("Scheduled", "False"), phase="Running"),
        GroupStatus("Running", 0, 0, 0, READY),
        {},
        ["Evicted=False", "Scheduled=True"],
    ),
    "an elastic pod was evicted": (
        a_group(said("Evicted"), said("Scheduled", "True", "before"), phase="Running"),
        GroupStatus("Running", 0, 0, 0, READY),
        {},
        ["Evicted=True", "Scheduled=True"],
    ),
    "conditions of others": (
        a_group(OTHERS, phase="Pending"),
        GroupStatus("Pending", 0, 0, 0, LACKS),
        {},
        ["Audited=True", "Unschedulable=True"],
    ),
}


@pytest.mark.parametrize(("group", "desired", "changes", "conditions"), GROUPS.values(), ids=GROUPS)
def test_group_patch_has_only_differences(
    group: PodGroup, desired: GroupStatus, changes: dict[str, Any] | None, conditions: list[str] | None
) -> None:
    patch = group_patch(group, desired, NOW)
    if changes is None:
        assert patch is None
        return
    assert patch is not None
    assert patch["metadata"] == {"resourceVersion": "42"}, "it is rejected after a concurrent write"
    written = dict(patch["status"])
    recorded = written.pop("conditions", None)
    assert written == changes
    assert conditions == (recorded and [f"{each['type']}={each['status']}" for each in recorded])


AT_HOME = {ALLOCATED_HYPERNODE: "rack-0", SUB_GROUP_HYPERNODES: ""}

#: The recorded domains, the desired ones, and what is written.
RECORDS: dict[str, tuple[dict[str, str] | None, dict[str, str], dict[str, str | None] | None]] = {
    "it has found a place": (None, AT_HOME, {ALLOCATED_HYPERNODE: "rack-0"}),
    "it stays there": ({ALLOCATED_HYPERNODE: "rack-0", "note": "theirs"}, AT_HOME, None),
    "it is elsewhere": ({ALLOCATED_HYPERNODE: "rack-9"}, AT_HOME, {ALLOCATED_HYPERNODE: "rack-0"}),
    "its place is gone": (
        {ALLOCATED_HYPERNODE: "rack-9", "note": "theirs"},
        {ALLOCATED_HYPERNODE: "", SUB_GROUP_HYPERNODES: ""},
        {ALLOCATED_HYPERNODE: None},
    ),
    "so are those of its parts": (
        {ALLOCATED_HYPERNODE: "rack-0", SUB_GROUP_HYPERNODES: "{}"},
        AT_HOME,
        {SUB_GROUP_HYPERNODES: None},
    ),
}


@pytest.mark.parametrize(("recorded", "desired", "written"), RECORDS.values(), ids=RECORDS)
def test_group_patch_records_the_domains(
    recorded: dict[str, str] | None, desired: dict[str, str], written: dict[str, object] | None
) -> None:
    group = a_group(phase="Running")
    group.metadata.annotations = recorded
    patch = group_patch(group, GroupStatus("Running", 0, 0, 0, record=desired), NOW)
    expected: dict[str, object] = {"metadata": {"resourceVersion": "42", "annotations": written}, "status": {}}
    assert patch == (expected if written else None)


def test_a_record_that_is_too_long_is_not_kept() -> None:
    homes = {f"team/job/part-{number}": "rack-0" for number in range(10)}
    assert previous_domains_in(placement_record_of({**homes, "team/job": "block-0"}, "team/job"), "team/job") == {
        **homes,
        "team/job": "block-0",
    }
    many = {f"team/job/part-{number}": "rack-0" for number in range(10_000)}
    assert placement_record_of({**many, "team/job": "block-0"}, "team/job") == {
        ALLOCATED_HYPERNODE: "block-0",
        SUB_GROUP_HYPERNODES: "",
    }


SHORT = PodGroupCondition(type="Stale", status="True", last_transition_time="2023-12-31T23:59:00Z")

#: What stands there, what is to be said, and the conditions in short that are written.
STALENESS: dict[str, tuple[PodGroup, str, list[str] | None]] = {
    "members are missing": (a_group(STANDS), "1 of 2", ["Unschedulable=True", f"Stale=True since {NOW}: 1 of 2"]),
    "they still are": (a_group(SHORT), "0 of 2", None),
    "they are there again": (
        a_group(SHORT, OTHERS),
        "",
        ["Audited=True", f"Stale=False since {NOW}: the gang has its minimum again, or no pods"],
    ),
    "they always were": (a_group(STANDS), "", None),
    "without a transition time": (a_group(said("Stale")), "1 of 2", [f"Stale=True since {NOW}: 1 of 2"]),
}


@pytest.mark.parametrize(("group", "message", "expected"), STALENESS.values(), ids=STALENESS)
def test_stale_condition_follows_the_minimum(group: PodGroup, message: str, expected: list[str] | None) -> None:
    patch = staleness_patch(group, message, NOW)
    if expected is None:
        assert patch is None
        return
    assert patch is not None
    recorded = [f"{each['type']}={each['status']}" for each in patch["status"]["conditions"]]
    last = patch["status"]["conditions"][-1]
    recorded[-1] += f" since {last['lastTransitionTime']}: {last['message']}"
    assert recorded == expected


def a_pod(condition: KubeCondition | None = None, nominated: str | None = None) -> Pod:
    pod = Pod(metadata=ObjectMeta("pod", "default", "uid"))
    pod.status.conditions = [condition] if condition else None
    pod.status.nominated_node_name = nominated
    return pod


WAITS = KubeCondition("PodScheduled", "False", "Unschedulable", "no capacity", "before")

#: The pod, what it waits for, and since when it is written to wait, or the node that is named.
PODS: dict[str, tuple[Pod, PendingPodStatus, dict[str, Any] | None]] = {
    "for the first time": (a_pod(), PendingPodStatus("Unschedulable", "no capacity"), {"since": NOW}),
    "as before": (a_pod(WAITS), PendingPodStatus("Unschedulable", "no capacity"), None),
    "for another reason": (a_pod(WAITS), PendingPodStatus("Unschedulable", "no node"), {"since": "before"}),
    "with a node in sight": (
        a_pod(WAITS),
        PendingPodStatus("Unschedulable", "no capacity", "node-a"),
        {"node": "node-a"},
    ),
    "without one any more": (a_pod(WAITS, "node-a"), PendingPodStatus("Unschedulable", "no capacity"), {"node": None}),
}


@pytest.mark.parametrize(("pod", "waits", "expected"), PODS.values(), ids=PODS)
def test_pending_pod_gets_a_condition(pod: Pod, waits: PendingPodStatus, expected: dict[str, Any] | None) -> None:
    patch = pod_patch(pod, waits, NOW)
    if expected is None:
        assert patch is None
        return
    assert patch is not None
    expected_identity = {"uid": "uid", "resourceVersion": pod.metadata.resource_version}
    assert patch["metadata"] == expected_identity, "it is this very pod as we know it, or none"
    status = patch["status"]
    written: dict[str, Any] = {}
    if "conditions" in status:
        written["since"] = status["conditions"][0]["lastTransitionTime"]
    if "nominatedNodeName" in status:
        written["node"] = status["nominatedNodeName"]
    assert written == expected


#: What stands there, what is held, and what is written.
QUEUES: dict[str, tuple[dict[str, str] | None, dict[str, str], dict[str, str | None] | None]] = {
    "for the first time": (None, {"cpu": "2"}, {"cpu": "2"}),
    "as before": ({"cpu": "2"}, {"cpu": "2"}, None),
    "less": ({"cpu": "2", "memory": "1Gi"}, {"cpu": "1"}, {"cpu": "1", "memory": None}),
    "nothing, as before": (None, {}, None),
}


@pytest.mark.parametrize(("before", "held", "expected"), QUEUES.values(), ids=QUEUES)
def test_queue_patch_has_the_allocation(
    before: dict[str, str] | None, held: dict[str, str], expected: dict[str, str | None] | None
) -> None:
    queue = KubeQueue(metadata=ObjectMeta("queue"))
    queue.status.allocated = dict(before) if before is not None else None
    queue.status.reservation = {}
    patch = queue_patch(queue, held)
    assert (patch and patch["status"]["allocated"]) == expected


HALF: dict[str, Any] = {"nodes": ["a"], "resource": {"cpu": "2"}}
#: What stands there, what is reserved, and what is written.
RESERVATIONS: dict[str, tuple[dict[str, Any] | None, dict[str, Any], dict[str, Any] | None]] = {
    "none for the first time": (None, {}, {"reservation": {}, "allocated": {}}),
    "none, as before": ({}, {}, None),
    "some": ({}, HALF, {"reservation": HALF}),
    "as before": (HALF, HALF, None),
    "of another resource": (
        {"nodes": ["b"], "resource": {"memory": "1Gi"}},
        HALF,
        {"reservation": {"nodes": ["a"], "resource": {"cpu": "2", "memory": None}}},
    ),
    "none any more": (HALF, {}, {"reservation": {"nodes": None, "resource": None}}),
}


@pytest.mark.parametrize(("before", "reserved", "expected"), RESERVATIONS.values(), ids=RESERVATIONS)
def test_queue_patch_has_the_reservation(
    before: dict[str, Any] | None, reserved: dict[str, Any], expected: dict[str, Any] | None
) -> None:
    queue = KubeQueue(metadata=ObjectMeta("queue"))
    queue.status.allocated, queue.status.reservation = None if before is None else {}, before
    patch = queue_patch(queue, {}, reserved)
    assert (patch and patch["status"]) == expected


@given(some.text(max_size=60), some.integers(3, 40))
def test_a_text_is_shortened_between_characters(text: str, longest: int) -> None:
    short = shortened(text, longest)
    assert len(short.encode("utf-8", "replace")) <= longest
    assert short == text or (short.endswith("…") and text.startswith(short[:-1]))


def test_a_long_message_of_many_bytes_is_cut_where_it_may_be() -> None:
    assert len(shortened("ü" * 2000).encode()) <= 1024
    assert shortened("ü" * 2000).startswith("ü" * 500)
