"""Node filters by labels, taints, state, ports and number of pods."""

from typing import Any

import pytest

from tests.testing.cases.case import Case
from tests.testing.manifests.builders import LONG_AGO, Manifest, foreign, gang, node, nodes, running

UNMATCHED = "node(s) didn't match Pod's node affinity/selector"


def clause(key: str, operator: str, *values: str) -> Manifest:
    return {"key": key, "operator": operator, **({"values": list(values)} if values else {})}


def terms(*alternatives: Manifest) -> Manifest:
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": list(alternatives)}}
    return {"affinity": {"nodeAffinity": required}}


def needs(*clauses: Manifest) -> Manifest:
    """A pod that needs a node with these labels."""
    return terms({"matchExpressions": list(clauses)})


def labelled(**labels: str) -> list[Manifest]:
    """Nodes a, b, ...: with such a label each, and one more without."""
    named = [node(name, labels={"size": size}) for name, size in labels.items()]
    return [*named, node("z")]


SELECTION = [
    Case("a selector", labelled(a="s", b="m"), gang(1, nodeSelector={"size": "m"}), binds="b"),
    Case(
        "every label of a selector",
        node("a", labels={"size": "m"}), node("b", labels={"size": "m", "disk": "ssd"}),
        gang(1, nodeSelector={"size": "m", "disk": "ssd"}), binds="b",
    ),
    Case(
        "a selector that no node matches",
        labelled(a="s"), gang(1, nodeSelector={"size": "m"}), binds="-",
        reasons={"gang": [f"0/2 nodes are available: 2 {UNMATCHED}."]}, codes={"gang": ["NodeSelectorMismatch"]},
    ),
    Case("In", labelled(a="s", b="m", c="l"), gang(1, **needs(clause("size", "In", "m", "l"))), binds="b"),
    Case(
        "NotIn, which a node without the label passes",
        labelled(a="s", b="m"), gang(1, **needs(clause("size", "NotIn", "s", "m"))), binds="z",
    ),
    Case("Exists", node("a"), node("b", labels={"size": ""}), gang(1, **needs(clause("size", "Exists"))), binds="b"),
    Case("DoesNotExist", labelled(a="s"), gang(1, **needs(clause("size", "DoesNotExist"))), binds="z"),
    Case("Gt", labelled(a="4", b="5"), gang(1, **needs(clause("size", "Gt", "4"))), binds="b"),
    Case("Lt", labelled(a="5", b="4"), gang(1, **needs(clause("size", "Lt", "5"))), binds="b"),
    Case(
        "Gt counts, it does not spell",
        labelled(a="10", b="9"), gang(1, **needs(clause("size", "Gt", "9"))), binds="a",
    ),
    Case(
        "Gt passes no word",
        labelled(a="many"), gang(1, **needs(clause("size", "Gt", "1"))), binds="-",
        codes={"gang": ["NodeAffinityMismatch"]},
    ),
    Case(
        "all clauses of a term",
        labelled(a="4", b="6", c="8"), gang(1, **needs(clause("size", "Gt", "4"), clause("size", "Lt", "8"))),
        binds="b",
    ),
    Case(
        "any of several terms",
        labelled(a="s", b="m", c="l"),
        gang(1, **terms(*({"matchExpressions": [clause("size", "In", size)]} for size in "xl"))), binds="c",
    ),
    Case(
        "a node by its name",
        nodes(4, 3), gang(1, **terms({"matchFields": [clause("metadata.name", "In", "c")]})), binds="c",
    ),
    Case(
        "any node but one",
        nodes(4, 2), gang(1, **terms({"matchFields": [clause("metadata.name", "NotIn", "a")]})), binds="b",
    ),
    Case(
        "a field that no node has",
        nodes(4, 1), gang(1, **terms({"matchFields": [clause("spec.x", "In", "a")]})), binds="-",
    ),
    Case("an empty term matches nothing", nodes(4, 1), gang(1, **terms({})), binds="-"),
    Case(
        "selector and affinity both",
        labelled(a="s", b="m"), gang(1, nodeSelector={"size": "s"}, **needs(clause("size", "In", "m"))), binds="-",
        reasons={"gang": [f"0/3 nodes are available: 3 {UNMATCHED}."]},
    ),
]  # fmt: skip

GPU_TAINT = "gpu=true:NoSchedule"
TAINTED = [node("a", taints=[GPU_TAINT]), node("b")]

TAINTS = [
    Case("a taint keeps pods away", TAINTED, gang(1), binds="b"),
    Case("a toleration of exactly this", TAINTED, gang(1, tolerations=[GPU_TAINT]), binds="a"),
    Case("a toleration of another value", TAINTED, gang(1, tolerations=["gpu=false:NoSchedule"]), binds="b"),
    Case("a toleration of another effect", TAINTED, gang(1, tolerations=["gpu=true:NoExecute"]), binds="b"),
    Case("a toleration of any value", TAINTED, gang(1, tolerations=["gpu:NoSchedule"]), binds="a"),
    Case("a toleration of any effect", TAINTED, gang(1, tolerations=["gpu=true"]), binds="a"),
    Case("a toleration of everything", TAINTED, gang(1, tolerations=[""]), binds="a"),
    Case("NoExecute keeps pods away, too", node("a", taints=["gpu:NoExecute"]), node("b"), gang(1), binds="b"),
    Case("PreferNoSchedule does not", node("a", taints=["gpu:PreferNoSchedule"]), gang(1), binds="a"),
    Case(
        "every taint must be tolerated",
        node("a", taints=[GPU_TAINT, "spot:NoSchedule"]), node("b"), gang(1, tolerations=[GPU_TAINT]), binds="b",
    ),
    Case(
        "taints with a smaller number",
        node("a", taints=["load=70:NoSchedule"]), node("b", taints=["load=30:NoSchedule"]),
        gang(1, tolerations=["load<50:NoSchedule"]), binds="b",
    ),
    Case(
        "taints with a greater number",
        node("a", taints=["load=30:NoSchedule"]), node("b", taints=["load=70:NoSchedule"]),
        gang(1, tolerations=["load>50:NoSchedule"]), binds="b",
    ),
    Case(
        "its message",
        nodes(4, 1, taints=[GPU_TAINT]), gang(1), binds="-", codes={"gang": ["UntoleratedTaint"]},
        reasons={"gang": ["0/1 nodes are available: 1 node(s) had untolerated taint {gpu: true}."]},
    ),
]  # fmt: skip

