"""Reports of evictions in `plan` and `explain`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.testing.cases.case import configuration, flattened, plugin
from tests.testing.manifests.builders import foreign, gang, group, nodes, pod, priority_class, running
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
    assert "preempt  cpu 1  default/new-task-0  allowed by priority (priority 10 < 100), conformance" in evicted
    assert "not-needed" not in evicted
    assert "1 (not-needed): default/old-task-0: there is enough capacity" in shown(run, "plan", WORLD, "-o", "wide")[1]
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


WHOLE = configuration("priority", "gang", "conformance", "predicates", actions="enqueue, allocate, gangpreempt")
EVICTED = "2 pods evicted by gangpreempt for default/new: priority (priority 10 < 100)"


@pytest.mark.parametrize("cycles", ["1", "2", "3"])
def test_evicted_gang_waits_with_its_preemptor_and_rule(run: Run, cycles: str) -> None:
    world = [
        *nodes(1, 2), *CLASSES, *running("ab", name="old", minimum=2, priority="low"),
        *gang(2, name="new", priority="high"),
    ]  # fmt: skip
    Path("whole.conf").write_text(WHOLE)
    result = run("explain", world, "old", "--conf", "whole.conf", "--cycles", cycles)
    assert f"Preempted (wait): {EVICTED}; 2 pods must be created again" in " ".join(result.stdout.split())
    for missing in ("NoPodsYet", "NotEnoughTasks", "not considered"):
        assert missing not in result.stdout
    planned = json.loads(run("plan", world, "--conf", "whole.conf", "--cycles", cycles, "-o", "json").stdout)
    assert planned["podGroups"]["default/old"]["codes"] == ["Preempted"]


def evicted_group(status: str) -> dict[str, Any]:
    message = "pod default/old-task-1 evicted: preempt in favour of default/new"
    condition = {"type": "Evicted", "status": status, "reason": "preempt", "message": message}
    made: dict[str, Any] = group("old", 2, phase="Inqueue")
    return {**made, "status": {**made["status"], "conditions": [condition]}}


@pytest.mark.parametrize(
    ("status", "pods", "codes"),
    [
        pytest.param("True", [], ["Preempted"], id="pods are gone"),
        pytest.param(
            "True",
            [foreign("a", 2), *gang(2, name="old")[1:]],
            ["Preempted", "InsufficientResource"],
            id="pods are back",
        ),
        pytest.param("False", [], ["NoPodsYet"], id="it was scheduled since"),
    ],
)
def test_condition_of_the_group_names_the_preemptor(
    run: Run, status: str, pods: list[dict[str, Any]], codes: list[str]
) -> None:
    world = [*nodes(2, 1), evicted_group(status), *pods]
    reasons = json.loads(run("explain", world, "old", "-o", "json").stdout)["reasons"]
    assert [reason["code"] for reason in reasons] == codes
    headline = run("explain", world, "old").stdout.splitlines()[0]
    assert (headline == "default/old waits: preempted by default/new.") == (codes[0] == "Preempted")
    assert ("in favour of default/new" in reasons[0]["messages"][0]) == (codes[0] == "Preempted")


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
