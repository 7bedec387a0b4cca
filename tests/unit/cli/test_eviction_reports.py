"""Reports of evictions in `plan` and `explain`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.testing.cases.case import configuration, flattened, plugin
from tests.testing.manifests.builders import gang, nodes, pod, priority_class, running
from tests.unit.cli.conftest import Run

GANG = plugin("gang", enablePreemptable=False)
CONF = configuration("priority", GANG, "conformance", "predicates", actions="enqueue, allocate, preempt")
CLASSES = [priority_class("high", 100), priority_class("low", 10)]
WORLD = [
    nodes(2, 2), CLASSES, running("aa", name="old", priority="low"), running("bb", name="equal", priority="high"),
    gang(1, name="new", priority="high"), gang(1, 5, name="huge", priority="high"),
]  # fmt: skip
LONELY = pod(name="lonely", nodeName="a", priorityClassName="low")
PLAIN = [nodes(1, 1), CLASSES, LONELY, gang(1, name="new", priority="high")]


def shown(run: Run, command: str, manifests: Any, *arguments: str) -> tuple[int, str]:
    Path("scheduler.conf").write_text(CONF)
    result = run(command, list(flattened(manifests)), *arguments, "--conf", "scheduler.conf")
    return result.exit_code, result.stdout


def lines_after(text: str, title: str) -> list[str]:
    """Return the lines of one section."""
    lines = text.split(title, 1)[1].splitlines()[1:]
    return [line.strip() for line in lines[: lines.index("") if "" in lines else len(lines)]]


def test_plan_lists_evictions_and_rules_of_failed_preemptions(run: Run) -> None:
    text = shown(run, "plan", WORLD)[1]
    evicted = next(line for line in text.splitlines() if line.startswith("default/old-task-1 "))
    assert evicted.split("  ")[:1] == ["default/old-task-1"]
    assert "preempt  cpu 1  default/new-task-0  priority (priority 10 < 100), conformance" in evicted
    assert "1 (not-needed): default/old-task-0: there is enough capacity without it" in evicted
    stopped = [line.split()[:4] for line in text.splitlines() if line.startswith("default/huge-task-0 ")]
    assert stopped == [
        ["default/huge-task-0", "preempt", "priority", "2"],
        ["default/huge-task-0", "preempt", "no-node", "2"],
    ]
    assert "1 pod evicted" in text


def test_explained_victim_names_its_preemptor(run: Run) -> None:
    code, text = shown(run, "explain", WORLD, "old")
    assert code == 0
    assert lines_after(text, "Preempted by") == [
        "preempt: default/old-task-1 is evicted from a for default/new; frees cpu 1; default/new-task-0",
        "is nominated to a",
        "allowed by priority (priority 10 < 100), conformance",
        "protected: 1 (not-needed): default/old-task-0: there is enough capacity without it",
        "not on b: not cheaper: 1 pod of priority 100 at least",
    ]


def test_explained_preemptor_names_its_victims(run: Run) -> None:
    code, text = shown(run, "explain", WORLD, "new")
    assert code == 3
    assert lines_after(text, "Preempts")[0] == (
        "preempt: default/old-task-1 is evicted from a for default/new-task-0 on a; frees cpu 1"
    )


def test_failed_preemption_names_the_rules(run: Run) -> None:
    text = shown(run, "explain", WORLD, "huge")[1]
    assert lines_after(text, "Why preemption failed") == [
        "preempt for default/huge-task-0: PreemptionInsufficient",
        "2 (priority): default/equal-task-0, default/equal-task-1: priority 100 is not below 100",
        "2 (no-node): a, b: 0/2 nodes are available: 2 Insufficient cpu.",
    ]


def test_evicted_plain_pod_can_be_explained(run: Run) -> None:
    code, text = shown(run, "explain", PLAIN, "lonely")
    assert code == 0
    assert text.splitlines()[0].endswith("was evicted: 1 pod.")
    assert "preempt: default/lonely is evicted from a for default/new" in text
    report = json.loads(shown(run, "explain", PLAIN, "lonely", "-o", "json")[1])
    assert (report["phase"], report["waiting"], report["evictions"]["lost"][0]["pod"]) == (
        "Evicted", False, "default/lonely",
    )  # fmt: skip


def test_json_has_the_same_evictions(run: Run) -> None:
    report = json.loads(shown(run, "plan", WORLD, "-o", "json")[1])
    assert report["evictionDetails"] == [
        {
            "cycle": 1,
            "pod": "default/old-task-1",
            "job": "default/old",
            "queue": "default",
            "action": "preempt",
            "node": "a",
            "frees": {"cpu": "1"},
            "preemptor": "default/new",
            "preemptorQueue": "default",
            "preemptorPod": "default/new-task-0",
            "preemptorNode": "a",
            "allowedBy": [
                {"plugin": "priority", "justification": "priority 10 < 100", "decisive": True},
                {"plugin": "conformance", "justification": "", "decisive": False},
            ],
            "withGang": False,
            "protected": [
                {
                    "rule": "not-needed",
                    "why": "there is enough capacity without it",
                    "count": 1,
                    "objects": ["default/old-task-0"],
                }
            ],
            "considered": [{"node": "b", "why": "not cheaper: 1 pod of priority 100 at least"}],
            "note": "",
        }
    ]
    assert report["refusedPreemptions"][0]["rules"][1]["rule"] == "no-node"
    assert report["evictions"]["default/old-task-1"] == (
        "preempt: default/new-task-0 is nominated to a; frees cpu 1; "
        "allowed by priority (priority 10 < 100), conformance"
    )
    explained = json.loads(shown(run, "explain", WORLD, "new", "-o", "json")[1])["evictions"]
    assert [account["pod"] for account in explained["gained"]] == ["default/old-task-1"]
    assert (explained["lost"], explained["refused"]) == ([], [])
