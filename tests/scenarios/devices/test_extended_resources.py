"""Extended resources that devices of a class provide: where pods get them, and from which devices."""

from __future__ import annotations

from typing import Any

import pytest

from tests.testing.cases.case import Case, configuration, plugin
from tests.testing.manifests.builders import Manifest, gang, gang_of, node, nodes, pod, priority_class, queue
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

NAME, OTHER = "example.com/gpu", "example.com/nic"
IMPLICIT = "deviceclass.resource.kubernetes.io/gpu"
GPU = device_class(extendedResourceName=NAME)
CLASSES = [priority_class("high", 100), priority_class("low", 1)]
PREEMPTING = configuration("gang", "priority", "predicates", actions="enqueue, allocate, preempt")
CAPACITY = configuration("gang", "predicates", plugin("capacity", {"capacity.DynamicResourceAllocationEnable": True}))


def each(count: int, amount: int = 1, name: str = "gang", resource: str = NAME, **facts: Any) -> list[Manifest]:
    """A gang of pods that request devices as an extended resource."""
    return gang(count, name=name, more={resource: amount}, **facts)


def newer(name: str) -> Manifest:
    made = device_class(name, f'device.driver == "{name}"', extendedResourceName=NAME)
    made["metadata"]["creationTimestamp"] = "2026-01-01T00:00:00Z"
    return made


def held(name: str, place: str, *devices: str, amount: int = 1, **facts: Any) -> list[Manifest]:
    """A running pod with a claim for its extended resources."""
    group, member = gang_of(pod(more={NAME: amount}, nodeName=place), name=name, **facts)
    uid = member["metadata"]["uid"]
    mappings = [{"containerName": "main", "resourceName": NAME, "requestName": "container-0-request-1"}]
    member["status"]["extendedResourceClaimStatus"] = {"resourceClaimName": name, "requestMappings": mappings}
    spec = claim_spec(exactly(amount, name="container-0-request-1"))
    claim = resource_claim(name, spec, has=devices, on=place, used_by=[uid], owner=uid)
    return [group, member, claim]


def tried(group: list[Manifest], claim: str) -> list[Manifest]:
    """The pod of an earlier attempt that was not bound."""
    status = {"extendedResourceClaimStatus": {"resourceClaimName": claim}}
    return [group[0], {**group[1], "status": status}]


def said(count: int, words: str, of: int = 0) -> dict[str, list[str]]:
    return {"gang": [f"0/{of or count} nodes are available: {count} {words}."]}


