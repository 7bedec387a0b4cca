"""Native groups whose pods must share one value of a node label."""

from __future__ import annotations

from typing import Any

import pytest

from stromboli.cluster.objects.pod_groups.previous_domains import PLACED
from tests.testing.cases.case import Case, configuration
from tests.testing.manifests.builders import Manifest, manifest, node, nodes, pod, priority_class, running
from tests.testing.manifests.hypernodes import close
from tests.testing.manifests.topology_levels import BLOCK, RACK, WORLD, at, in_racks

KEY = "default/scheduling.k8s.io:train"
RACKS = in_racks(2, "ab cd", "ef gh")


def train(
    count: int, *labels: str, minimum: int | None = None, places: str = "", name: str = "train", **facts: Any
) -> list[Manifest]:
    """Pods of a native group: some on nodes, and a number of pending ones."""
    policy = {"basic": {}} if minimum == 0 else {"gang": {"minCount": minimum or count + len(places)}}
    constraints = {"topology": [{"key": label} for label in labels]} if labels else None
    priority, status = facts.get("priority"), facts.get("status")
    spec = {"schedulingPolicy": policy, "schedulingConstraints": constraints, "priorityClassName": priority}
    spec = {field: value for field, value in spec.items() if value is not None}
    group = manifest("PodGroup", name, "scheduling.k8s.io/v1beta1", "default", spec=spec, status=status)
    member = {"schedulingGroup": {"podGroupName": name}, **({"priorityClassName": priority} if priority else {})}
    here = [pod(2, name=f"{name}-at-{place}", nodeName=place, **member) for place in places]
    waiting = [pod(2, name=f"{name}-{number}", **member) for number in range(count)]
    for each in (*here, *waiting):
        each["metadata"]["uid"] = each["metadata"]["name"]
    return [group, *here, *waiting]


def was_in(domain: str, status: str = "True") -> Manifest:
    return {"conditions": [{"type": PLACED, "status": status, "reason": "InDomain", "message": domain}]}


CASES = [
    close("a gang stays where the label has one value", in_racks(2, "ab cd"), train(2, RACK), binds="ab"),
    close("no value is that of enough nodes", in_racks(2, "ab cd"), train(3, RACK), binds="---",
          reasons={KEY: ["no domain fits the 3 pods it needs: the 2 domains of tier 1 hold 2 of them at most"]}),
    close("the value alone counts: racks of one name in two blocks are one", RACKS, train(4, RACK), binds="abef"),
    close("two labels: both values count", RACKS, train(3, BLOCK, RACK), binds="---"),
    close("two labels that agree", RACKS, running("ace", 2), train(2, BLOCK, RACK), binds="gh"),
    close("a label that is named twice is one", in_racks(2, "ab cd"), train(2, RACK, RACK), binds="ab"),
    close("among values with capacity the fullest is taken", in_racks(4, "ab cd"), running("c", 2), train(2, RACK),
          binds="cd"),
    close("a node without the label is not in it", in_racks(2, "a"), node("z", 2), train(2, RACK), binds="--"),
    close("nor is one with an empty value", [node(x, 2, labels=at(rack="")) for x in "ab"], in_racks(2, "cd"),
          train(2, RACK), binds="cd"),
    close("no node has the label", nodes(2, 2), train(1, RACK), binds="-",
          reasons={KEY: ["no domain fits the 1 pod it needs: no node is in any domain; tiers above 1 are not "
                         "allowed"]}),
    close("new pods join the others", in_racks(2, "ab cd"), train(1, RACK, places="c"), binds="d"),
    close("and wait when there is no capacity beside them", in_racks(2, "ab cd"), running("d", 2),
          train(1, RACK, places="c"), binds="-"),
    close("the previous domain is tried first", in_racks(2, "ab cd"), train(2, RACK, status=was_in("r1")),
          binds="cd"),
    close("not a previous domain that no longer exists", in_racks(2, "ab cd"),
          train(2, RACK, status=was_in("r1", "False")),
          binds="ab"),
    close("a value that no node has any more is forgotten", in_racks(2, "ab cd"),
          train(2, RACK, status=was_in("r7")), binds="ab",
          warnings=[f"PodGroup {KEY}: previous domain 'r7' no longer exists; it is dropped"]),
    close("every pod for itself, but all in one rack", in_racks(2, "ab cde"), train(3, RACK, minimum=0),
          binds="cde"),
    close("a Topology has no effect on other groups", WORLD, train(4, RACK), binds="abef"),
    close("each group has its own label", RACKS, train(4, BLOCK, name="wide"), train(2, RACK, name="near"),
          binds="efgh ab"),
    close("others are placed anywhere", in_racks(2, "ab cd"), train(3), binds="abc",
          conf=configuration("gang", "predicates", {"name": "network-topology-aware",
                             "arguments": {"hypernode.binpack.normal-pod.enable": False}})),
    close("victims are selected in one rack", in_racks(2, "ab cd"), priority_class("high", 100),
          priority_class("low", 10),
          running("abcd", 2, priority="low"), train(2, RACK, priority="high"), binds="BA",
          evicts=["old-task-0", "old-task-1"],
          conf=configuration("priority", {"name": "gang", "enablePreemptable": False}, "predicates",
                             "network-topology-aware", actions="enqueue, allocate, preempt")),
    close("without a plugin for domains the group is held with a reason", in_racks(2, "ab"), train(2, RACK),
          binds="--", conf=configuration("gang", "predicates"), codes={KEY: ["UnknownTier"]},
          reasons={KEY: [f"pods cannot be kept within one {RACK}: no configured plugin supports network domains; add "
                         "network-topology-aware to the configuration"]}),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=str)
def test_native_constraints(case: Case) -> None:
    case.check()


@pytest.mark.parametrize("case", CASES, ids=str)
def test_order_of_objects_does_not_matter(case: Case) -> None:
    turned = case.backwards()
    assert turned.binds(turned.plan())[::-1] == case.binds(case.plan())
