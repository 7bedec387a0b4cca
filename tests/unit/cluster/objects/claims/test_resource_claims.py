"""Claims, classes, slices and pods arrive in any order; the cache ends in the same state."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from stromboli.cluster.audit.auditor import audit
from stromboli.cluster.state.cluster import Cluster
from stromboli.core.model.devices.claims import AssignedDevice, ClaimChoice, DeviceName
from stromboli.kube.objects.bind_requests import BindRequest, BindRequestSpec, BoundPod, ClaimAllocation
from stromboli.kube.objects.kinds import KubeObject
from stromboli.kube.objects.meta import ObjectMeta
from tests.testing.cases.case import objects
from tests.testing.manifests.builders import Manifest, node, pod
from tests.testing.manifests.resource_claims import (
    DRIVER,
    claim_spec,
    claiming,
    device,
    device_class,
    exactly,
    offer,
    resource_claim,
)
from tests.testing.placements import placement

LARGE = f'device.attributes["{DRIVER}"].model == "large"'


def user(name: str, *claims: str, made: str = "", on: str = "") -> Manifest:
    """A pod with claims, optionally with an ephemeral one, optionally on a node."""
    templates = {"own": "each"} if made != "" or name == "late" else {}
    facts: dict[str, Any] = {"nodeName": on} if on else {}
    found = pod(name=name, resourceClaims=claiming(*claims, **templates), **facts)
    if made:
        found["status"]["resourceClaimStatuses"] = [{"name": "own", "resourceClaimName": made}]
    return found


#: Every object in all its versions; any of them may be the last.
LIVES: list[list[Manifest]] = [
    [node("a")],
    [node("b")],
    [device_class(), device_class("gpu", LARGE)],
    [offer("a", 1, name="a"), offer("a", device("big", model="large"), name="a", generation=2)],
    [offer("b", 1, name="b"), offer("b", 1, name="b", slices=2)],
    [offer("b", device("more"), name="b-2", slices=2, pool="b")],
    [resource_claim("one"), resource_claim("one", has=["a/gpu-0"], on="a", used_by=["pod-default-first"])],
    [resource_claim("two", claim_spec(exactly(2))), resource_claim("two", leaving=True)],
    [resource_claim("made", owner="pod-default-late"), resource_claim("made", has=["b/gpu-0"], on="b")],
    [user("first", "one"), user("first", "one", on="a")],
    [user("second", "one", "two")],
    [user("late"), user("late", made="made"), user("late", made="made", on="b")],
]


def claim_state_of(cluster: Cluster) -> dict[str, object]:
    """Everything about claims that a cycle would see."""
    snapshot = cluster.snapshot()
    table = snapshot.claims.table
    suited = {suit: (found.mask.tolist(), dict(found.faults)) for suit, found in table.suited.items()}
    needs = {
        record.pod.key: (cluster.accounting.counted[uid].task.task_class.claims, cluster.claims.needs(record.pod))
        for uid, record in cluster.pods.records.items()
    }
    used = {suit for _, known in needs.values() if known.needs for demand in known.needs.waiting
            for each in demand.requests for alternative in each for suit in [alternative.suit]}  # fmt: skip
    return {
        "devices": [str(each.name) for each in table.devices] if needs else [],
        "suited": {suit: suited[suit] for suit in used},
        "held": dict(snapshot.claims.held),
        "needs": needs,
        "warnings": cluster.claims.warnings(),
    }


def history(random: Random) -> tuple[list[tuple[bool, KubeObject]], list[KubeObject]]:
    """Events in an order that keeps the versions of one object apart; and the objects that exist at the end."""
    lives, present = [], []
    for versions in LIVES:
        seen = [random.choice(objects(versions)) for _ in range(random.randint(1, 3))]
        reports = [(True, each) for each in seen]
        if random.random() < 0.25:
            reports.append((False, seen[-1]))
        else:
            present.append(seen[-1])
        lives.append(reports)
    events = []
    while any(lives):
        events.append(random.choice([life for life in lives if life]).pop(0))
    return events, present


@pytest.mark.parametrize("seed", range(40))
def test_every_event_order_ends_in_the_same_state(seed: int) -> None:
    random = Random(seed)  # noqa: S311
    events, present = history(random)
    cluster, fresh = Cluster(), Cluster()
    for is_there, entry in events:
        (cluster.apply if is_there else cluster.remove)(entry)
        if random.random() < 0.2:
            cluster.snapshot()
    for entry in present:
        fresh.apply(entry)
    assert claim_state_of(cluster) == claim_state_of(fresh)
    assert audit(cluster) == []


# -- what was decided ----------------------------------------------------------------------------------------------

CHOICE = ClaimChoice("one", (AssignedDevice("r", DeviceName(DRIVER, "a", "gpu-0")),))
WORLD = [node("a"), device_class(), offer("a", 1), resource_claim("one"), user("first", "one"), user("second", "one")]
FIRST, SECOND = "pod-default-first", "pod-default-second"


def deciding() -> Cluster:
    cluster = Cluster()
    for entry in objects(WORLD):
        cluster.apply(entry)
    cluster.assumptions.assume(placement(FIRST, "a", devices=(CHOICE,)))
    return cluster


def test_chosen_devices_are_taken_until_the_placement_is_forgotten() -> None:
    cluster = deciding()
    held = cluster.snapshot().claims.held["default/one"]
    assert (held.devices, held.users, held.staying) == (CHOICE.devices, 1, 1)
    assert cluster.accounting.counted[SECOND].task.task_class.claims.waiting == ()  # type: ignore[union-attr]
    cluster.assumptions.forget(FIRST)
    assert dict(cluster.snapshot().claims.held) == {}
    assert len(cluster.accounting.counted[SECOND].task.task_class.claims.waiting) == 1  # type: ignore[union-attr]


def test_open_bind_request_holds_its_devices() -> None:
    cluster = Cluster()
    for entry in objects(WORLD):
        cluster.apply(entry)
    written = {"devices": {"results": [{"request": "r", "driver": DRIVER, "pool": "a", "device": "gpu-0"}]}}
    member = BoundPod("first", FIRST, "a", resource_claim_allocations=[ClaimAllocation("one", written)])
    metadata = ObjectMeta("first-1", "default", "request")
    request = BindRequest(metadata=metadata, spec=BindRequestSpec(scheduler="stromboli", pods=[member]))
    cluster.apply(request)
    assert cluster.snapshot().claims.held["default/one"].devices == CHOICE.devices
    cluster.remove(request)
    assert dict(cluster.snapshot().claims.held) == {}


def test_allocation_of_the_claim_overrides_the_choice() -> None:
    cluster = deciding()
    for entry in objects([resource_claim("one", has=["a/gpu-9"], on="a", used_by=[FIRST])]):
        cluster.apply(entry)
    cluster.assumptions.forget(FIRST)
    assert [each.name.device for each in cluster.snapshot().claims.held["default/one"].devices] == ["gpu-9"]


def test_bound_pod_keeps_devices_before_claim_is_allocated() -> None:
    cluster = deciding()
    for entry in objects([user("first", "one", on="a")]):
        cluster.apply(entry)
    assert cluster.snapshot().claims.held["default/one"].devices == CHOICE.devices


def test_recreated_claim_has_no_devices() -> None:
    cluster = deciding()
    [anew] = objects([resource_claim("one")])
    anew.metadata.uid = "another"
    cluster.apply(anew)
    assert dict(cluster.snapshot().claims.held) == {}
