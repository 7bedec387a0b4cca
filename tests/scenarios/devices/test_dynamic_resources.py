"""Resource claims in `predicates`: which devices claims get on which node, which pods share them, and why pods wait."""

from __future__ import annotations

from typing import Any

import pytest

from tests.testing.cases.case import Case, configuration, plugin
from tests.testing.manifests.builders import Manifest, gang, gang_of, node, nodes, pod, priority_class, queue, running
from tests.testing.manifests.resource_claims import (
    DRIVER,
    claim_spec,
    claiming,
    device,
    device_class,
    distinct,
    exactly,
    first_of,
    matching,
    numbered,
    offer,
    resource_claim,
    template,
)

GPU = device_class()
PREEMPTING = configuration("gang", "priority", "predicates", actions="enqueue, allocate, preempt")
HIGH, LOW = priority_class("high", 100), priority_class("low", 1)
ALLOCATE_ONLY = configuration("gang", plugin("predicates", {"predicate.DynamicResourceAllocationEnable": False}))


def fact(name: str) -> str:
    return f'device.attributes["{DRIVER}"].{name}'


def one(*claims: str, name: str = "one", **facts: Any) -> list[Manifest]:
    return gang_of(pod(resourceClaims=claiming(*claims), **facts), name=name)


def each(count: int, name: str = "gang", **facts: Any) -> Any:
    """A gang whose members get a claim of their own each."""
    return gang(count, name=name, resourceClaims=claiming(dev="each"), **facts)


def said(count: int, words: str, of: int = 0, group: str = "one") -> dict[str, list[str]]:
    return {group: [f"0/{of or count} nodes are available: {count} {words}."]}


def short(claim: str, ways: str, state: str = "there", request: str = "r") -> str:
    return f'cannot allocate all claims: claim "{claim}", request "{request}": {ways}: too few {state}'


def classy(text: str = "1 device") -> str:
    return f"{text} of class gpu"


