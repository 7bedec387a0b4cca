"""A scheduler with a shard of the nodes: the nodes it ignores, the nodes it prefers, and the protected pods."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from stromboli.cli.commands.ask.plan import plan
from stromboli.cluster.objects.pod_groups.previous_domains import ALLOCATED_HYPERNODE
from tests.testing.cases.case import Case, configuration, plugin
from tests.testing.cases.sharding import OUTSIDE, Sharded, hard, node_shard, soft
from tests.testing.manifests.builders import (
    Facts,
    gang,
    gang_of,
    group,
    node,
    nodes,
    pod,
    pods,
    priority_class,
    queue,
    running,
)
from tests.testing.manifests.hypernodes import AWARE, HARD_RACK, SOFT, block, network

CLASSES = [priority_class("high", 100), priority_class("low", 10)]
PREEMPT = configuration(
    "priority", plugin("gang", enablePreemptable=False), "predicates", actions="enqueue, allocate, preempt"
)
RECLAIM = configuration("gang", "proportion", "predicates", actions="enqueue, allocate, reclaim")
GANG_PREEMPT = configuration("priority", "gang", "predicates", actions="enqueue, allocate, gangpreempt")
CONSOLIDATE = configuration("gang", "predicates", actions="enqueue, allocate, consolidate")
EASY = configuration("gang", "predicates", actions="enqueue, allocate, backfill",
                     arguments={"backfill": {"strategy": "easy"}})  # fmt: skip
LEAVING: Facts = {"cpu": 2, "releasing": True}
HIGH = gang(1, cpu=2, name="high", priority="high")


def low(places: str, **facts: Any) -> object:
    return running(places, cpu=2, name="low", priority="low", **facts)


def lasting(time: str) -> dict[str, str]:
    return {"scheduling.stromboli.dev/run-time": time}


def zoned(cpu: object, **zones: str) -> list[object]:
    """Nodes with a label, or without it where it is empty."""
    return [node(name, cpu, labels={"zone": zone} if zone else None) for name, zone in zones.items()]


HARD = [
    hard("a node of the shard is taken", nodes(2, 2), node_shard("ours", "b"), gang(1, cpu=2), binds="b"),
    hard(
        "no pod is placed outside, and the reason is reported",
        nodes(2, 3), node_shard("ours", "b"), gang(2, cpu=2), binds="--",
        reasons={
            "gang": [
                "the 2 pods that must start together request cpu 4, but the shard has cpu 2",
                f"0/3 nodes are available: 2 {OUTSIDE}, 1 Insufficient cpu.",
            ]
        },
        codes={"gang": ["ExceedsCluster", "OutsideShard"]},
    ),
    hard("a shard without nodes takes no pod", nodes(2, 2), node_shard("ours"), gang(1), binds="-",
         reasons={"gang": [f"0/2 nodes are available: 2 {OUTSIDE}."]}, codes={"gang": ["OutsideShard"]}),
    hard("an empty shard has no nodes", nodes(2, 1), node_shard("ours", None), gang(1), binds="-"),
    hard(
        "what others still use is not ours yet",
        nodes(2, 2), node_shard("ours", "ab"), node_shard("theirs", "", in_use="a"), gang(2, cpu=2, minimum=1),
        binds="b-",
    ),
    hard("what others only desire is ours", nodes(2, 2), node_shard("ours", "ab"), node_shard("theirs", "ab"),
         gang(2, cpu=2), binds="ab"),
    hard("what we use ourselves is ours", nodes(2, 1), node_shard("ours", "a", in_use="a"), gang(1), binds="a"),
    hard("what we use and should not have any more is not ours", nodes(2, 1), node_shard("ours", "", in_use="a"),
         gang(1), binds="-"),
    hard(
        "unknown nodes are reported",
        nodes(2, 1), node_shard("ours", "axy"), gang(1), binds="a",
        warnings=["NodeShard ours: spec.nodesDesired names nodes that do not exist: x, y"],
    ),
    hard(
        "a shard that does not exist has no nodes",
        nodes(2, 1), node_shard("theirs", "a"), gang(1), binds="-",
        warnings=["NodeShard ours does not exist, so no node is in the shard; there are: theirs"],
    ),
    hard("pods without a request stay inside as well", nodes(2, 2), node_shard("ours", "b"),
         gang_of(pod(None), pod(None)), binds="bb"),
    hard("capacity outside is not waited for", nodes(2, 2), node_shard("ours", "b"), running("a", **LEAVING),
         running("b", cpu=2, name="busy"), gang(1, cpu=2), binds="-"),
    hard("capacity inside is", nodes(2, 2), node_shard("ours", "b"), running("b", **LEAVING), gang(1, cpu=2),
         binds="B"),
    hard("a nomination outside counts for nothing", nodes(2, 2), node_shard("ours", "b"),
         gang(1, cpu=2, nominated="a"), binds="b"),
    hard("pods outside count for their queue", nodes(2, 2), queue("small", capability={"cpu": 2}),
         node_shard("ours", "b"), running("a", cpu=2, queue="small"), gang(1, queue="small"),
         conf=configuration("gang", "proportion", "predicates"), binds="-"),
]  # fmt: skip

TAKING = [
    hard("a victim inside is evicted", CLASSES, nodes(2, 1), node_shard("ours", "a"), low("a"), HIGH, conf=PREEMPT,
         evicts=["low-task-0"], binds="A"),
    hard("a victim outside stays", CLASSES, nodes(2, 2), node_shard("ours", "a"), running("a", cpu=2, priority="high"),
         low("b"), HIGH, conf=PREEMPT, binds="-"),
    hard("a gang with a member outside is not broken for us", CLASSES, nodes(2, 2), node_shard("ours", "a"),
         low("ab", minimum=2), HIGH, conf=PREEMPT, binds="-"),
    hard("nor evicted whole", CLASSES, nodes(2, 2), node_shard("ours", "a"), low("ab", minimum=2), HIGH,
         conf=GANG_PREEMPT, binds="-"),
    hard("a queue gets nothing back from outside", nodes(2, 2), queue("rich"), queue("poor"), node_shard("ours", "a"),
         running("ab", cpu=2, queue="rich", minimum=1), gang(1, cpu=2, queue="poor"), conf=RECLAIM,
         evicts=["old-task-0"], binds="A"),
    hard("no pod is moved into another shard", node("a", 3), node("b", 2), node("c", 2), node_shard("ours", "ab"),
         running("a", cpu=1, name="one"), running("b", cpu=1, name="two"), gang(1, cpu=3), conf=CONSOLIDATE,
         evicts=["one-task-0"], binds="A"),
    hard("no pod is moved away from another shard", node("a", 2), node("b", 3), node_shard("ours", "a"),
         running("b", cpu=1, name="two"), gang(1, cpu=3), conf=CONSOLIDATE, binds="-"),
]  # fmt: skip

GRADIENTS = [
    soft("a node of the shard comes first, whatever the scores", nodes(2, 2), node_shard("ours", "b"),
         gang(1, cpu=2), binds="b"),
    soft("then those outside", nodes(2, 3), node_shard("ours", "b"), gang(3, cpu=2), binds="bac"),
    soft("many at once are placed the same way", nodes(4, 3), node_shard("ours", "c"), gang(10), binds="ccccaaaabb"),
    soft("an idle node outside comes before one inside that will be free", nodes(2, 2), node_shard("ours", "b"),
         running("b", **LEAVING), gang(1, cpu=2), binds="a"),
    soft("a node inside that will be free comes before one outside that will be", nodes(2, 2), node_shard("ours", "b"),
         running("ab", **LEAVING), gang(1, cpu=2), binds="B"),
    soft("at last a node outside that will be free", nodes(2, 2), node_shard("ours", "b"), running("a", **LEAVING),
         running("b", cpu=2, name="busy"), gang(1, cpu=2), binds="A"),
    soft("all four after one another", nodes(2, 4), node_shard("ours", "cd"), running("bd", **LEAVING), gang(4, cpu=2),
         conf=configuration("predicates"), binds="caDB"),
    soft("pods without a request are placed inside", nodes(2, 2), node_shard("ours", "b"), gang_of(pod(None)),
         binds="b"),
    soft("and outside where the inside will not have them", node("a"), node("b", taints=["x=y:NoSchedule"]),
         node_shard("ours", "b"), gang_of(pod(None)), binds="a"),
    soft("an empty shard does not block", nodes(2, 1), node_shard("ours"), gang(1), binds="a"),
    soft("what others use is outside", nodes(2, 2), node_shard("ours", "ab"), node_shard("theirs", "", in_use="a"),
         gang(2, cpu=2), binds="ba"),
    soft("cluster-wide filters are evaluated inside first", nodes(4, 2), node_shard("ours", "b"),
         gang_of(pod(1, labels={"app": "x"}, topologySpreadConstraints=[{
             "maxSkew": 1, "topologyKey": "kubernetes.io/hostname", "whenUnsatisfiable": "ScheduleAnyway",
             "labelSelector": {"matchLabels": {"app": "x"}}}])),
         conf=configuration("gang", "predicates", "nodeorder"), binds="b"),
    soft("a victim inside is evicted before a cheaper one outside", CLASSES, priority_class("middle", 50), nodes(2, 2),
         node_shard("ours", "b"), low("a"), running("b", cpu=2, name="middle", priority="middle"), HIGH, conf=PREEMPT,
         evicts=["middle-task-0"], binds="B"),
    soft("without a victim inside, one outside is evicted", CLASSES, nodes(2, 2), node_shard("ours", "b"), low("a"),
         running("b", cpu=2, name="equal", priority="high"), HIGH, conf=PREEMPT, evicts=["low-task-0"], binds="A"),
    soft("nothing is evicted while there is capacity outside", CLASSES, nodes(2, 2), node_shard("ours", "b"), low("b"),
         HIGH,
         conf=PREEMPT, binds="a"),
]  # fmt: skip

DOMAINS = [
    hard("a domain counts with the nodes of the shard", network(2, "abc", "de"), node_shard("ours", "ade"),
         gang(2, cpu=2, topology=HARD_RACK), conf=AWARE, binds="de"),
    hard("a domain without enough nodes of the shard is rejected", network(2, "ab", "cd"), node_shard("ours", "ac"),
         gang(2, cpu=2, topology=HARD_RACK), conf=AWARE, binds="--", reasons={"gang": [
             "no domain fits the 2 pods it needs: the 2 domains of tier 1 hold 1 of them at most; not counting 2 "
             "nodes outside of this scheduler's shard"]}),
    soft("inside a domain the nodes of the shard come first", network(2, "abc"), node_shard("ours", "bc"),
         gang(2, cpu=2, topology=HARD_RACK), conf=AWARE, binds="bc"),
    soft("a domain may be filled up with others'", network(2, "ab", "cd"), node_shard("ours", "b"),
         gang(2, cpu=2, topology=HARD_RACK), conf=AWARE, binds="ba"),
    soft("of two domains the one of the shard is taken", network(2, "ab", "cd"), node_shard("ours", "cd"),
         gang(2, cpu=2, topology=HARD_RACK), conf=AWARE, binds="cd"),
    soft("before a fuller one that needs others", network(4, "ab", "cd"), node_shard("ours", "bcd"), running("ab", 2),
         gang(2, cpu=2, topology=HARD_RACK), conf=AWARE, binds="cc"),
    soft("a closer domain with other nodes comes before a wider one of the shard", [*network(2, "abc", "de", "fg"),
         block("block", 2, "rack-1", "rack-2")], node_shard("ours", "defg"),
         gang(3, cpu=2, topology=SOFT), conf=AWARE, binds="abc"),
    soft("own capacity that is being released comes after capacity of others", network(2, "ab", "cd"),
         node_shard("ours", "cd"), running("c", 2, releasing=True), gang(2, cpu=2, topology=HARD_RACK), conf=AWARE,
         binds="ab"),
    soft("a previous domain outside is not kept where the shard suffices", network(2, "ab", "cd"),
         node_shard("ours", "ab"),
         gang(2, cpu=2, topology=HARD_RACK, notes={ALLOCATED_HYPERNODE: "rack-1"}), conf=AWARE, binds="ab"),
    soft("it is where ours will not", network(2, "ab", "cd", "ef"), node_shard("ours", "ab"), running("a"),
         gang(2, cpu=2, topology=HARD_RACK, notes={ALLOCATED_HYPERNODE: "rack-2"}), conf=AWARE, binds="ef"),
    soft("a previous domain inside is kept", network(2, "ab", "cd", "ef"), node_shard("ours", "abef"),
         gang(2, cpu=2, topology=HARD_RACK, notes={ALLOCATED_HYPERNODE: "rack-2"}), conf=AWARE, binds="ef"),
    soft("each sub-group is placed where the nodes of the shard suffice", network(2, "ab", "cd", "ef"),
         node_shard("ours", "cdef"),
         gang_of(*(pod(2, labels={"part": part}) for part in "xxyy"), policies=[{"name": "p", "subGroupSize": 2,
         "matchLabelKeys": ["part"], "networkTopology": HARD_RACK}]), conf=AWARE, binds="cdef"),
    soft("a soft constraint too", network(2, "abc"), node_shard("ours", "c"), gang(1, cpu=2, topology=SOFT), conf=AWARE,
         binds="c"),
]  # fmt: skip

BY_LABELS = [
    hard("nodes with a label", zoned(2, a="east", b="west"), gang(1, cpu=2), selector="zone=west", shard="", binds="b"),
    hard("nodes without it", zoned(2, a="east", b=""), gang(1, cpu=2), selector="zone=", shard="", binds="b"),
    hard("one of several values", zoned(2, a="north", b="west", c="east"), gang(2, cpu=2),
         selector="zone in (west, east)", shard="", binds="bc"),
    hard("all but one", zoned(2, a="north", b="west"), gang(1, cpu=2), selector="zone!=north", shard="", binds="b"),
    hard("two conditions", node("a", labels={"zone": "west"}), node("b", labels={"zone": "west", "gpu": "yes"}),
         gang(1), selector="zone=west, gpu", shard="", binds="b"),
    hard("in use by others is in use", zoned(2, a="west", b="west"), node_shard("theirs", "", in_use="a"),
         gang(1, cpu=2), selector="zone=west", shard="", binds="b"),
    soft("labels can be a preference as well", zoned(2, a="east", b="west"), gang(2, cpu=2), selector="zone=west",
         shard="",
         binds="ba"),
    hard(
        "listed names take precedence over labels",
        zoned(2, a="east", b="west"), node_shard("ours", "a"), gang(1, cpu=2), selector="zone=west", binds="a",
        warnings=["NodeShard ours: spec.nodesDesired and the label selector both select nodes; the selector is "
                  "ignored"],
    ),
]  # fmt: skip

RESERVED = [
    hard("a reservation is made inside, and a job that ends before it fills the gap", node("a", 8), node("b", 3),
         node_shard("ours", "b"), running("b", cpu=2, annotations=lasting("1h")), gang(1, cpu=3, name="first"),
         gang(1, name="short", annotations=lasting("1m")), gang(1, name="long", annotations=lasting("2h")),
         conf=EASY, binds="- b -"),
]  # fmt: skip


@pytest.mark.parametrize("case", [*HARD, *TAKING, *GRADIENTS, *DOMAINS, *BY_LABELS, *RESERVED], ids=str)
def test_shards(case: Sharded) -> None:
    case.check()


@pytest.mark.parametrize("case", [*HARD, *GRADIENTS], ids=str)
def test_order_of_objects_does_not_matter(case: Sharded) -> None:
    assert case.binds(case.backwards().plan()) == case.binds(case.plan())


def test_shards_without_mode_have_no_effect() -> None:
    Case("no mode", nodes(2, 1), node_shard("ours", ""), gang(1), binds="a").check()


# -- through the command ----------------------------------------------------------------------------------------------

WRONG = [
    (["--scheduler-sharding-mode", "hard"], "needs a shard: add --scheduler-sharding-name"),
    (["--shard-selector", "zone=a"], "--shard-selector needs a mode"),
    (["--scheduler-sharding-mode", "half"], "'half' is not one of"),
    (["--scheduler-sharding-mode", "soft", "--shard-selector", "zone=a,,b"], "'' is not one of KEY=VALUE"),
    (["--scheduler-sharding-mode", "soft", "--shard-selector", "zone in a"], "'zone in a' is not one of KEY=VALUE"),
]


def _run(tmp_path: Path, *options: str) -> object:
    manifests = [*nodes(2, 2), node_shard("west", "b"), group("g", 1), *pods(1, name="p")]
    (tmp_path / "cluster.yaml").write_text(yaml.safe_dump_all(manifests), encoding="utf-8")
    return CliRunner().invoke(plan, ["-f", str(tmp_path / "cluster.yaml"), *options])


@pytest.mark.parametrize(("options", "words"), WRONG, ids=[" ".join(options) for options, _ in WRONG])
def test_invalid_options_are_rejected(tmp_path: Path, options: list[str], words: str) -> None:
    result = _run(tmp_path, *options)
    assert result.exit_code == 2, result.output  # type: ignore[attr-defined]
    assert words in " ".join(result.output.split())  # type: ignore[attr-defined]


def test_command_takes_shard_by_name(tmp_path: Path) -> None:
    result = _run(tmp_path, "--scheduler-sharding-mode", "hard", "--scheduler-sharding-name", "west", "-o", "json")
    assert '"default/p": "b"' in result.output  # type: ignore[attr-defined]


def test_shard_name_without_mode_has_no_effect_and_a_warning(tmp_path: Path) -> None:
    result = _run(tmp_path, "--scheduler-sharding-name", "west")
    assert "--scheduler-sharding-name has no effect" in result.output  # type: ignore[attr-defined]
