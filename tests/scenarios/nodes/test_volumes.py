"""Volumes in `predicates`: which nodes claims allow, which volumes are bound, and why pods wait."""

from __future__ import annotations

from typing import Any

import pytest

from stromboli.core.model.volumes.volumes import VolumeChoice, VolumeOrder
from tests.testing.cases.case import Case, configuration, plugin
from tests.testing.manifests.builders import Manifest, foreign, gang, gang_of, node, pod, priority_class, running
from tests.testing.manifests.storage import (
    DRIVER,
    HOST,
    REGION,
    ZONE,
    claim,
    claim_template_spec,
    csi_node,
    driver,
    reached_by,
    storage_capacity,
    storage_capacity_on,
    storage_class,
    using,
    volume,
)

NO_VOLUME = "node(s) didn't find available persistent volumes to bind"
NO_STORAGE = "node(s) did not have enough free storage"
OUT_OF_REACH = "node(s) didn't match PersistentVolume's node affinity"
OTHER_ZONE = "node(s) had no available volume zone"
TOO_MANY = "node(s) exceed max volume count"
IN_USE = "node has pod using PersistentVolumeClaim with the same name and ReadWriteOncePod access mode"


def machines(letters: str = "ab", zones: str = "", **facts: Any) -> list[Manifest]:
    """Nodes with host names, and with zones where there is a letter for each."""
    labels = zip(letters, zones or " " * len(letters), strict=True)
    return [
        node(name, 8, labels={HOST: name, **({ZONE: f"z{zone}"} if zone.strip() else {})}, **facts)
        for name, zone in labels
    ]


def one(*claims: str, name: str = "one", **facts: Any) -> list[Manifest]:
    return gang_of(pod(volumes=using(*claims), **facts), name=name)


def said(count: int, words: str, of: int = 0) -> dict[str, list[str]]:
    return {"one": [f"0/{of or count} nodes are available: {count} {words}."]}


LOCAL, MADE = storage_class(), storage_class("made", DRIVER)
WITHOUT_BINDING = configuration("gang", plugin("predicates", {"predicate.VolumeBindingEnable": False}))
WITHOUT_ZONES = configuration("gang", plugin("predicates", {"predicate.VolumeZoneEnable": False}))
WITHOUT_LIMITS = configuration("gang", plugin("predicates", {"predicate.NodeVolumeLimitsEnable": False}))
PREEMPTING = configuration("gang", "priority", "predicates", actions="enqueue, allocate, preempt")
HIGH, LOW = priority_class("high", 100), priority_class("low", 1)

BOUND = [
    Case("a volume is followed to its node", machines(), claim(has="v"), volume("v", on="b", of_claim="data"),
         one("data"), binds="b"),
    Case("a volume without node affinity allows any node", machines(), claim(has="v"), volume("v", of_claim="data"),
         one("data"), binds="a"),
    Case("any term of the affinity is enough", machines(), claim(has="v"),
         volume("v", on=["b", "x"], of_claim="data"), one("data"), binds="b"),
    Case("no node reaches it", machines(), claim(has="v"), volume("v", on="x", of_claim="data"), one("data"),
         binds="-", reasons=said(2, OUT_OF_REACH), codes={"one": ["VolumeNodeAffinityMismatch"]}),
    Case("an affinity without terms is reached by none", machines(), claim(has="v"),
         volume("v", of_claim="data", nodeAffinity={"required": {"nodeSelectorTerms": []}}), one("data"),
         binds="-", reasons=said(2, OUT_OF_REACH)),
    Case("two volumes must be reached both", machines("abc"), claim("x", has="v"), claim("y", has="w"),
         volume("v", on=["a", "b"], of_claim="x"), volume("w", on=["b", "c"], of_claim="y"), one("x", "y"), binds="b"),
    Case("a gang that shares a volume is placed where it is", machines(), claim(has="v"),
         volume("v", on="b", of_claim="data"), gang(3, volumes=using("data")), binds="bbb"),
    Case("its node is full", machines(), claim(has="v"), volume("v", on="b", of_claim="data"), foreign("b", 8),
         one("data"), binds="-", reasons={"one": [
             f"0/2 nodes are available: 1 Insufficient cpu, 1 {OUT_OF_REACH}."]}),
    Case("no check with the rule off", machines(), claim(has="v"), volume("v", on="b", of_claim="data"),
         one("data"), conf=WITHOUT_BINDING, binds="a"),
    Case("a bound claim needs no class", machines(), claim(of="gone", has="v"),
         volume("v", on="b", of="gone", of_claim="data"), one("data"), binds="b"),
    Case("pods of a claim that was bound by hand", machines(), claim(of="", has="v"), volume("v", of="", on="b"),
         one("data"), binds="b"),
]  # fmt: skip

