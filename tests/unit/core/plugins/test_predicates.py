"""Which nodes the rules of the predicates plugin refuse, and in which words."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given

from stromboli.core.model.nodes.table import Mask
from stromboli.core.model.nodes.taints import tolerates
from stromboli.core.model.tasks.host_ports import HostPort
from stromboli.core.model.tasks.selectors import NodeTerm, Requirement
from stromboli.core.model.tasks.task import TaskStatus
from stromboli.core.model.tasks.task_class import Toleration
from stromboli.core.plugins.predicates.claimed_devices import ClaimedDevices, ClaimReach
from stromboli.core.plugins.predicates.nodes import Availability, HostPorts, NodeAffinity, Taints
from stromboli.core.plugins.predicates.plugin import Predicates
from stromboli.core.plugins.predicates.pods import ExistingAntiAffinity, PodAffinity, PodAntiAffinity, TopologySpread
from stromboli.core.plugins.predicates.volumes import VolumeAffinity, VolumeBinding, VolumeLimits, VolumeZone
from stromboli.core.search.node_rules import Locality, NodeFilter
from tests.testing.random_clusters.effort import examples
from tests.unit.core.plugins import reference_rules
from tests.unit.core.plugins.random_clusters import worlds
from tests.unit.core.plugins.rule_cluster import (
    Kind,
    Machine,
    World,
    build,
    kind,
    labelled,
    machine,
    near,
    spread,
    taint,
    zoned,
)

EVERYTHING = Toleration("", "Exists")
HOST = "kubernetes.io/hostname"


class Case(NamedTuple):
    """Machines, pods on them as `kind@node`, and the nodes that a rule leaves to the kind."""

    title: str
    rule: type[NodeFilter]
    machines: Sequence[Machine]
    asks: Kind
    filter: str
    placed: Sequence[tuple[Kind, str]] = ()


def tainted(*texts: str) -> list[Machine]:
    """Nodes a, b, ... with one taint each; `` is none."""
    taints = [(taint(text),) if text else () for text in texts]
    return [machine(name, taints=each) for name, each in zip("abcdef", taints, strict=False)]


TWO = zoned("a b")
MIXED = [machine("a"), machine("b", unschedulable=True), machine("c", ready=False)]
DISKS = [machine("a", labels={"disk": "ssd", "cpu": "8"}), machine("b", labels={"disk": "hdd"}), machine("c")]
ZONES = zoned("a:x b:x c:y d")

WEB, CACHE, LONER = kind("app=web"), kind("app=cache"), kind("app=web", anti_affinity=(near("app=web"),))
NEAR_CACHE = kind("app=web", affinity=(near("app=cache"),))
NEAR_ITSELF = kind("app=web", affinity=(near("app=web"),))
NEAR_BOTH = kind("app=web", affinity=(near("app=cache"), near("app=store")))
STORE, BOTH = kind("app=store"), kind("app=web tier=front", affinity=(near("app=web"), near("tier=front")))
AWAY_FROM_CACHE = kind("app=web", anti_affinity=(near("app=cache"),))
HATES_WEB = kind("app=cache", anti_affinity=(near("app=web"),))
LIKES_WEB = kind("app=cache", preferred_affinity=((-5, near("app=web")),))
EVEN = kind("app=web", spread=(spread("app=web"),))
LOOSE = kind("app=web", spread=(spread("app=web", max_skew=2),))
OTHERS = kind("app=job", spread=(spread("app=web"),))
TCP_80, TCP_80_LOCAL, UDP_80 = HostPort("TCP", 80), HostPort("TCP", 80, "127.0.0.1"), HostPort("UDP", 80)
SERVER, LOCAL_SERVER, NAME_SERVER = kind(ports=(TCP_80,)), kind(ports=(TCP_80_LOCAL,)), kind(ports=(UDP_80,))
LOCAL_TWIN = kind(ports=(HostPort("TCP", 80, "10.0.0.1"),))
NO_SLOT = kind()

CASES = [
    Case("cordoned and unready nodes take no pods", Availability, MIXED, WEB, "a"),
    Case("who tolerates everything goes everywhere", Availability, MIXED, kind(tolerations=(EVERYTHING,)), "a b c"),
    Case(
        "cordoning is tolerated by its own taint",
        Availability, MIXED, kind(tolerations=(Toleration("node.kubernetes.io/unschedulable", "Exists"),)), "a b",
    ),
    Case(
        "unreadiness likewise",
        Availability, MIXED, kind(tolerations=(Toleration("node.kubernetes.io/not-ready", "Exists"),)), "a c",
    ),
    Case(
        "the toleration that every pod is given is about staying, not about coming",
        Availability, MIXED,
        kind(tolerations=(Toleration("node.kubernetes.io/not-ready", "Exists", "", "NoExecute"),)), "a",
    ),
    Case("no constraint", NodeAffinity, DISKS, WEB, "a b c"),
    Case("a label", NodeAffinity, DISKS, kind(node_selector=(("disk", "ssd"),)), "a"),
    Case("two labels", NodeAffinity, DISKS, kind(node_selector=(("cpu", "8"), ("disk", "hdd"))), ""),
    Case(
        "one of two terms",
        NodeAffinity, DISKS, kind(required_node_terms=(labelled(disk="ssd"), labelled(disk="hdd"))), "a b",
    ),
    Case("no term matches no node", NodeAffinity, DISKS, kind(required_node_terms=()), ""),
    Case("an empty term matches no node", NodeAffinity, DISKS, kind(required_node_terms=(NodeTerm(),)), ""),
    Case(
        "by name",
        NodeAffinity, DISKS,
        kind(required_node_terms=(NodeTerm(fields=(Requirement("metadata.name", "In", ("c",)),)),)), "c",
    ),
    Case(
        "by number",
        NodeAffinity, DISKS, kind(required_node_terms=(NodeTerm((Requirement("cpu", "Gt", ("4",)),)),)), "a",
    ),
    Case(
        "selector and affinity",
        NodeAffinity, DISKS, kind(node_selector=(("disk", "ssd"),), required_node_terms=(labelled(disk="hdd"),)), "",
    ),
    Case("NoSchedule and NoExecute keep away, PreferNoSchedule does not",
         Taints, tainted("", "k=v:NoSchedule", "k=v:NoExecute", "k=v:PreferNoSchedule"), WEB, "a d"),
    Case("a taint that is tolerated",
         Taints, tainted("k=v:NoSchedule", "k=w:NoSchedule"), kind(tolerations=(Toleration("k", "Equal", "v"),)), "a"),
    Case("every one of several must be",
         Taints, [machine("a", taints=(taint("k=v:NoSchedule"), taint("l=v:NoSchedule")))],
         kind(tolerations=(Toleration("k", "Exists"),)), ""),
    Case("another protocol does not collide", HostPorts, TWO, NAME_SERVER, "a b", [(SERVER, "a")]),
    Case("a taken port", HostPorts, TWO, SERVER, "b", [(SERVER, "a")]),
    Case("every address collides with one", HostPorts, TWO, LOCAL_SERVER, "b", [(SERVER, "a")]),
    Case("one address collides with every", HostPorts, TWO, SERVER, "b", [(LOCAL_SERVER, "a")]),
    Case("two addresses do not collide", HostPorts, TWO, LOCAL_TWIN, "a b", [(LOCAL_SERVER, "a")]),
    Case("who has no port does not care", HostPorts, TWO, WEB, "a b", [(SERVER, "a")]),
    Case("near the cache", PodAffinity, ZONES, NEAR_CACHE, "a b", [(CACHE, "b")]),
    Case("no cache anywhere", PodAffinity, ZONES, NEAR_CACHE, ""),
    Case("a cache in no zone is in no domain", PodAffinity, ZONES, NEAR_CACHE, "", [(CACHE, "d")]),
    Case("the first of a set that needs itself", PodAffinity, ZONES, NEAR_ITSELF, "a b c"),
    Case("the second one", PodAffinity, ZONES, NEAR_ITSELF, "c", [(NEAR_ITSELF, "c")]),
    Case("both must be there", PodAffinity, ZONES, NEAR_BOTH, "a b", [(CACHE, "a"), (STORE, "b"), (CACHE, "c")]),
    Case("one of both is not enough", PodAffinity, ZONES, NEAR_BOTH, "", [(CACHE, "a")]),
    Case("no pod matches both terms, so it is the first", PodAffinity, ZONES, BOTH, "a b c", [(WEB, "a")]),
    Case("away from the cache; no zone is no harm", PodAntiAffinity, ZONES, AWAY_FROM_CACHE, "c d", [(CACHE, "a")]),
    Case("a cache in no zone rejects no node", PodAntiAffinity, ZONES, AWAY_FROM_CACHE, "a b c d", [(CACHE, "d")]),
    Case("no cache anywhere to avoid", PodAntiAffinity, ZONES, AWAY_FROM_CACHE, "a b c d"),
    Case("one per zone", PodAntiAffinity, ZONES, LONER, "c d", [(LONER, "a")]),
    Case("kept away by what is there", ExistingAntiAffinity, ZONES, WEB, "c d", [(HATES_WEB, "a")]),
    Case("not what it means", ExistingAntiAffinity, ZONES, STORE, "a b c d", [(HATES_WEB, "a")]),
    Case("a preference rejects no node", ExistingAntiAffinity, ZONES, WEB, "a b c d", [(LIKES_WEB, "a")]),
    Case("an empty cluster is even", TopologySpread, ZONES, EVEN, "a b c"),
    Case("the emptier zone", TopologySpread, ZONES, EVEN, "c", [(WEB, "a")]),
    Case("even again", TopologySpread, ZONES, EVEN, "a b c", [(WEB, "a"), (WEB, "c")]),
    Case("a skew of two", TopologySpread, ZONES, LOOSE, "a b c", [(WEB, "a")]),
    Case("other pods do not count", TopologySpread, ZONES, EVEN, "a b c", [(CACHE, "a")]),
    Case("who does not count itself may join the fuller zone", TopologySpread, ZONES, OTHERS, "a b c", [(WEB, "a")]),
    Case("pods in no zone do not count", TopologySpread, ZONES, EVEN, "a b c", [(WEB, "d")]),
    Case("too few domains: the lowest count is 0",
         TopologySpread, ZONES, kind("app=web", spread=(spread("app=web", min_domains=3),)), "",
         [(WEB, "a"), (WEB, "c")]),
    Case("a zone that cannot be chosen is not compared",
         TopologySpread,
         [*zoned("a:x b:y"), machine("c", labels={"zone": "z", "disk": "ssd"})],
         kind("app=web", spread=(spread("app=web"),), node_selector=(("disk", "ssd"),)), "a b c",
         [(WEB, "a")]),
    Case("unless it is to be ignored that it cannot",
         TopologySpread,
         [*zoned("a:x b:y"), machine("c", labels={"zone": "z", "disk": "ssd"})],
         kind("app=web", spread=(spread("app=web", honor_node_affinity=False),), node_selector=(("disk", "ssd"),)),
         "b c", [(WEB, "a")]),
    Case("a tainted zone keeps the lowest count at 0",
         TopologySpread, [*zoned("a:x"), machine("b", labels={"zone": "y"}, taints=(taint("k:NoSchedule"),))],
         EVEN, "b", [(WEB, "a")]),
    Case("unless taints are honoured",
         TopologySpread, [*zoned("a:x"), machine("b", labels={"zone": "y"}, taints=(taint("k:NoSchedule"),))],
         kind("app=web", spread=(spread("app=web", honor_node_taints=True),)), "a b", [(WEB, "a")]),
    Case("nodes without a label of the other constraint are not compared",
         TopologySpread,
         [*zoned("a:x b:y"), *(machine(n, labels={"zone": z, HOST: n}) for n, z in ("cz", "dx"))],
         kind("app=web", spread=(spread("app=web"), spread("app=web", HOST))), "c d",
         [(WEB, "a")]),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.rule.__name__}: {case.title}")
def test_rule_filters_nodes(case: Case) -> None:
    world = World(case.machines, [case.asks], case.placed)
    assert world.admitted(case.rule(), case.asks) == case.filter


WORDS = [
    (Availability, MIXED, WEB, {"node(s) were unschedulable": "b", "node(s) were not ready": "c"}),
    (
        Availability,
        [machine("a", unschedulable=True, ready=False)],
        kind(tolerations=(Toleration("node.kubernetes.io/unschedulable", "Exists"),)),
        {"node(s) were not ready": "a"},
    ),
    (
        NodeAffinity,
        DISKS,
        kind(node_selector=(("disk", "ssd"),)),
        {"node(s) didn't match Pod's node affinity/selector": "b c"},
    ),
    (
        Taints,
        tainted("k=v:NoSchedule", "k=v:NoExecute", "gpu:NoSchedule", ""),
        WEB,
        {"node(s) had untolerated taint {k: v}": "a b", "node(s) had untolerated taint {gpu: }": "c"},
    ),
    (HostPorts, TWO, SERVER, {"node(s) didn't have free ports for the requested pod ports": "a"}),
    (PodAffinity, TWO, NEAR_CACHE, {"node(s) didn't match pod affinity rules": "a b"}),
    (PodAntiAffinity, ZONES, LONER, {"node(s) didn't match pod anti-affinity rules": "a b"}),
    (ExistingAntiAffinity, ZONES, LONER, {"node(s) didn't satisfy existing pods anti-affinity rules": "a b"}),
    (
        TopologySpread,
        ZONES,
        EVEN,
        {
            "node(s) didn't match pod topology spread constraints (missing required label)": "d",
            "node(s) didn't match pod topology spread constraints": "a b",
        },
    ),
]  # fmt: skip


@pytest.mark.parametrize(("rule", "machines", "asks", "words"), WORDS, ids=lambda value: getattr(value, "__name__", ""))
def test_rule_reports_reason(
    rule: type[NodeFilter], machines: Sequence[Machine], asks: Kind, words: dict[str, str]
) -> None:
    world = World(machines, [asks], [(asks, "a")])
    assert world.refusals(rule(), asks) == words


def test_selector_and_affinity_have_different_codes() -> None:
    asks = kind(node_selector=(("disk", "ssd"),), required_node_terms=(labelled(cpu="16"),))
    world = World(DISKS, [asks])
    task_class = world.classes[asks]
    groups = NodeAffinity().refusals(task_class, world.ledger, ~world.mask(NodeAffinity(), asks))
    assert {reason.code.name: rows.tolist() for reason, rows in groups} == {
        "NODE_SELECTOR": [1, 2],
        "NODE_AFFINITY": [0],
    }


TOLERATIONS = [
    ("equal", Toleration("k", "Equal", "v"), "k=v:NoSchedule", True),
    ("another value", Toleration("k", "Equal", "w"), "k=v:NoSchedule", False),
    ("another key", Toleration("l", "Equal", "v"), "k=v:NoSchedule", False),
    ("no operator means equal", Toleration("k", "", "v"), "k=v:NoSchedule", True),
    ("exists", Toleration("k", "Exists"), "k=v:NoSchedule", True),
    ("everything", EVERYTHING, "k=v:NoExecute", True),
    ("everything with one effect", Toleration("", "Exists", "", "NoExecute"), "k=v:NoSchedule", False),
    ("the same effect", Toleration("k", "Exists", "", "NoSchedule"), "k=v:NoSchedule", True),
    ("greater", Toleration("k", "Gt", "5"), "k=6:NoSchedule", True),
    ("not greater", Toleration("k", "Gt", "5"), "k=5:NoSchedule", False),
    ("less", Toleration("k", "Lt", "5"), "k=-4:NoSchedule", True),
    ("not less", Toleration("k", "Lt", "5"), "k=5:NoSchedule", False),
    ("no number", Toleration("k", "Lt", "5"), "k=v:NoSchedule", False),
    ("more than 64 bits", Toleration("k", "Gt", "5"), "k=9223372036854775808:NoSchedule", False),
    ("an unknown operator", Toleration("k", "Like", "5"), "k=5:NoSchedule", False),
]  # fmt: skip


@pytest.mark.parametrize(
    ("title", "toleration", "text", "expected"), TOLERATIONS, ids=[each[0] for each in TOLERATIONS]
)
def test_toleration(title: str, toleration: Toleration, text: str, expected: bool) -> None:
    assert tolerates((toleration,), taint(text)) is expected


SWITCHES = [
    ("predicate__NodeAffinityEnable", [NodeAffinity]),
    ("predicate__TaintTolerationEnable", [Taints]),
    ("predicate__NodePortsEnable", [HostPorts]),
    ("predicate__PodAffinityEnable", [PodAffinity, PodAntiAffinity, ExistingAntiAffinity]),
    ("predicate__PodTopologySpreadEnable", [TopologySpread]),
    ("predicate__NodeVolumeLimitsEnable", [VolumeLimits]),
    ("predicate__VolumeZoneEnable", [VolumeZone]),
    ("predicate__VolumeBindingEnable", [VolumeAffinity, VolumeBinding]),
    ("predicate__DynamicResourceAllocationEnable", [ClaimReach, ClaimedDevices]),
]
ALL_RULES = [
    Availability, NodeAffinity, Taints, VolumeAffinity, VolumeZone, HostPorts, VolumeLimits, VolumeBinding,
    ClaimReach, ClaimedDevices, PodAffinity, PodAntiAffinity, ExistingAntiAffinity, TopologySpread,
]  # fmt: skip


@pytest.mark.parametrize(("switch", "rules"), SWITCHES)
def test_argument_disables_its_rules(switch: str, rules: list[type[NodeFilter]]) -> None:
    assert [type(rule) for rule in build(Predicates).node_filters()] == ALL_RULES
    left = [type(rule) for rule in build(Predicates, **{switch: False}).node_filters()]
    assert left == [rule for rule in ALL_RULES if rule not in rules]


def test_ignored_arguments_are_marked() -> None:
    ignored = {argument.key for argument in Predicates.arguments.declared if argument.ignored}
    assert len(ignored) == 4
    working = [argument.key for argument in Predicates.arguments.declared if argument.key not in ignored]
    assert [key for key in working if not key.endswith("Enable")] == ["volumebinding.bindTimeoutSeconds"]


NAIVE: dict[type[NodeFilter], Callable[[World, Kind], list[bool]]] = {
    PodAffinity: reference_rules.required_affinity,
    PodAntiAffinity: reference_rules.anti_affinity,
    ExistingAntiAffinity: reference_rules.existing_anti_affinity,
    TopologySpread: reference_rules.hard_spread,
}


@examples(300)
@given(world=worlds())
def test_cluster_rules_agree_with_reference(world: World) -> None:
    for rule, naive in NAIVE.items():
        asked = rule()
        for each in world.kinds:
            if asked.applies_to(world.classes[each], world.ledger):
                assert world.mask(asked, each).tolist() == naive(world, each), rule
            else:
                assert all(naive(world, each)), rule


@examples(100)
@given(world=worlds())
def test_cluster_rules_follow_placements_and_undo(world: World) -> None:
    rules, ledger, moved = [rule() for rule in NAIVE], world.ledger, world.kinds[0]

    def masks() -> list[list[bool]]:
        return [world.mask(rule, each).tolist() for rule in rules for each in world.kinds]

    before = masks()
    entry = ledger.place(world.tasks[moved][:1], [0], TaskStatus.ALLOCATED)
    after = World(world.machines, world.kinds, [*world.placed, (moved, world.nodes.names[0])])
    assert masks() == [after.mask(rule(), each).tolist() for rule in NAIVE for each in after.kinds]
    ledger.undo(entry)
    assert masks() == before


@examples(100)
@given(world=worlds())
def test_rules_are_reused_across_cycles(world: World) -> None:
    """What rules keep about classes belongs to one ledger: another cycle must not see it."""
    rules = [rule for rule in build(Predicates).node_filters() if rule.locality is Locality.CLUSTER]
    smaller = World(world.machines[:1], world.kinds)
    smaller.classes = world.classes
    for each in world.kinds:
        for rule in rules:
            assert world.mask(rule, each).tolist() == world.mask(type(rule)(), each).tolist()
            assert smaller.mask(rule, each).tolist() == smaller.mask(type(rule)(), each).tolist()


def test_ports_of_rows_after_more_copies() -> None:
    """A second copy on the same node finds the port of the first."""
    world = World(TWO, [SERVER])
    ledger, task_class = world.ledger, world.classes[SERVER]
    rows = ledger.hypothetical(np.array([0, 0, 1]), np.array([0, 1, 0]), task_class)
    free: Mask = HostPorts().filter(task_class, rows, ledger)
    assert free.tolist() == [True, False, True]
