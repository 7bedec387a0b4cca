"""No more pods are evicted than their disruption budgets allow."""

from __future__ import annotations

from typing import Any

import pytest

from tests.testing.cases.case import Case, configuration, plugin
from tests.testing.cases.probe_actions import PROBE_ACTIONS
from tests.testing.manifests.builders import budget, gang, nodes, priority_class, queue, running

PREEMPT, RECLAIM = "evict-preemptable", "evict-reclaimable"
FOR_PREEMPT, FOR_RECLAIM = "evict-for-preemption", "evict-for-reclaim"
WEB, DATABASE = {"app": "web"}, {"app": "database"}
PREEMPTOR = gang(1, name="preemptor", priority="high")


def spending(
    name: str, *world: Any, evicts: str = "", by: tuple[Any, ...] = ("pdb",), of: str = PREEMPT, **more: Any
) -> Case:
    """Victims when the action `of` evaluates the plugins `by`; a pod of `web` is `web-task-0`, and so on."""
    names = [f"{word.rstrip('0123456789')}-task-{word.lstrip('abcdefghijklmnopqrstuvwxyz')}" for word in evicts.split()]
    return Case(
        name, priority_class("high", 9), nodes(2, 4), world, PREEMPTOR, conf=configuration(*by, actions=of),
        evicts=names, binds="-", extensions=PROBE_ACTIONS, **more,
    )  # fmt: skip


THREE = running("abc", name="web", labels=WEB)
OTHER = running("d", name="other", labels=DATABASE)

CASES = [
    spending("a pod without a budget may be evicted", THREE, evicts="web0 web1 web2"),
    spending("nothing is evicted when no budget allows it", THREE, budget("b", 0, WEB)),
    spending("as many as the budget allows", THREE, budget("b", 2, WEB), evicts="web0 web1"),
    spending("all of them", THREE, budget("b", 3, WEB), evicts="web0 web1 web2"),
    spending("more than there are", THREE, budget("b", 9, WEB), evicts="web0 web1 web2"),
    spending("others are not concerned", THREE, OTHER, budget("b", 0, WEB), evicts="other0"),
    spending("each budget by itself", THREE, OTHER, budget("b", 1, WEB), budget("c", 0, DATABASE), evicts="web0"),
    spending("two budgets over the same pods: the API server evicts none of them", THREE, budget("b", 2, WEB),
             budget("c", 1, WEB)),
    spending("pods without labels have no budget", running("a"), budget("b", 0, WEB), evicts="old0"),
    spending("a budget in another namespace", running("a", name="web", labels=WEB, namespace="elsewhere"),
             budget("b", 0, WEB), evicts="web0"),
    spending("overdrawn is nothing left", THREE, budget("b", -1, WEB)),
    spending("without a status the pods are counted: by what must stay", THREE,
             budget("b", None, WEB, spec={"minAvailable": 2}),
             evicts="web0"),
    spending("or by maxUnavailable", THREE, budget("b", None, WEB, spec={"maxUnavailable": 2}), evicts="web0 web1"),
    spending("in per cent", THREE, budget("b", None, WEB, spec={"minAvailable": "34%"}), evicts="web0"),
    spending("for reclaim", THREE, budget("b", 1, WEB), of=RECLAIM, evicts="web0"),
    spending("for a whole job", THREE, budget("b", 1, WEB), of=FOR_PREEMPT, evicts="web0"),
    spending("for a whole job of another queue", THREE, budget("b", 1, WEB), of=FOR_RECLAIM, evicts="web0"),
    spending("beside others", THREE, budget("b", 2, WEB), by=("priority", "pdb"), evicts="web0 web1"),
    spending("in a tier below", THREE, budget("b", 2, WEB), by=(["priority"], ["pdb"]), evicts="web0 web1"),
    spending("in a tier above", THREE, OTHER, running("d", name="equal", priority="high"), budget("b", 0, WEB),
             by=(["pdb"], ["priority"]), evicts="other0"),
    spending("the switch of preemption", THREE, budget("b", 0, WEB), evicts="web0 web1 web2",
             by=(["priority"], [plugin("pdb", enablePreemptable=False)])),
    spending("shuffle without victims evicts nothing", THREE, budget("b", 1, WEB), of="evict-victims"),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=str)
def test_pdb(case: Case) -> None:
    case.check()


FULL = [nodes(1, 3), priority_class("high", 9)]
CLAIMANTS = [gang(1, name=f"preemptor{number}", priority="high") for number in range(2)]
CONF = configuration(["priority", "gang", "pdb"], ["predicates"], actions="enqueue, allocate, preempt")

ACTIONS = [
    Case("a budget is spent once for all preemptors", FULL, THREE, budget("b", 1, WEB), CLAIMANTS, conf=CONF,
         evicts=["web-task-2"], binds="C-"),
    Case("a pod without a budget is evicted instead", FULL, running("ab", name="web", labels=WEB),
         running("c", name="other"),
         budget("b", 0, WEB), CLAIMANTS[:1], conf=CONF, evicts=["other-task-0"], binds="C"),
    Case("queues get back what budgets allow", nodes(1, 3), queue("poor"), queue("rich"),
         running("abc", name="web", labels=WEB, queue="rich"), budget("b", 0, WEB), gang(1, queue="poor"),
         conf=configuration(["gang", "pdb"], ["proportion", "predicates"], actions="enqueue, allocate, reclaim"),
         binds="-"),
]  # fmt: skip


@pytest.mark.parametrize("case", ACTIONS, ids=str)
def test_pdb_in_preemption(case: Case) -> None:
    case.check()