FAULTS = [
    Case("no such claim", machines(), one("data"), binds="-",
         reasons={"one": ['persistentvolumeclaim "data" not found']}, codes={"one": ["VolumeClaimMissing"]}),
    Case("no such claim, and the rule is off", machines(), one("data"), conf=WITHOUT_BINDING, binds="a"),
    Case("a claim of another namespace does not count", machines(), one("data", namespace="default"),
         {**claim(has="v"), "metadata": {"name": "data", "namespace": "other"}}, binds="-",
         reasons={"one": ['persistentvolumeclaim "data" not found']}),
    Case("no such volume", machines(), claim(has="v"), one("data"), binds="-",
         reasons={"one": ['persistentvolumeclaim "data" bound to non-existent persistentvolume "v"']},
         codes={"one": ["VolumeClaimLost"]}),
    Case("a claim that lost its volume", machines(), claim(has="v", phase="Lost"), one("data"), binds="-",
         reasons={"one": ['persistentvolumeclaim "data" bound to non-existent persistentvolume "v"']}),
    Case("a claim on its way out", machines(), claim(has="v", leaving=True), volume("v", of_claim="data"), one("data"),
         binds="-", reasons={"one": ['persistentvolumeclaim "data" is being deleted']}),
    Case("no such class", machines(), claim(of="gone"), one("data"), binds="-",
         reasons={"one": ['persistentvolumeclaim "data": storageclass.storage.k8s.io "gone" not found']},
         codes={"one": ["StorageClassMissing"]}),
    Case("a claim that is served at once is waited for", machines(), storage_class("now", DRIVER, at_once=True),
         claim(of="now"), one("data"), binds="-",
         reasons={"one": ['pod has unbound immediate PersistentVolumeClaims: "data"']},
         codes={"one": ["VolumeClaimUnbound"]}),
    Case("a claim without a class is waited for", machines(), claim(of=""), one("data"), binds="-",
         reasons={"one": ['pod has unbound immediate PersistentVolumeClaims: "data"']}),
    Case("a claim that names its volume is waited for", machines(), LOCAL, claim(has="v", phase="Pending"),
         volume("v"), one("data"), binds="-",
         reasons={"one": ['pod has unbound immediate PersistentVolumeClaims: "data"']}),
    Case("an invalid size", machines(), LOCAL, claim(size="lots"), one("data"), binds="-",
         codes={"one": ["InvalidObject"]}),
    Case("an invalid volume is ignored", machines(), LOCAL, claim(), volume("v", "lots", on="a"),
         volume("w", on="b"), one("data"), binds="b",
         warnings=[
             'PersistentVolume v: spec.capacity.storage: "lots" is not a quantity; write a number and a suffix, as in '
             "500m, 2, 1.5 or 4Gi; the volume is left out"]),
    Case("one invalid claim does not affect the other job", machines(), LOCAL, claim(), volume("v", on="b"),
         one("gone", name="first"), one("data", name="second"), binds="-b"),
    Case("a claim made for another pod", machines(), LOCAL, volume("v", on="b"),
         claim("one-task-0-scratch", owner="other"),
         gang_of(pod(volumes=using(scratch=claim_template_spec())), name="one"),
         binds="-", reasons={"one": [
             'persistentvolumeclaim "one-task-0-scratch" was not created for the pod: it is not its owner']}),
]  # fmt: skip

