"""Node scores."""

from typing import Any

import pytest

from stromboli.core.plugins.nodeorder.plugin import NodeOrder
from tests.testing.cases.case import STANDARD, Case, configuration, plugin
from tests.testing.manifests.builders import Manifest, foreign, gang, gang_of, node, nodes, pod, running

PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
WEB = {"app": "web"}


def scored_by(scorer: str, weight: int = 1) -> str:
    """A configuration in which one scorer of nodeorder counts."""
    weights = {argument.key: 0 for argument in NodeOrder.arguments.declared} | {f"{scorer}.weight": weight}
    return configuration("gang", "predicates", plugin("nodeorder", weights))


def both(least: int, most: int) -> str:
    """A configuration in which free capacity counts for and against a node."""
    weights = {argument.key: 0 for argument in NodeOrder.arguments.declared}
    weights |= {"leastrequested.weight": least, "mostrequested.weight": most}
    return configuration("gang", "predicates", plugin("nodeorder", weights))


def packed(**weights: object) -> str:
    """A configuration with binpack alone; `cpu=2` means `binpack.cpu: 2`."""
    return configuration("gang", "predicates", plugin("binpack", {f"binpack.{key}": w for key, w in weights.items()}))


LEAST, MOST = scored_by("leastrequested"), scored_by("mostrequested")

FREE_CAPACITY = [
    Case("the first by name among equals", nodes(4, 3), gang(1), conf=LEAST, binds="a"),
    Case("the emptier node", nodes(4, 2), foreign("a"), gang(1), conf=LEAST, binds="b"),
    Case("one here, one there", nodes(4, 2), gang(4), conf=LEAST, binds="abab"),
    Case("the larger node", node("a", 4), node("b", 8), gang(1), conf=LEAST, binds="b"),
    Case(
        "memory counts like cpu",
        nodes(8, 2, memory="8Gi"), foreign("a", cpu=1), foreign("b", 0, "4Gi", name="other"), gang(1, memory="1Gi"),
        conf=LEAST, binds="a",
    ),
    Case(
        "pods without a request still have a cost",
        nodes(4, 2), foreign("a", cpu=None), gang(1), conf=LEAST, binds="b",
    ),
    Case(
        "pods that are being deleted still cost",
        nodes(4, 2), running("a", releasing=True), gang(1), conf=LEAST, binds="b",
    ),
    Case("the fuller node", nodes(4, 2), foreign("b"), gang(1), conf=MOST, binds="b"),
    Case("full before empty", nodes(2, 2), gang(3), conf=MOST, binds="aab"),
    Case("the emptier and the fuller weigh the same", nodes(4, 2), foreign("b"), gang(1), conf=both(1, 1), binds="a"),
    Case("whichever it is", nodes(4, 2), foreign("a"), gang(1), conf=both(1, 1), binds="a"),
    Case("the heavier of the two wins", nodes(4, 2), foreign("a"), gang(1), conf=both(2, 1), binds="b"),
    Case(
        "a negative weight inverts a preference",
        nodes(4, 2), foreign("a"), gang(1), binds="a", conf=scored_by("leastrequested", -1),
    ),
]  # fmt: skip

BALANCED = scored_by("balancedresource")

BALANCE = [
    Case(
        "cpu and memory in step",
        node("a", 4, "8Gi"), node("b", 8, "8Gi"), gang(1, cpu=2, memory="2Gi"), conf=BALANCED, binds="b",
    ),
    Case(
        "what is used already counts",
        nodes(8, 2, memory="8Gi"), foreign("b", 0, "2Gi"), gang(1, cpu=2), conf=BALANCED, binds="b",
    ),
    Case(
        "gpus count for pods that request one",
        node("a", 8, "8Gi", gpu=2), node("b", 8, "8Gi", gpu=8), gang(1, cpu=1, memory="1Gi", gpu=1), conf=BALANCED,
        binds="b",
    ),
    Case(
        "and for no others",
        node("a", 8, "8Gi", gpu=8), node("b", 8, "8Gi"), foreign("a", 0, gpu=8), gang(1, cpu=1, memory="1Gi"),
        conf=BALANCED, binds="a",
    ),
    Case(
        "a resource that a node does not have is ignored",
        node("a", 8, "8Gi"), node("b", 8, None), gang(1, cpu=2), conf=BALANCED, binds="b",
    ),
    Case(
        "of three, too",
        node("a", 8, "8Gi", gpu=4), node("b", 8, None, gpu=4), gang(1, cpu=2, gpu=1), conf=BALANCED, binds="b",
    ),
    Case(
        "a pod without a request has no preference",
        nodes(8, 2, memory="8Gi"), foreign("a"), gang(1, cpu=0), conf=BALANCED, binds="a",
    ),
]  # fmt: skip


