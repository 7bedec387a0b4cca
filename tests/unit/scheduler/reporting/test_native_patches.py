"""What is written about native groups, in the words of either version of their API."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from stromboli.cluster.objects.pod_groups.native_pod_groups import as_group
from stromboli.cluster.objects.pod_groups.pod_groups import EVICTED, stale_since
from stromboli.cluster.objects.pod_groups.previous_domains import ALLOCATED_HYPERNODE, PLACED, previous_domains_of
from stromboli.cluster.objects.timestamps import seconds_of
from stromboli.kube.objects import native
from stromboli.scheduler.reporting.native_patches import disruption_patch, native_staleness_patch, scheduled_patch
from stromboli.scheduler.reporting.patches import CLAIMED, GroupCondition, GroupStatus

EARLY, LATE = "v1alpha2", "v1beta1"
NAMES = {EARLY: "PodGroupScheduled", LATE: "PodGroupInitiallyScheduled"}
NOW = "2026-01-01T00:00:00Z"
LACKS = GroupCondition("Unschedulable", "NotEnoughResources", "Insufficient cpu", "7")
BROKEN = GroupCondition("Unschedulable", "InvalidObject", "spec.schedulingPolicy: ...", "7")
READY = GroupCondition("Scheduled", "tasks in gang are ready to be scheduled", "", "8")


def group(version: str, *said: tuple[str, str, str]) -> native.NativePodGroup:
    """Status, reason and message of the condition."""
    conditions = [
        {"type": NAMES[version], "status": status, "reason": reason, "message": message, "lastTransitionTime": "before"}
        for status, reason, message in said
    ]
    metadata = {"name": "train", "namespace": "team", "uid": "u", "resourceVersion": "42", "generation": 3}
    document = {
        "apiVersion": f"scheduling.k8s.io/{version}",
        "metadata": metadata,
        "status": {"conditions": conditions},
    }
    return msgspec.convert(document, native.NativePodGroup)


WAITS, RUNS = ("False", "Unschedulable", "Insufficient cpu"), ("True", "Scheduled", "")
#: The version, what stands there, what is wanted, and what is written: status, reason, message, since when.
CASES: dict[str, tuple[str, list[tuple[str, str, str]], GroupCondition | None, tuple[str, ...] | None]] = {
    "nothing to say": (LATE, [], None, None),
    "it waits": (LATE, [], LACKS, (*WAITS, NOW)),
    "it waits, in the early version": (EARLY, [], LACKS, (*WAITS, NOW)),
    "it has said so": (LATE, [WAITS], LACKS, None),
    "it waits for another reason": (LATE, [("False", "Unschedulable", "no pods")], LACKS, (*WAITS, "before")),
    "it makes no sense": (LATE, [], BROKEN, ("False", "SchedulerError", "spec.schedulingPolicy: ...", NOW)),
    "it runs": (LATE, [WAITS], READY, (*RUNS, NOW)),
    "it runs, in the early version": (EARLY, [WAITS], READY, (*RUNS, NOW)),
    "that it was scheduled once is not taken back": (LATE, [RUNS], LACKS, None),
    "whether it is scheduled may change": (EARLY, [RUNS], LACKS, (*WAITS, NOW)),
}


@pytest.mark.parametrize("version", [EARLY, LATE])
def test_completed_group_is_not_unschedulable(version: str) -> None:
    completed = GroupStatus("Completed", 0, 0, 2)
    assert scheduled_patch(group(version, RUNS), completed, NOW) is None
    patch = scheduled_patch(group(version, WAITS), completed, NOW)
    assert patch is not None
    assert patch["status"]["conditions"][0]["status"] == "True"


@pytest.mark.parametrize(("version", "stands", "wanted", "written"), CASES.values(), ids=CASES)
def test_whether_it_was_scheduled(
    version: str,
    stands: list[tuple[str, str, str]],
    wanted: GroupCondition | None,
    written: tuple[str, ...] | None,
) -> None:
    patch = scheduled_patch(group(version, *stands), GroupStatus("Inqueue", 0, 0, 0, wanted), NOW)
    assert _written_condition(patch, NAMES[version]) == written


#: The recorded domain, the current one, and what is written.
PLACES: dict[str, tuple[str | None, str, tuple[str, str] | None]] = {
    "it has never been anywhere": (None, "", None),
    "it has found a place": (None, "r0", ("True", "r0")),
    "it stays there": ("r0", "r0", None),
    "it is elsewhere": ("r0", "r1", ("True", "r1")),
    "its place is gone": ("r0", "", ("False", "")),
}


@pytest.mark.parametrize(("recorded", "domain", "written"), PLACES.values(), ids=PLACES)
def test_where_it_is(recorded: str | None, domain: str, written: tuple[str, str] | None) -> None:
    stands = group(LATE, RUNS)
    if recorded is not None:
        placed = native.NativePodGroupCondition(type=PLACED, status="True", reason="InDomain", message=recorded)
        stands.status.conditions = [*(stands.status.conditions or ()), placed]
    assert previous_domains_of(as_group(stands)) == ({as_group(stands).key: recorded} if recorded else {})
    patch = scheduled_patch(stands, GroupStatus("Running", 0, 0, 0, LACKS, record={ALLOCATED_HYPERNODE: domain}), NOW)
    found = _written_condition(patch, PLACED)
    assert (found and (found[0], found[2])) == written


def test_only_the_group_of_victims_is_disrupted() -> None:
    victims = GroupCondition(EVICTED, "preempt", "pod team/a evicted", "")
    recorded = _written_condition(disruption_patch(group(LATE), victims, NOW), "DisruptionTarget")
    assert recorded == ("True", "PreemptionByScheduler", "pod team/a evicted", NOW)
    assert disruption_patch(group(LATE), GroupCondition(CLAIMED, "preempt", "", ""), NOW) is None


def _written_condition(patch: dict[str, Any] | None, name: str) -> tuple[str, ...] | None:
    """The one condition of a patch, which is meant for this version of the object."""
    if patch is None:
        return None
    assert patch["metadata"] == {"uid": "u", "resourceVersion": "42"}
    (condition,) = patch["status"]["conditions"]
    assert (condition["type"], condition["observedGeneration"]) == (name, 3)
    return condition["status"], condition["reason"], condition["message"], condition["lastTransitionTime"]


def test_native_group_has_a_stale_condition() -> None:
    whole = group(LATE, RUNS)
    patch = native_staleness_patch(whole, "1 of 2", NOW)
    assert patch is not None
    [recorded] = patch["status"]["conditions"]
    assert (recorded["type"], recorded["status"], recorded["lastTransitionTime"]) == ("Stale", "True", NOW)
    stale = msgspec.convert({**msgspec.to_builtins(whole), **patch}, native.NativePodGroup)
    assert stale_since(as_group(stale)) == seconds_of(NOW)
    assert native_staleness_patch(stale, "0 of 2", "later") is None
    assert native_staleness_patch(whole, "", NOW) is None
    healed = native_staleness_patch(stale, "", "later")
    assert healed is not None
    assert healed["status"]["conditions"][0]["status"] == "False"