TOO_FEW = f"cannot allocate all claims: extended resource {NAME}"
SHARED = {"allowMultipleAllocations": True}
CASES = [
    Case("a pod gets devices of the class", nodes(8, 2), GPU, offer("b", 4), each(1, 4), binds="b"),
    Case("by the implicit name of the class", nodes(8, 2), device_class(), offer("b", 4),
         each(2, 2, resource=IMPLICIT), binds="bb"),
    Case("both names take from the same devices", nodes(8, 1), GPU, offer("a", 3), each(1, 2), each(1, 2, name="two",
         resource=IMPLICIT), binds="a-"),
    Case("no more than there are", nodes(8, 1), GPU, offer("a", 4), each(3, 2, minimum=1), binds="aa-",
         reasons=said(1, f"Insufficient {NAME}")),
    Case("a class without devices", nodes(8, 1), GPU, each(1), binds="-", codes={"gang": ["NoNodeHasResource"]}),
    Case("a resource without a class", nodes(8, 1), device_class(), offer("a", 4), each(1), binds="-",
         codes={"gang": ["NoNodeHasResource"]}),
    Case("devices of another class do not count", nodes(8, 1), device_class("nic", 'device.driver == "x"',
         extendedResourceName=NAME), offer("a", 4), each(1), binds="-", codes={"gang": ["NoNodeHasResource"]}),
    Case("devices of claims are not free", nodes(8, 1), GPU, offer("a", 2),
         resource_claim(has=["a/gpu-0"], on="a", used_by=["u"]), each(1, 2), binds="-",
         reasons=said(1, f"{TOO_FEW}: 2 devices of class gpu: too few free")),
    Case("claims do not get devices of extended resources", nodes(8, 1), GPU, offer("a", 2),
         held("old", "a", "a/gpu-0"), resource_claim("mine", claim_spec(exactly(2))),
         gang_of(pod(resourceClaims=claiming("mine"))), binds="-"),
    Case("what a pod holds is counted once", nodes(8, 1), GPU, offer("a", 2), held("old", "a", "a/gpu-0"),
         each(2, minimum=1), binds="a-"),
    Case("a node with a device plugin needs no devices", node("a", 8, more={NAME: 2}), GPU, each(3, minimum=1),
         binds="aa-", reasons=said(1, f"Insufficient {NAME}")),
    Case("there the devices of the plugin alone count", node("a", 8, more={NAME: 1}), GPU, offer("a", 4),
         each(2, minimum=1), binds="a-"),
    Case("a plugin without devices leaves it to the class", node("a", 8, more={NAME: 0}), GPU, offer("a", 2), each(2),
         binds="aa"),
    Case("both kinds of nodes", node("a", 8, more={NAME: 2}), node("b", 8), GPU, offer("b", 2), each(4), binds="aabb"),
    Case("one resource by a plugin, the other by devices", node("a", 8, more={OTHER: 1}), GPU, offer("a", 1),
         gang_of(pod(more={NAME: 1, OTHER: 1})), binds="a"),
    Case("the newest of several classes", nodes(8, 1), GPU, newer("new.example.com"), offer("a", 1),
         offer("a", 2, driver="new.example.com", pool="new"), each(2, minimum=1), binds="aa"),
    Case("devices that several nodes reach", nodes(8, 2), GPU, offer(None, 3, allNodes=True), each(4, minimum=3),
         binds="aaa-"),
    Case("a shared device as often as its capacity allows", nodes(8, 1), GPU,
         offer("a", device("g", capacity={"memory": "10Gi"}, policy={"default": "4Gi"}, more=SHARED)),
         each(3, minimum=1), binds="aa-"),
    Case("without the resource nothing changes", nodes(8, 1), GPU, offer("a", 4), gang(2), binds="aa"),
    Case("a more important pod preempts for them", CLASSES, nodes(8, 1), GPU, offer("a", 1),
         held("old", "a", "a/gpu-0", priority="low", minimum=0), each(1, priority="high"), binds="A",
         evicts=["old-task-0"], conf=PREEMPTING),
    Case("a preempted pod releases its devices", CLASSES, nodes(8, 1), GPU, offer("a", 1),
         held("old", "a", "a/gpu-0", priority="low", minimum=0), each(1, priority="high"), binds="a",
         evicts=["old-task-0"], conf=PREEMPTING, cycles=2),
    Case("a queue limits the resource", nodes(8, 1), GPU, offer("a", 4), queue("q", capability={"cpu": 8, NAME: 2}),
         each(3, minimum=1, queue="q"), binds="aa-", conf=CAPACITY),
    Case("and the devices of the class", nodes(8, 1), GPU, offer("a", 4), queue("q", capability={"deviceclass/gpu": 2}),
         each(3, minimum=1, queue="q"), binds="aa-", conf=CAPACITY,
         reasons={"gang": ["queue q may have deviceclass/gpu 2 and has 2"]}),
    Case("a claim of an earlier attempt binds the pod to its node", nodes(8, 2), GPU, offer("a", 1), offer("b", 1),
         tried(each(1), "early"),
         resource_claim("early", claim_spec(exactly(1, name="container-0-request-1")), has=["b/gpu-0"], on="b",
                        owner="pod-default-gang-task-0"), binds="b"),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=str)
def test_case(case: Case) -> None:
    case.check()


@pytest.mark.parametrize("case", CASES, ids=str)
def test_order_of_objects_does_not_matter(case: Case) -> None:
    plan, other = case.plan(), case.backwards().plan()
    assert case.binds(plan) == case.binds(other)
    assert plan.devices == other.devices


def test_plan_names_devices() -> None:
    plan = Case("", nodes(8, 1), GPU, offer("a", 2), each(2), binds="").plan()
    assert plan.devices == {
        "default/gang-task-0": [f"extended-resources: {DRIVER}/a/gpu-0"],
        "default/gang-task-1": [f"extended-resources: {DRIVER}/a/gpu-1"],
    }


def test_waiting_pod_gets_the_devices_of_an_ended_one() -> None:
    """The claim of a finished pod is deleted by Kubernetes; without it the devices are free."""
    world = [nodes(8, 1), GPU, offer("a", 1), each(1)]
    assert Case("", *world, held("old", "a", "a/gpu-0"), binds="-").plan().binds == {}
    assert Case("", *world, binds="a").plan().binds == {"default/gang-task-0": "a"}