def preferring(*preferences: tuple[int, str]) -> Manifest:
    """A pod that prefers nodes with these disks, by weight."""
    terms = [
        {"weight": weight, "preference": {"matchExpressions": [{"key": "disk", "operator": "In", "values": [disk]}]}}
        for weight, disk in preferences
    ]
    return {"affinity": {"nodeAffinity": {PREFERRED: terms}}}


DISKS = [node("a"), node("b", labels={"disk": "hdd"}), node("c", labels={"disk": "ssd"})]
BY_AFFINITY = scored_by("nodeaffinity")
BY_TAINTS = scored_by("tainttoleration")
SPOT = "spot:PreferNoSchedule"
BY_IMAGES = scored_by("imagelocality")

NODES = [
    Case("a node that the pod prefers", DISKS, gang(1, **preferring((1, "ssd"))), conf=BY_AFFINITY, binds="c"),
    Case("the heavier preference", DISKS, gang(1, **preferring((1, "ssd"), (2, "hdd"))), conf=BY_AFFINITY, binds="b"),
    Case("preferences of equal weight", DISKS, gang(1, **preferring((1, "ssd"), (1, "hdd"))), conf=BY_AFFINITY,
         binds="b"),
    Case("a preference that no node meets", DISKS, gang(1, **preferring((1, "tape"))), conf=BY_AFFINITY, binds="a"),
    Case("a node that would rather not", node("a", taints=[SPOT]), node("b"), gang(1), conf=BY_TAINTS, binds="b"),
    Case("tolerated", node("a", taints=[SPOT]), node("b"), gang(1, tolerations=["spot"]), conf=BY_TAINTS, binds="a"),
    Case(
        "fewer such taints",
        node("a", taints=[SPOT, "old:PreferNoSchedule"]), node("b", taints=[SPOT]), gang(1), conf=BY_TAINTS, binds="b",
    ),
    Case(
        "a node with the image",
        node("a"), node("b", images={"train:1": 800}), gang(1, image="train:1"), conf=BY_IMAGES, binds="b",
    ),
    Case(
        "the larger image",
        node("a", images={"tiny:1": 30}), node("b", images={"train:1": 800}),
        gang_of(pod(containers=[{"image": "tiny:1"}, {"image": "train:1"}])), conf=BY_IMAGES, binds="b",
    ),
    Case(
        "an image without a tag is the latest",
        node("a"), node("b", images={"train:latest": 800}), gang(1, image="train"), conf=BY_IMAGES, binds="b",
    ),
    Case(
        "an image too small to matter",
        node("a"), node("b", images={"tiny:1": 20}), gang(1, image="tiny:1"), conf=BY_IMAGES, binds="a",
    ),
]  # fmt: skip


def preferences(weight: int, labels: Manifest = WEB, *, kind: str = "podAffinity") -> Manifest:
    """A preference about pods on the same host."""
    term = {"labelSelector": {"matchLabels": labels}, "topologyKey": "host"}
    return {"affinity": {kind: {PREFERRED: [{"weight": weight, "podAffinityTerm": term}]}}}


def soft(**more: Any) -> Manifest:
    constraint = {"maxSkew": 1, "topologyKey": "host", "whenUnsatisfiable": "ScheduleAnyway", **more}
    return {"labels": WEB, "topologySpreadConstraints": [{"labelSelector": {"matchLabels": WEB}, **constraint}]}


HOSTS = [node(name, 9, labels={"host": name}) for name in "abc"]
BY_PODS, BY_SPREAD = scored_by("podaffinity"), scored_by("podtopologyspread")
AVOIDS = "podAntiAffinity"