SHARED = {"allowMultipleAllocations": True}
CASES = [
    # -- one claim
    Case("a pod is placed where the device is", nodes(8, 2), GPU, offer("b", 1), resource_claim(), one("mine"),
         binds="b"),
    Case(
        "no slice at all", nodes(8, 2), GPU, resource_claim(), one("mine"), binds="-",
        reasons=said(2, short("mine", classy())),
    ),
    Case(
        "of another driver", nodes(8, 1), GPU, offer("a", 1, driver="nic.example.com"), resource_claim(), one("mine"),
        binds="-", codes={"one": ["NoClaimedDevice"]},
    ),
    Case(
        "two devices are not on one node", nodes(8, 2), GPU, offer("a", 1), offer("b", 1),
        resource_claim(spec=claim_spec(exactly(2))), one("mine"), binds="-",
        reasons=said(2, short("mine", classy("2 devices"))),
    ),
    Case(
        "two devices on the second node", nodes(8, 2), GPU, offer("a", 1), offer("b", 2),
        resource_claim(spec=claim_spec(exactly(2))), one("mine"), binds="b",
    ),
    Case(
        "the only device is taken", nodes(8, 1), GPU, offer("a", 1), resource_claim("other", has=["a/gpu-0"], on="a"),
        resource_claim(), one("mine"), binds="-", reasons=said(1, short("mine", classy(), "free")),
    ),
    Case(
        "a claim that has its device ties the pod to its node", nodes(8, 3), GPU, offer("c", 1),
        resource_claim(has=["c/gpu-0"], on="c"), one("mine"), binds="c",
    ),
    Case(
        "its node is full", node("a"), node("b", 1), GPU, offer("b", 1), resource_claim(has=["b/gpu-0"], on="b"),
        one("mine", cpu=2), binds="-", codes={"one": ["ResourceClaimElsewhere", "InsufficientResource"]},
    ),
    Case(
        "with the switch off, claims are ignored", nodes(8, 2), one("mine"), binds="a", conf=ALLOCATE_ONLY,
    ),
    # -- what keeps a pod waiting
    Case("no such claim", nodes(8, 1), GPU, one("mine"), binds="-",
         reasons={"one": ['resourceclaim "mine" not found']}),
    Case("no such class", nodes(8, 1), offer("a", 1), resource_claim(), one("mine"), binds="-",
         reasons={"one": ['request "r": device class "gpu" does not exist']}),
    Case("a claim that is being deleted", nodes(8, 1), GPU, offer("a", 1), resource_claim(leaving=True), one("mine"),
         binds="-", reasons={"one": ['resourceclaim "mine" is being deleted']}),
    Case("the template is missing", nodes(8, 1), GPU, offer("a", 1), each(1, "one"), binds="-",
         reasons={"one": ['resource claim "dev" of the pod is not created yet']}),
    Case(
        "an invalid expression", nodes(8, 1), GPU, offer("a", 1),
        resource_claim(spec=claim_spec(exactly(1, "device.driver ="))), one("mine"), binds="-",
        reasons={"one": [
            'resourceclaim "mine": spec.devices.requests[0].exactly.selectors[0].cel.expression \'device.driver =\': '
            "unexpected '=' at character 15"
        ]},
    ),
    Case(
        "an invalid class", nodes(8, 1), device_class("gpu", "nothing()"), offer("a", 1), resource_claim(),
        one("mine"), binds="-",
        reasons={"one": [
            "resourceclaim \"mine\": DeviceClass gpu: spec.selectors[0].cel.expression 'nothing()': "
            "undeclared reference to function 'nothing'"
        ]},
    ),
    Case(
        "an expression without a result", nodes(8, 1), GPU, offer("a", 1),
        resource_claim(spec=claim_spec(exactly(1, f'{fact("model")} == "x"'))), one("mine"), binds="-",
        reasons=said(1, "cannot allocate all claims: selector "
                     f"""'{fact("model")} == "x"' has no answer for device gpu-0: no such key: model"""),
    ),
    # -- which devices
    Case(
        "the expression of the claim counts", nodes(8, 2), GPU, offer("a", device("g", model="small")),
        offer("b", device("g", model="large")),
        resource_claim(spec=claim_spec(exactly(1, f'{fact("model")} == "large"'))), one("mine"), binds="b",
    ),
    Case(
        "capacity in an expression", nodes(8, 2), GPU, offer("a", device("g", capacity={"memory": "40Gi"})),
        offer("b", device("g", capacity={"memory": "80Gi"})),
        resource_claim(spec=claim_spec(exactly(
            1, f'device.capacity["{DRIVER}"].memory.compareTo(quantity("60Gi")) >= 0'))), one("mine"), binds="b",
    ),
    Case(
        "capacity as a request", nodes(8, 2), GPU, offer("a", device("g", capacity={"memory": "40Gi"})),
        offer("b", device("g", capacity={"memory": "80Gi"})),
        resource_claim(spec=claim_spec(exactly(1, capacity={"memory": "60Gi"}))), one("mine"), binds="b",
    ),
    Case(
        "versions", nodes(8, 2), GPU, offer("a", device("g", firmware="v1.9.0")),
        offer("b", device("g", firmware="v1.10.0")),
        resource_claim(spec=claim_spec(exactly(1, f'{fact("firmware")}.isGreaterThan(semver("1.9.5"))'))), one("mine"),
        binds="b",
    ),
    Case(
        "a tainted device", nodes(8, 2), GPU, offer("a", device("g", taint="broken:NoSchedule")), offer("b", 1),
        resource_claim(), one("mine"), binds="b",
    ),
    Case(
        "a tainted device that is tolerated", nodes(8, 1), GPU, offer("a", device("g", taint="broken:NoSchedule")),
        resource_claim(spec=claim_spec(exactly(tolerations=[{"key": "broken", "operator": "Exists"}]))), one("mine"),
        binds="a",
    ),
    # -- ways
    Case(
        "the second way if the first cannot be had", nodes(8, 1), GPU, offer("a", device("g", model="small")),
        resource_claim(spec=claim_spec(first_of(
            exactly(1, f'{fact("model")} == "large"', name="l"), exactly(1, f'{fact("model")} == "small"', name="s")
        ))), one("mine"), binds="a",
    ),
    Case(
        "neither way", nodes(8, 1), GPU, offer("a", device("g", model="other")),
        resource_claim(spec=claim_spec(first_of(
            exactly(1, f'{fact("model")} == "large"', name="l"), exactly(2, name="s")
        ))), one("mine"), binds="-", codes={"one": ["NoClaimedDevice"]},
    ),
    Case(
        "all devices of the node", nodes(8, 1), GPU, offer("a", 3), resource_claim(spec=claim_spec(exactly("All"))),
        one("mine"), binds="a",
    ),
    Case(
        "all of them, and one is taken", nodes(8, 2), GPU, offer("a", 3), offer("b", 2),
        resource_claim("other", has=["a/gpu-1"], on="a"), resource_claim(spec=claim_spec(exactly("All"))), one("mine"),
        binds="b",
    ),
    Case(
        "all of none", nodes(8, 1), GPU, resource_claim(spec=claim_spec(exactly("All"))), one("mine"), binds="-",
        codes={"one": ["NoClaimedDevice"]},
    ),
    Case(
        "admin access to a device that is taken", nodes(8, 1), GPU, offer("a", 1),
        resource_claim("other", has=["a/gpu-0"], on="a"),
        resource_claim(spec=claim_spec(exactly(adminAccess=True))), one("mine"), binds="a",
    ),
    # -- devices that fit together
    Case(
        "two devices of one board", nodes(8, 1), GPU,
        offer("a", device("g0", board="x"), device("g1", board="y"), device("g2", board="y")),
        resource_claim(spec=claim_spec(exactly(2), constraints=[matching(f"{DRIVER}/board")])), one("mine"), binds="a",
    ),
    Case(
        "no two devices are of one board", nodes(8, 1), GPU,
        offer("a", device("g0", board="x"), device("g1", board="y")),
        resource_claim(spec=claim_spec(exactly(2), constraints=[matching(f"{DRIVER}/board")])), one("mine"), binds="-",
        reasons=said(1, "cannot allocate all claims: the devices that are free do not satisfy all requests together"),
    ),
    Case(
        "devices of different boards", nodes(8, 2), GPU,
        offer("a", device("g0", board="x"), device("g1", board="x")),
        offer("b", device("g0", board="x"), device("g1", board="x"), device("g2", board="y")),
        resource_claim(spec=claim_spec(exactly(2), constraints=[distinct(f"{DRIVER}/board")])), one("mine"), binds="b",
    ),
    Case(
        "a card and a port of one root", nodes(8, 1), GPU,
        offer("a", device("g0", kind="gpu", root="p"), device("g1", kind="gpu", root="q"),
              device("n0", kind="nic", root="q")),
        resource_claim(spec=claim_spec(
            exactly(1, f'{fact("kind")} == "gpu"', name="card"), exactly(1, f'{fact("kind")} == "nic"', name="port"),
            constraints=[matching(f"{DRIVER}/root", "card", "port")])), one("mine"), binds="a",
    ),
    Case(
        "the choosy claim of a pod does not lose to the other", nodes(8, 1), GPU,
        offer("a", device("g0", model="large"), device("g1", model="small")),
        resource_claim("any"), resource_claim("choosy", claim_spec(exactly(1, f'{fact("model")} == "large"'))),
        one("any", "choosy"), binds="a",
    ),
    # -- gangs and shared claims
    Case("every member gets a device of its own", nodes(8, 2), GPU, offer("a", 2), offer("b", 1), template(), each(3),
         binds="aab"),
    Case("one device short: no pod is bound", nodes(8, 2), GPU, offer("a", 1), offer("b", 1), template(), each(3),
         binds="---"),
    Case("minimum reached, the rest waits", nodes(8, 2), GPU, offer("a", 1), offer("b", 1), template(),
         each(3, minimum=2), binds="ab-"),
    Case("two gangs compete", nodes(8, 1), GPU, offer("a", 3), template(), each(2, "first"), each(2, "second"),
         binds="aa--"),
    Case("pods that share a claim are placed on one node", nodes(2, 2), GPU, offer("b", 1), resource_claim(),
         gang(2, name="pair", resourceClaims=claiming("mine")), binds="bb"),
    Case("pods that share a claim, and one does not fit", nodes(2, 2), GPU, offer("b", 1), resource_claim(),
         gang(3, name="trio", resourceClaims=claiming("mine")), binds="---"),
    Case(
        "a device in the network serves pods on several nodes", nodes(1, 3), GPU,
        offer(None, 1, pool="net", allNodes=True), resource_claim(),
        gang(3, name="trio", resourceClaims=claiming("mine")), binds="abc",
    ),
    Case(
        "a device in the network of some nodes", node("a"), node("b", labels={"rack": "r"}), GPU,
        offer(None, 1, pool="net", nodeSelector={"nodeSelectorTerms": [
            {"matchExpressions": [{"key": "rack", "operator": "In", "values": ["r"]}]}]}),
        resource_claim(), one("mine"), binds="b",
    ),
    Case(
        "devices define their own nodes", nodes(8, 2), GPU,
        offer(None, device("g0", more={"nodeName": "a"}), device("g1", more={"nodeName": "b"}),
              device("g2", more={"nodeName": "b"}), pool="net", perDeviceNodeSelection=True),
        resource_claim(spec=claim_spec(exactly(2))), one("mine"), binds="b",
    ),
    Case("next cycle, the devices are taken", nodes(8, 1), GPU, offer("a", 1), template(), each(1, "first"),
         each(1, "second"), binds="a-", cycles=2),
    # -- pools
    Case("half a pool is none", nodes(8, 1), GPU, offer("a", 1, slices=2), resource_claim(), one("mine"), binds="-",
         codes={"one": ["NoClaimedDevice"]},
         warnings=[f"pool {DRIVER}/a: 1 of 2 slices of generation 1 are there; none of its devices is allocated"]),
    Case("only the newest generation counts", nodes(8, 1), GPU, offer("a", 2), offer("a", 1, generation=2),
         resource_claim(spec=claim_spec(exactly(2))), one("mine"), binds="-", codes={"one": ["NoClaimedDevice"]}),
    Case("two devices of one name", nodes(8, 1), GPU, offer("a", device("g"), device("g")), resource_claim(),
         one("mine"), binds="-",
         warnings=[f"pool {DRIVER}/a: two devices are called g; none of its devices is allocated"]),
    Case(
        "all devices cannot be allocated while a pool is incomplete", nodes(8, 1), GPU, offer("a", 1, pool="whole"),
        offer("a", 1, pool="half", slices=2), resource_claim(spec=claim_spec(exactly("All"))), one("mine"), binds="-",
        reasons=said(1, f"cannot allocate all claims: pool {DRIVER}/half is incomplete"),
        warnings=[f"pool {DRIVER}/half: 1 of 2 slices of generation 1 are there; none of its devices is allocated"],
    ),
    # -- parts of devices
    Case(
        "partitions draw from one card", nodes(8, 1), GPU,
        offer("a", *(device(f"p{number}", takes={"memory": "20Gi"}) for number in range(4)),
              counters={"memory": "40Gi"}),
        template(), each(2), binds="aa",
    ),
    Case(
        "the card has no more to give", nodes(8, 1), GPU,
        offer("a", *(device(f"p{number}", takes={"memory": "20Gi"}) for number in range(4)),
              counters={"memory": "40Gi"}),
        template(), each(3), binds="---",
    ),
    Case(
        "a whole card excludes its partitions", nodes(8, 1), GPU,
        offer("a", device("whole", takes={"memory": "40Gi"}), device("part", takes={"memory": "20Gi"}),
              counters={"memory": "40Gi"}),
        resource_claim("other", has=["a/part"], on="a"),
        resource_claim(spec=claim_spec(exactly(1))), one("mine"), binds="-",
        codes={"one": ["ClaimedDevicesDoNotFit"]},
    ),
    Case(
        "several share the memory of a device", nodes(8, 1), GPU,
        offer("a", device("g", capacity={"memory": "40Gi"}, more=SHARED)),
        template(claim_spec(exactly(1, capacity={"memory": "20Gi"}))), each(2), binds="aa",
    ),
    Case(
        "the memory of a device is not given out twice", nodes(8, 1), GPU,
        offer("a", device("g", capacity={"memory": "40Gi"}, more=SHARED)),
        template(claim_spec(exactly(1, capacity={"memory": "20Gi"}))), each(3, minimum=1), binds="aa-",
    ),
    Case(
        "a pod without an amount gets all", nodes(8, 1), GPU,
        offer("a", device("g", capacity={"memory": "40Gi"}, more=SHARED)), template(), each(2, minimum=1), binds="a-",
    ),
    Case(
        "portions are rounded up to what the policy allows", nodes(8, 1), GPU,
        offer("a", device("g", capacity={"memory": "40Gi"}, more=SHARED,
                          policy={"default": "10Gi", "validValues": ["10Gi", "20Gi"]})),
        template(claim_spec(exactly(1, capacity={"memory": "11Gi"}))), each(3, minimum=1), binds="aa-",
    ),
    Case(
        "portions in steps", nodes(8, 1), GPU,
        offer("a", device("g", capacity={"memory": "40Gi"}, more=SHARED,
                          policy={"default": "8Gi", "validRange": {"min": "4Gi", "max": "32Gi", "step": "4Gi"}})),
        template(claim_spec(exactly(1, capacity={"memory": "9Gi"}))), each(4, minimum=1), binds="aaa-",
    ),
    Case(
        "more than the policy allows", nodes(8, 1), GPU,
        offer("a", device("g", capacity={"memory": "40Gi"}, more=SHARED,
                          policy={"default": "8Gi", "validRange": {"min": "4Gi", "max": "32Gi"}})),
        resource_claim(spec=claim_spec(exactly(1, capacity={"memory": "33Gi"}))), one("mine"), binds="-",
        codes={"one": ["ClaimedDevicesDoNotFit"]},
    ),
    Case(
        "two partitions of one device for one claim", nodes(8, 1), GPU,
        offer("a", device("g", capacity={"memory": "40Gi"}, more=SHARED)),
        resource_claim(spec=claim_spec(exactly(2, capacity={"memory": "20Gi"}))), one("mine"), binds="a",
    ),
    # -- terminating pods
    Case(
        "the devices of a pod that leaves are waited for", nodes(8, 1), GPU, offer("a", 1),
        resource_claim("other", has=["a/gpu-0"], on="a", used_by=["pod-default-old-task-0"]),
        running("a", releasing=True, resourceClaims=claiming("other")), resource_claim(), one("mine"), binds="A",
    ),
    Case(
        "a claim that another still uses is not waited for", nodes(8, 1), GPU, offer("a", 1),
        resource_claim("other", has=["a/gpu-0"], on="a", used_by=["pod-default-old-task-0", "other"]),
        running("a", releasing=True, resourceClaims=claiming("other")), resource_claim(), one("mine"), binds="-",
    ),
    Case(
        "the important job preempts the devices of the others", nodes(8, 1), GPU, HIGH, LOW, offer("a", 1),
        resource_claim("other", has=["a/gpu-0"], on="a", used_by=["pod-default-old-task-0"]),
        running("a", priority="low", resourceClaims=claiming("other")), resource_claim(),
        gang_of(pod(resourceClaims=claiming("mine")), name="one", priority="high"), binds="A",
        evicts=["old-task-0"], conf=PREEMPTING,
    ),
    Case(
        "and has them in the next cycle", nodes(8, 1), GPU, HIGH, LOW, offer("a", 1),
        resource_claim("other", has=["a/gpu-0"], on="a", used_by=["pod-default-old-task-0"]),
        running("a", priority="low", resourceClaims=claiming("other")), resource_claim(),
        gang_of(pod(resourceClaims=claiming("mine")), name="one", priority="high"), binds="a",
        evicts=["old-task-0"], conf=PREEMPTING, cycles=2,
    ),
]  # fmt: skip


