"""`stromboli priority` and `stromboli score`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.testing.manifests.builders import gang, node, nodes, priority_class, queue, running
from tests.unit.cli.conftest import Run

DATE = "2026-01-01T{:02d}:00:00Z"
NOW = ("--now", DATE.format(12))
JOBS: list[Any] = [
    *nodes(4, 2), priority_class("urgent", 1000), queue("research"),
    *running("a", 2, name="partly", minimum=2, created=DATE.format(9)),
    *gang(2, 1, name="old", created=DATE.format(1)), *gang(2, 1, name="new", created=DATE.format(11)),
    *gang(1, 1, name="first", priority="urgent", created=DATE.format(11)),
    *gang(1, 1, name="elsewhere", queue="research"),
]  # fmt: skip

ORDER = """\
POSITION  JOB            PRIORITY  GANG  DRF  AGE
       1  default/first     -1000     1    0  60m
      *2  default/old           0     1    0  11h
       3  default/new           0     1    0  60m

Queues with waiting jobs, in the order in which they are served
POSITION  QUEUE     PROPORTION
       1  research        0, 0
      *2  default    0, 0.2857
"""


def test_order_of_a_queue_has_the_keys_of_every_plugin(run: Run) -> None:
    assert run("priority", JOBS, "old", *NOW).stdout == ORDER


def test_order_in_json_has_keys_as_numbers(run: Run) -> None:
    data = json.loads(run("priority", JOBS, "old", *NOW, "-o", "json").stdout)
    assert data["plugins"] == ["priority", "gang", "drf"]
    assert data["jobs"][0]["keys"] == {"priority": -1000, "gang": 1, "drf": 0.0}
    assert [each["name"] for each in data["queues"]] == ["research", "default"]


def test_keys_without_end_are_texts_in_json(run: Run, tmp_path: Path) -> None:
    (tmp_path / "policy.conf").write_text('actions: "allocate"\ntiers: [{plugins: [{name: sla}]}]\n')
    data = json.loads(run("priority", JOBS, "old", "--conf", "policy.conf", "-o", "json").stdout)
    assert data["jobs"][0]["keys"] == {"sla": "inf"}


def test_job_without_waiting_pods_has_no_place(run: Run) -> None:
    result = run("priority", [*nodes(4, 1), *running("a", 2, name="done", minimum=1)], "done")
    assert (result.exit_code, result.stdout) == (1, "")
    assert "error: job done has no waiting pods, so it has no place in queue default" in result.stderr


CLUSTER: list[Any] = [
    node("empty", 4), node("half", 4), node("full", 4), node("tainted", 4, taints=["gpu=true:NoSchedule"]),
    *gang(1, 2, name="h", nodeName="half"), *gang(1, 4, name="f", nodeName="full"), *gang(2, 1, name="train"),
]  # fmt: skip


def scores(run: Run, *arguments: str, cluster: list[Any] = CLUSTER) -> dict[str, Any]:
    [only] = json.loads(run("score", cluster, *arguments, "-o", "json").stdout)["classes"]
    return dict(only)


def test_nodes_are_side_by_side_with_the_points_of_every_scorer(run: Run) -> None:
    text = run("score", CLUSTER, "train").stdout.splitlines()
    assert text[0] == "default/train-task-0 and 1 pod like it, requesting cpu 1: empty is the best node"
    assert text[1].split() == ["SCORER", "empty", "half"]
    assert text[2].split()[0] == "nodeorder/least-requested"
    assert [line.split()[0] for line in text].index("TOTAL") < [line.split()[0] for line in text].index("REJECTED")
    assert {tuple(line.split(maxsplit=1)) for line in text[-2:]} == {
        ("full", "Insufficient cpu"),
        ("tainted", "node(s) had untolerated taint {gpu: true}"),
    }


def test_points_of_all_scorers_add_up_to_the_total_that_decides(run: Run) -> None:
    found = scores(run, "train")
    for each in found["candidates"]:
        assert sum(each["points"].values()) == pytest.approx(each["total"], abs=0.01)
    assert found["candidates"][0]["node"] == found["chosen"] == "empty"


def test_running_job_is_scored_as_if_it_waited(run: Run) -> None:
    found = scores(run, "f")
    assert (found["chosen"], [each["node"] for each in found["candidates"]]) == ("empty", ["empty", "full"])


def test_named_node_is_shown_in_any_case(run: Run) -> None:
    many = [node(f"n{number}", 4) for number in range(9)]
    lines = run("score", [*many, *gang(1, 1, name="train")], "train", "n8").stdout.splitlines()
    assert lines[1].split() == ["SCORER", "n0", "n1", "n2", "n3", "n4", "n8"]
    assert lines[-1] == "and 3 more feasible nodes"


def test_job_that_fits_nowhere_has_reasons_only(run: Run) -> None:
    result = run("score", [*nodes(4, 2), *gang(1, 9, name="big")], "big")
    assert result.stdout.splitlines()[0].endswith(": no node is feasible")
    assert result.stdout.splitlines()[-1].split(maxsplit=2) == ["a,", "b", "Insufficient cpu"]


ERRORS = {
    "unknown node": (("train", "here"), "error: no node here\n"),
    "unknown job": (("trian",), "error: no job is called trian; did you mean default/train?\n"),
    "job of another namespace": (
        ("train", "-n", "team-a"),
        "error: no job is called train in namespace team-a; did you mean default/train?\n",
    ),
}


@pytest.mark.parametrize("case", ERRORS)
def test_unknown_names_are_errors(run: Run, case: str) -> None:
    arguments, message = ERRORS[case]
    result = run("score", CLUSTER, *arguments)
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.endswith(message)