STATIC = [
    Case("a waiting claim places its pod near a volume", machines(), LOCAL, claim(), volume("v", on="b"), one("data"),
         binds="b"),
    Case("no volume, no node", machines(), LOCAL, claim(), one("data"), binds="-", reasons=said(2, NO_VOLUME),
         codes={"one": ["NoVolumeAvailable"]}),
    Case("a volume too small", machines(), LOCAL, claim(size="2Gi"), volume("v", on="b"), one("data"), binds="-"),
    Case("a volume of another class", machines(), LOCAL, claim(), volume("v", on="b", of="other"), one("data"),
         binds="-"),
    Case("a volume for another way of access", machines(), LOCAL, claim(modes=["ReadWriteMany"]),
         volume("v", on="b"), one("data"), binds="-"),
    Case("blocks are no files", machines(), LOCAL, claim(volumeMode="Block"), volume("v", on="b"), one("data"),
         binds="-"),
    Case("blocks for blocks", machines(), LOCAL, claim(volumeMode="Block"), volume("v", on="b", volumeMode="Block"),
         one("data"), binds="b"),
    Case("a volume by its labels", machines(), LOCAL, claim(selector={"matchLabels": {"disk": "fast"}}),
         volume("v", on="a"), volume("w", on="b", labels={"disk": "fast"}), one("data"), binds="b"),
    Case("a released volume is not bound", machines(), LOCAL, claim(), volume("v", on="b", phase="Released"),
         one("data"), binds="-"),
    Case("a volume of another claim", machines(), LOCAL, claim(), claim("other"),
         volume("v", on="b", of_claim="other"), one("data"), binds="-"),
    Case("a volume that is pre-bound to the claim", machines(), LOCAL, claim(), volume("u", on="a"),
         volume("v", on="b", of_claim="data"), one("data"), binds="b"),
    Case("a volume that is pre-bound to an old claim of the same name", machines(), LOCAL, claim(),
         volume("v", on="b", of_claim="data", uid="older"), one("data"), binds="-"),
    Case("two pods do not get one volume", machines(), LOCAL, claim("x"), claim("y"), volume("v", on="b"),
         one("x", name="first"), one("y", name="second"), binds="b-"),
    Case("two pods, two volumes", machines(), LOCAL, claim("x"), claim("y"), volume("v", on="a"), volume("w", on="b"),
         one("x", name="first"), one("y", name="second"), binds="ab"),
    Case("a gang gets all its volumes", machines("abc"), LOCAL, claim("x"), claim("y"), claim("z"),
         volume("u", on="a"), volume("v", on="b"), volume("w", on="c"),
         gang_of(*(pod(volumes=using(name)) for name in "xyz")), binds="abc"),
    Case("a gang that is one volume short gets none", machines("abc"), LOCAL, claim("x"), claim("y"), claim("z"),
         volume("u", on="a"), volume("v", on="b"), gang_of(*(pod(volumes=using(name)) for name in "xyz")),
         one("x", name="later"), binds="--- a"),
    Case("a minimum that its volumes allow", machines("abc"), LOCAL, claim("x"), claim("y"), claim("z"),
         volume("u", on="a"), volume("v", on="b"), gang_of(*(pod(volumes=using(name)) for name in "xyz"), minimum=2),
         binds="ab-"),
    Case("two claims of a pod need two volumes on one node", machines(), LOCAL, claim("x"), claim("y"),
         volume("u", on="a"), volume("v", on="b"), volume("w", on="b"), one("x", "y"), binds="b"),
    Case("the small claim leaves the large volume to the large one", machines("a"), LOCAL, claim("x", "1Gi"),
         claim("y", "9Gi"), volume("u", "10Gi", on="a"), volume("v", "1Gi", on="a"), one("y", "x"), binds="a"),
    Case("two claims, one volume that both could have", machines("a"), LOCAL, claim("x", "1Gi"), claim("y", "2Gi"),
         volume("u", "2Gi", on="a"), one("x", "y"), binds="-", reasons=said(1, NO_VOLUME)),
    Case("pods that share a waiting claim stay together", machines(), LOCAL, claim(), volume("v", on="b"),
         volume("w", on="a"), gang(3, volumes=using("data")), binds="aaa"),
    Case("the next cycle sees the bound volumes", machines(), LOCAL, claim("x"), claim("y"), volume("v", on="b"),
         one("x", name="first"), one("y", name="second"), cycles=3, binds="b-"),
    Case("a volume is kept for the pod that is nominated for its node", machines(), LOCAL, claim("x"), claim("y"),
         volume("v", on="b"), running("b", 6, releasing=True), one("y", name="early"),
         gang_of(pod(4, volumes=using("x"), nominated="b"), name="late", phase="Inqueue"), binds="-B"),
    Case("a running pod keeps its volume", machines(), LOCAL, claim("x", has="v"), volume("v", on="b", of_claim="x"),
         claim("y"), running("b", volumes=using("x")), one("y"), binds="-"),
]  # fmt: skip