CORDON = "node.kubernetes.io/unschedulable:NoSchedule"
NOT_READY = "node.kubernetes.io/not-ready"

STATE = [
    Case("a cordoned node", node("a", cordoned=True), node("b"), gang(1), binds="b"),
    Case("a cordoned node, tolerated", node("a", cordoned=True), node("b"), gang(1, tolerations=[CORDON]), binds="a"),
    Case("a node that is not ready", node("a", ready=False), node("b"), gang(1), binds="b"),
    Case("a node that is not ready, tolerated", node("a", ready=False), gang(1, tolerations=[NOT_READY]), binds="a"),
    Case(
        "tolerating a node that is not ready does not allow placement there",
        node("a", ready=False), gang(1, tolerations=[f"{NOT_READY}:NoExecute"]), binds="-",
        reasons={"gang": ["0/1 nodes are available: 1 node(s) were not ready."]}, codes={"gang": ["NodeNotReady"]},
    ),
    Case(
        "a node that is being deleted",
        {**node("a"), "metadata": {"name": "a", "deletionTimestamp": LONG_AGO}}, gang(1), binds="-",
        reasons={"gang": ["0/1 nodes are available: 1 node(s) were unschedulable."]},
        codes={"gang": ["NodeUnschedulable"]},
    ),
    Case("as many pods as a node may run", nodes(9, 2, pods=2), foreign("a"), gang(3), binds="abb"),
    Case(
        "and no more",
        nodes(9, 1, pods=3), foreign("a"), gang(3), binds="---", codes={"gang": ["TooManyPods", "GangDoesNotFit"]},
        reasons={"gang": ["0/1 nodes are available: 1 Too many pods."]},
    ),
    Case(
        "a pod that ended has left its place",
        nodes(9, 1, pods=1), foreign("a", phase="Succeeded"), gang(1), binds="a",
    ),
]  # fmt: skip


def port(number: int, **more: Any) -> list[Manifest]:
    return [{"containerPort": number, "hostPort": number, **more}]


PORTS = [
    Case("a port that is taken", nodes(9, 2), foreign("a", ports=port(80)), gang(1, ports=port(80)), binds="b"),
    Case("another port", nodes(9, 2), foreign("a", ports=port(80)), gang(1, ports=port(81)), binds="a"),
    Case(
        "another protocol",
        nodes(9, 2), foreign("a", ports=port(80, protocol="UDP")), gang(1, ports=port(80)), binds="a",
    ),
    Case(
        "another address",
        nodes(9, 2), foreign("a", ports=port(80, hostIP="10.0.0.1")), gang(1, ports=port(80, hostIP="10.0.0.2")),
        binds="a",
    ),
    Case(
        "the same address",
        nodes(9, 2), foreign("a", ports=port(80, hostIP="10.0.0.1")), gang(1, ports=port(80, hostIP="10.0.0.1")),
        binds="b",
    ),
    Case(
        "every address includes the one that is taken",
        nodes(9, 2), foreign("a", ports=port(80, hostIP="10.0.0.1")), gang(1, ports=port(80)), binds="b",
    ),
    Case(
        "the one address is taken by a pod that uses all",
        nodes(9, 2), foreign("a", ports=port(80)), gang(1, ports=port(80, hostIP="10.0.0.1")), binds="b",
    ),
    Case(
        "members of a gang are in each other's way",
        nodes(9, 2), gang(3, ports=port(80)), binds="---",
        reasons={"gang": ["0/2 nodes are available: 2 node(s) didn't have free ports for the requested pod ports."]},
        codes={"gang": ["HostPortTaken", "GangDoesNotFit"]},
    ),
    Case("one per node, though one node has capacity for all", nodes(9, 3), gang(3, ports=port(80)), binds="abc"),
    Case(
        "on the network of the host every port is a host port",
        nodes(9, 2), foreign("a", ports=port(80)), gang(1, ports=[{"containerPort": 80}], hostNetwork=True), binds="b",
    ),
    Case(
        "in its own network a port is its own",
        nodes(9, 2), foreign("a", ports=port(80)), gang(1, ports=[{"containerPort": 80}]), binds="a",
    ),
    Case(
        "a port stays taken while its pod is being deleted",
        nodes(9, 1), running("a", ports=port(80), releasing=True), gang(1, ports=port(80)), binds="-",
    ),
]  # fmt: skip


@pytest.mark.parametrize("case", SELECTION + TAINTS + STATE + PORTS, ids=str)
def test_node_rules(case: Case) -> None:
    case.check()