# -- how many devices queues may have
COUNTING = configuration("gang", "predicates", "capacity")
IN_A_TREE = configuration("gang", "predicates", plugin("capacity", enableHierarchy=True))
UNCOUNTED = configuration("gang", "predicates", plugin("capacity", {"capacity.DynamicResourceAllocationEnable": False}))
IN_PARTS = configuration("gang", "predicates", plugin("capacity", {"capacity.DRAConsumableCapacityEnable": True}))
FOUR = (nodes(8, 1), GPU, offer("a", 4), template(), template(claim_spec(exactly(2)), "two"))


def limited(name: str = "q", **facts: Any) -> Manifest:
    return queue(name, capability={"deviceclass/gpu": 2}, **facts)


QUOTAS = [
    Case("a queue gets as many devices as it may", FOUR, limited(), each(3, minimum=1, queue="q"), binds="aa-",
         conf=COUNTING, reasons={"gang": ["queue q may have deviceclass/gpu 2 and has 2"]}),
    Case("not counted", FOUR, limited(), each(3, minimum=1, queue="q"), binds="aaa", conf=UNCOUNTED,
         warnings=["Queue q: deviceclass/gpu has no effect: capacity.DynamicResourceAllocationEnable is off"]),
    Case("a gang that may not have enough", FOUR, limited(), each(3, queue="q", resources={"cpu": 3}), binds="---",
         conf=COUNTING, phases={"gang": "Pending"},
         reasons={"gang": ["queue q resource quota insufficient: insufficient deviceclass/gpu",
                           "the job is not admitted to its queue yet"]}),
    Case("claims count by their requests", FOUR, limited(),
         gang(2, minimum=1, queue="q", resourceClaims=claiming(dev="two")), binds="a-", conf=COUNTING),
    Case("what runs already counts", FOUR, limited(),
         resource_claim("other", has=["a/gpu-0"], on="a", used_by=["pod-default-old-task-0"]),
         running("a", queue="q", resourceClaims=claiming("other")), each(2, minimum=1, queue="q"), binds="a-",
         conf=COUNTING),
    Case("a claim that several share counts once", FOUR, limited(), resource_claim(spec=claim_spec(exactly(2))),
         gang(3, queue="q", resourceClaims=claiming("mine")), binds="aaa", conf=COUNTING),
    Case("another class is not limited", FOUR, device_class("other"), limited(),
         template(claim_spec(exactly(of="other")), "others"),
         gang(3, queue="q", resourceClaims=claiming(dev="others")), binds="aaa", conf=COUNTING),
    Case("the limit of a parent holds", FOUR, limited("top"), queue("one", parent="top"), queue("two", parent="top"),
         each(1, "first", queue="one"), each(2, "second", minimum=1, queue="two"), binds="aa-", conf=IN_A_TREE),
    Case("device classes outside the capability are not available", nodes(8, 1), GPU,
         offer("a", device("g", capacity={"memory": "40Gi"})), limited(),
         template(claim_spec(exactly(1, capacity={"memory": "1Gi"}))), each(1, queue="q"), binds="-", conf=IN_PARTS,
         reasons={"gang": ["queue q may have memory.deviceclass/gpu 0 and has 0"]}),
]  # fmt: skip
CASES += QUOTAS