MADE_ON_DEMAND = [
    Case("a volume is provisioned where the pod is placed", machines(), MADE, claim(of="made"), one("data"), binds="a"),
    Case("an existing volume comes first", machines(), MADE, claim(of="made"), volume("v", on="b", of="made"),
         foreign("a", 8), one("data"), binds="b"),
    Case("a class without a provisioner makes nothing", machines(), storage_class("made", ""), claim(of="made"),
         one("data"), binds="-"),
    Case("only in some zones", machines("ab", "12"), storage_class("made", DRIVER, zones=["z2"]), claim(of="made"),
         one("data"), binds="b"),
    Case("in no zone that there is", machines("ab", "12"), storage_class("made", DRIVER, zones=["z3"]),
         claim(of="made"), one("data"), binds="-", reasons=said(2, NO_VOLUME)),
    Case("a claim with a selector gets nothing made", machines(), MADE,
         claim(of="made", selector={"matchLabels": {"disk": "fast"}}), one("data"), binds="-"),
    Case("the default class is meant", machines(), storage_class("made", DRIVER, default=True), claim(of=None),
         one("data"), binds="a"),
    Case("a node that was chosen before is kept", machines(), MADE, claim(of="made", on="b"), one("data"), binds="b"),
    Case("a node that was chosen before and is gone is forgotten", machines(), MADE, claim(of="made", on="x"),
         one("data"), binds="a"),
    Case("a claim that is made for the pod", machines(), MADE,
         gang_of(pod(volumes=using(scratch=claim_template_spec(of="made"))), name="one"), binds="a"),
    Case("each pod has a claim of its own", machines(), MADE, driver(), storage_capacity_on("a", "1Gi"),
         storage_capacity_on("b", "2Gi"),
         gang(3, volumes=using(scratch=claim_template_spec(of="made"))), binds="abb"),
    Case("storage for one", machines(), MADE, driver(), storage_capacity_on("b", "1Gi"), claim("x", of="made"),
         claim("y", of="made"), one("x", name="first"), one("y", name="one"), binds="b-",
         reasons=said(2, NO_STORAGE), codes={"one": ["InsufficientStorage"]}),
    Case("storage for one, also in the next cycle", machines(), MADE, driver(), storage_capacity_on("b", "1Gi"),
         claim("x", of="made"), claim("y", of="made"), one("x", name="first"), one("y"), cycles=3, binds="b-",
         reasons=said(2, NO_STORAGE)),
    Case("two claims of a pod and storage for one", machines(), MADE, driver(), storage_capacity_on("a", "1Gi"),
         storage_capacity_on("b", "2Gi"), claim("x", of="made"), claim("y", of="made"), one("x", "y"), binds="b"),
    Case("storage in the whole zone is one", machines("abc", "112"), MADE, driver(),
         storage_capacity("z1", "2Gi", **{"topology.kubernetes.io__zone": "z1"}),
         gang(3, volumes=using(scratch=claim_template_spec(of="made")), minimum=1), binds="aa-"),
    Case("no volume may be that large", machines(), MADE, driver(), storage_capacity_on("a", "9Gi", most="1Gi"),
         storage_capacity_on("b", "9Gi", most="5Gi"), claim(size="2Gi", of="made"), one("data"), binds="b"),
    Case("a largest size without a sum", machines(), MADE, driver(), storage_capacity_on("a", None, most="1Gi"),
         storage_capacity_on("b", None, most="5Gi"), claim(size="2Gi", of="made"), one("data"), binds="b"),
    Case("invalid storage counts as none", machines("a"), MADE, driver(), storage_capacity_on("a", "lots"),
         claim(of="made"),
         one("data"), binds="-", reasons=said(1, NO_STORAGE), warnings=[
             'CSIStorageCapacity default/on-a: capacity: "lots" is not a quantity; write a number and a suffix, as in '
             "500m, 2, 1.5 or 4Gi; it counts as none"]),
    Case("a driver that does not count has enough", machines(), MADE, driver(counts=False),
         storage_capacity_on("a", "0"),
         claim(of="made"), one("data"), binds="a"),
    Case("storage of another class", machines(), MADE, driver(), storage_capacity_on("a", "9Gi", of="other"),
         claim(of="made"),
         one("data"), binds="-", reasons=said(2, NO_STORAGE)),
    Case("storage without a reported capacity is none", machines(), MADE, driver(), storage_capacity_on("a", None),
         storage_capacity_on("b", "1Gi"),
         claim(of="made"), one("data"), binds="b"),
    Case("what was made is used again", machines(), MADE, csi_node("a", 9, keys=[HOST]), claim(of="made"),
         one("data", name="first"), foreign("b", 8), one("data", name="second"), cycles=2, binds="aa"),
]  # fmt: skip