PODS = [
    Case("near a pod that it prefers", HOSTS, foreign("c", labels=WEB), gang(1, **preferences(1)), conf=BY_PODS,
         binds="c"),
    Case(
        "near more of them",
        HOSTS, foreign("b", labels=WEB), running("cc", labels=WEB), gang(1, **preferences(1)), conf=BY_PODS, binds="c",
    ),
    Case(
        "away from a pod that it dislikes",
        HOSTS, foreign("a", labels=WEB), gang(1, **preferences(1, kind=AVOIDS)), conf=BY_PODS, binds="b",
    ),
    Case("near a pod that prefers it", HOSTS, foreign("c", **preferences(1)), gang(1, labels=WEB), conf=BY_PODS,
         binds="c"),
    Case(
        "away from a pod that dislikes it",
        HOSTS, foreign("a", **preferences(1, kind=AVOIDS)), gang(1, labels=WEB), conf=BY_PODS, binds="b",
    ),
    Case("spread without a need", HOSTS, gang(4, **soft()), conf=BY_SPREAD, binds="abca"),
    Case("where the fewest are", HOSTS, running("ab", labels=WEB), gang(1, **soft()), conf=BY_SPREAD, binds="c"),
    Case(
        "where the fewest are, rather than where most is free",
        HOSTS[:2], foreign("b", cpu=6), foreign("a", 0, labels=WEB, name="web"), gang(1, **soft()),
        conf=configuration("gang", "nodeorder"), binds="b",
    ),
    Case(
        "unless a few more do not matter",
        HOSTS[:2], foreign("b", cpu=6), foreign("a", 0, labels=WEB, name="web"), gang(1, **soft(maxSkew=10)),
        conf=configuration("gang", "nodeorder"), binds="a",
    ),
    Case(
        "a node without the label comes last",
        node("a", 9), HOSTS[1:], running("b", labels=WEB), gang(1, **soft()), conf=BY_SPREAD, binds="c",
    ),
    Case(
        "without capacity, any node is allowed",
        HOSTS[:1], node("b", 0, labels={"host": "b"}), gang(3, **soft()), conf=BY_SPREAD, binds="aaa",
    ),
    Case(
        "preferences count for a pipelined pod",
        [node(name, 8, gpu=1, labels={"host": name}) for name in "ab"], running("ab", gpu=1, releasing=True),
        foreign("b", cpu=4, labels=WEB), gang(1, gpu=1, **preferences(1)), conf=configuration("gang", "nodeorder"),
        binds="B",
    ),
]  # fmt: skip

PACKING = [
    Case("the node that is fuller already", nodes(4, 2), foreign("b"), gang(1), conf=packed(), binds="b"),
    Case("a node that would be full", node("a", 8), node("b", 2), gang(1, cpu=2), conf=packed(), binds="b"),
    Case(
        "only the requested resources count",
        nodes(4, 2, memory="8Gi"), foreign("a", 0, "7Gi"), foreign("b", 1, name="other"), gang(1), conf=packed(),
        binds="b",
    ),
    Case(
        "cpu before memory",
        nodes(4, 2, memory="8Gi"), foreign("a", 0, "4Gi"), foreign("b", 1, name="other"), gang(1, memory="1Gi"),
        conf=packed(cpu=3), binds="b",
    ),
    Case(
        "memory before cpu",
        nodes(4, 2, memory="8Gi"), foreign("a", 2), foreign("b", 0, "2Gi", name="other"), gang(1, memory="1Gi"),
        conf=packed(memory=3), binds="b",
    ),
    Case("a negative weight is read as 1", nodes(4, 2), foreign("b"), gang(1), conf=packed(weight=-5), binds="b"),
    Case(
        "a further resource",
        nodes(9, 2, gpu=4), foreign("b", 0, gpu=2), gang(1, gpu=1), binds="b", conf=packed(resources="nvidia.com/gpu"),
    ),
    Case(
        "scores of plugins add up",
        nodes(4, 2), foreign("b"), gang(1), binds="b",
        conf=configuration(
            "gang", plugin("nodeorder", {"balancedresource.weight": 0}), plugin("binpack", {"binpack.weight": 2}),
        ),
    ),
    Case(
        "and the heavier wins",
        nodes(4, 2), foreign("b"), gang(1), binds="a",
        conf=configuration(
            "gang", plugin("nodeorder", {"leastrequested.weight": 9}), plugin("binpack", {"binpack.weight": 2}),
        ),
    ),
    Case(
        "by the standard configuration uneven use decides",
        node("a", 4, "8Gi"), node("b", 8, "8Gi"), gang(1, cpu=2, memory="2Gi"), conf=STANDARD, binds="b",
    ),
]  # fmt: skip


@pytest.mark.parametrize("case", FREE_CAPACITY + BALANCE + NODES + PODS + PACKING, ids=str)
def test_node_scores(case: Case) -> None:
    case.check()