@pytest.mark.parametrize("case", CASES, ids=str)
def test_case(case: Case) -> None:
    case.check()


@pytest.mark.parametrize("case", CASES, ids=str)
def test_order_of_objects_does_not_matter(case: Case) -> None:
    plan, other = case.plan(), case.backwards().plan()
    assert case.binds(plan) == case.binds(other)
    assert plan.devices == other.devices


def test_case_names_are_unique() -> None:
    assert len({case.name for case in CASES}) == len(CASES)


def test_plan_names_devices() -> None:
    plan = Case("", nodes(8, 2), GPU, offer("a", 1), offer("b", *numbered(2)), template(), each(3), binds="").plan()
    assert plan.devices == {
        "default/gang-task-0": [f"dev: {DRIVER}/a/gpu-0"],
        "default/gang-task-1": [f"dev: {DRIVER}/b/gpu-0"],
        "default/gang-task-2": [f"dev: {DRIVER}/b/gpu-1"],
    }


def test_whole_card_is_assigned_without_requested_fraction() -> None:
    card = offer("a", device("whole", takes={"memory": "40Gi"}), device("part", takes={"memory": "20Gi"}),
                 counters={"memory": "40Gi"})  # fmt: skip
    plan = Case("", nodes(8, 1), GPU, card, resource_claim(), one("mine"), binds="").plan()
    assert plan.devices == {"default/one-task-0": [f"mine: {DRIVER}/a/whole"]}