ZONES = [
    Case("a volume in another zone", machines("ab", "12"), claim(has="v"),
         volume("v", of_claim="data", labels={ZONE: "z2"}), one("data"), binds="b"),
    Case("a volume in several zones", machines("abc", "123"), claim(has="v"),
         volume("v", of_claim="data", labels={ZONE: "z3__z2"}), gang(2, 8, volumes=using("data")), binds="bc"),
    Case("a zone without nodes", machines("ab", "12"), claim(has="v"),
         volume("v", of_claim="data", labels={ZONE: "z4"}), one("data"), binds="-", reasons=said(2, OTHER_ZONE),
         codes={"one": ["VolumeZoneMismatch"]}),
    Case("zone and region must hold both", node("a", 8, labels={ZONE: "z1", REGION: "r1"}),
         node("b", 8, labels={ZONE: "z1", REGION: "r2"}), claim(has="v"),
         volume("v", of_claim="data", labels={ZONE: "z1", REGION: "r2"}), one("data"), binds="b"),
    Case("the labels of old mean the same", node("a", 8, labels={ZONE: "z1"}),
         node("b", 8, labels={"failure-domain.beta.kubernetes.io/zone": "z2"}), claim(has="v"),
         volume("v", of_claim="data", labels={"failure-domain.beta.kubernetes.io/zone": "z2"}), one("data"), binds="b"),
    Case("nodes without zones take it", machines(), claim(has="v"),
         volume("v", of_claim="data", labels={ZONE: "z2"}), one("data"), binds="a"),
    Case("no check of zones with the rule off", machines("ab", "12"), claim(has="v"),
         volume("v", of_claim="data", labels={ZONE: "z2"}), one("data"), conf=WITHOUT_ZONES, binds="a"),
    Case("zones by affinity need no rule about labels", machines("ab", "12"), claim(has="v"),
         volume("v", of_claim="data", nodeAffinity=reached_by(ZONE, "z2")), one("data"), conf=WITHOUT_ZONES,
         binds="b"),
]  # fmt: skip


def disk(name: str) -> list[Manifest]:
    """A claim and its volume."""
    return [claim(name, of="made", has=f"v-{name}"), volume(f"v-{name}", of="made", of_claim=name, csi=DRIVER)]


LIMITS = [
    Case("the number of volumes of a node is limited", machines(), csi_node("a", 1), csi_node("b", 2), disk("x"),
         disk("y"),
         disk("z"), gang_of(*(pod(volumes=using(name)) for name in "xyz")), binds="abb"),
    Case("more than all nodes hold", machines(), csi_node("a", 1), csi_node("b", 0), disk("x"), disk("y"),
         one("x", name="first"), one("y"), binds="a-", reasons=said(2, TOO_MANY),
         codes={"one": ["VolumeLimitExceeded"]}),
    Case("volumes of running pods count", machines(), csi_node("a", 1), csi_node("b", 1), disk("x"), disk("y"),
         running("a", volumes=using("x")), one("y"), binds="b"),
    Case("volumes of strangers count", machines(), csi_node("a", 1), csi_node("b", 1), disk("x"), disk("y"),
         foreign("a", volumes=using("x")), one("y"), binds="b"),
    Case("a volume that is there already costs nothing", machines("a"), csi_node("a", 1), disk("x"),
         running("a", volumes=using("x")), one("x"), binds="a"),
    Case("a gang that shares a volume counts it once per node", machines("a"), csi_node("a", 1), disk("x"),
         gang(3, volumes=using("x")), binds="aaa"),
    Case("what a gang shares leaves a place for another volume", machines("a"), csi_node("a", 2), disk("x"), disk("y"),
         gang(3, volumes=using("x")), one("y"), binds="aaa a"),
    Case("what running pods share leaves a place, too", machines("a"), csi_node("a", 2), disk("x"), disk("y"),
         running("aaa", volumes=using("x")), one("y"), binds="a"),
    Case("a node without a word has no limit", machines(), csi_node("a", 0), disk("x"), one("x"), binds="b"),
    Case("a driver without a count has no limit", machines(), csi_node("a", None), disk("x"), one("x"), binds="a"),
    Case("another driver's limit", machines(), csi_node("a", 0, by="other.example.com"), disk("x"), one("x"),
         binds="a"),
    Case("volumes that are yet to be made count", machines(), MADE, csi_node("a", 1), csi_node("b", 2),
         gang(3, volumes=using(scratch=claim_template_spec(of="made"))), binds="abb"),
    Case("two volumes of one pod", machines(), csi_node("a", 1), csi_node("b", 2), disk("x"), disk("y"),
         one("x", "y"), binds="b"),
    Case("no count with the rule off", machines(), csi_node("a", 0), csi_node("b", 0), disk("x"), one("x"),
         conf=WITHOUT_LIMITS, binds="a"),
    Case("a finished pod holds no volume", machines("a"), csi_node("a", 1), disk("x"), disk("y"),
         foreign("a", phase="Succeeded", volumes=using("x")), one("y"), binds="a"),
    Case("a gang that is one place short leaves nothing behind", machines(), csi_node("a", 1), csi_node("b", 1),
         disk("x"), disk("y"), disk("z"), gang_of(*(pod(volumes=using(name)) for name in "xyz"), name="gang"),
         one("x", name="one"), binds="--- a"),
    Case("a place among volumes is made by preemption", machines("a"), csi_node("a", 1), disk("x"), disk("y"), HIGH,
         LOW, running("a", volumes=using("x"), priority="low"),
         gang_of(pod(volumes=using("y")), name="one", priority="high"), conf=PREEMPTING,
         evicts=["old-task-0"], binds="A"),
    Case("a pod that waits for a volume to detach evicts no other pod", machines("ab"), csi_node("a", 1),
         csi_node("b", 1), disk("x"), disk("y"), disk("z"), HIGH, LOW,
         running("a", volumes=using("x"), priority="low", releasing=True),
         running("b", volumes=using("z"), name="other", priority="low"),
         gang_of(pod(volumes=using("y")), name="one", priority="high"), conf=PREEMPTING, binds="A"),
]  # fmt: skip

ONE_POD = ["ReadWriteOncePod"]
EXCLUSIVE = [
    Case("only one pod at a time", machines(), claim(has="v", modes=ONE_POD), volume("v", of_claim="data"),
         one("data", name="first"), one("data"), binds="a-", reasons=said(2, IN_USE), codes={"one": ["VolumeInUse"]}),
    Case("a running pod has it", machines(), claim(has="v", modes=ONE_POD), volume("v", of_claim="data"),
         running("b", volumes=using("data")), one("data"), binds="-", reasons=said(2, IN_USE)),
    Case("one that has ended does not", machines(), claim(has="v", modes=ONE_POD), volume("v", of_claim="data"),
         foreign("b", phase="Succeeded", volumes=using("data")), one("data"), binds="a"),
    Case("one that is leaving is waited for", machines(), claim(has="v", modes=ONE_POD), volume("v", of_claim="data"),
         running("b", volumes=using("data"), releasing=True), one("data"), binds="A"),
    Case("a gang cannot share it", machines(), claim(has="v", modes=ONE_POD), volume("v", of_claim="data"),
         gang(2, volumes=using("data")), binds="--"),
    Case("a waiting claim for one pod", machines(), LOCAL, claim(modes=ONE_POD),
         volume("v", on="b", modes=ONE_POD), one("data", name="first"), one("data", name="second"), binds="b-"),
    Case("several pods may share what is no pod's own", machines(), claim(has="v"), volume("v", of_claim="data"),
         gang(2, volumes=using("data")), binds="aa"),
]  # fmt: skip

CASES = [*BOUND, *FAULTS, *STATIC, *MADE_ON_DEMAND, *ZONES, *LIMITS, *EXCLUSIVE]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_volumes(case: Case) -> None:
    case.check()


def test_bind_carries_volume_timeout() -> None:
    patient = configuration("gang", plugin("predicates", {"volumebinding.bindTimeoutSeconds": 5}))
    plan = Case("", machines(), LOCAL, claim(), volume("v", on="b"), one("data"), binds="b").plan(patient)
    [[bind]] = plan.session.decisions.binds
    assert bind.volumes == VolumeOrder((VolumeChoice("data", "v"),), 5.0)


def test_case_names_are_unique() -> None:
    assert len({case.name for case in CASES}) == len(CASES)
