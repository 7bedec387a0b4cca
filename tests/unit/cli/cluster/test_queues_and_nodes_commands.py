"""`stromboli queues` and `stromboli nodes`."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.testing.manifests.builders import foreign, gang, node, nodes, queue, running
from tests.unit.cli.conftest import Run

QUEUES: list[Any] = [
    *nodes(10, 1, labels={"disk": "ssd"}),
    queue("science", 3, capability={"cpu": 8}), queue("physics", 1, parent="science"), queue("web", 1),
    *running("aaa", 2, name="sites", minimum=1, queue="web"), *gang(1, 9, name="late", queue="physics"),
]  # fmt: skip


def listed(run: Run, *arguments: str) -> dict[str, dict[str, Any]]:
    return {
        each["queue"]: each for each in json.loads(run("queues", QUEUES, *arguments, "-o", "json").stdout)["queues"]
    }


def test_queues_are_a_tree_below_the_root(run: Run) -> None:
    lines = [line.partition("  ")[0] if line[0] != " " else line[:9] for line in
             run("queues", QUEUES).stdout.splitlines()]  # fmt: skip
    assert lines == ["QUEUE", "default", "science", "  physics", "web"]


def test_queue_has_what_it_uses_deserves_and_borrows(run: Run) -> None:
    queues = listed(run)
    web, science = queues["web"], queues["science"]
    assert web["allocated"]["cpu"] == "6"
    assert int(web["allocated"]["cpu"]) - int(web["deserved"]["cpu"]) == int(web["borrowed"]["cpu"]) > 0
    assert science["capability"] == {"cpu": "8"}
    assert [queues[name]["jobs"] for name in ("web", "physics")] == [
        {"running": 1, "waiting": 0}, {"running": 0, "waiting": 1},
    ]  # fmt: skip


def test_queues_are_chosen_by_name(run: Run) -> None:
    assert list(listed(run, "web", "root")) == ["root", "web"] or list(listed(run, "web", "root")) == ["web", "root"]
    result = run("queues", QUEUES, "wep")
    assert (result.exit_code, result.stdout) == (1, "")
    assert "error: no queue wep; there are default, root, science, physics, web" in result.stderr


def test_queues_are_chosen_by_label(run: Run) -> None:
    labelled = queue("physics", 1, parent="science")
    labelled["metadata"]["labels"] = {"department": "physics"}
    manifests = [*QUEUES[:1], queue("science", 3), labelled]
    result = run("queues", manifests, "-l", "department=physics", "-o", "name")
    assert result.stdout == "queue.scheduling.volcano.sh/physics\n"
    assert "default" in run("queues", manifests, "-l", "!department").stdout


def test_closed_queue_shows_its_state(run: Run) -> None:
    closed = {**queue("old"), "status": {"state": "Closed"}}
    assert "\nold (Closed)  " in run("queues", [*nodes(1, 1), closed]).stdout


@pytest.mark.parametrize("parents", [("a", "a"), ("b", "a"), ("nowhere", "a")])
def test_queues_with_circular_or_missing_parents_are_listed_once(run: Run, parents: tuple[str, str]) -> None:
    circle = [*nodes(1, 1), queue("a", parent=parents[0]), queue("b", parent=parents[1])]
    names = [each["queue"] for each in json.loads(run("queues", circle, "-o", "json").stdout)["queues"]]
    assert sorted(names) == ["a", "b", "default", "root"]


NODES: list[Any] = [
    node("plain", 4), node("gpu", 8, gpu=2, taints=["gpu=true:NoSchedule"], labels={"pool": "gpu"}),
    node("off", 4, cordoned=True), node("gone", 4, ready=False), foreign("plain", 3),
    *gang(2, 2, name="train"),
]  # fmt: skip

TABLE = """\
NODE   STATUS                    FREE CPU  FREE MEMORY  FREE GPUS  PODS  WHY NOT USED
gone   NotReady                       4/4    64Gi/64Gi          -     0  not ready
gpu    Ready                          8/8    64Gi/64Gi        2/2     0  taint gpu=true:NoSchedule
off    Ready,SchedulingDisabled       4/4    64Gi/64Gi          -     0  cordoned
plain  Ready                          1/4    64Gi/64Gi          -     1  insufficient cpu (for default/train)
"""


def test_nodes_have_free_amounts_and_what_keeps_them_unused(run: Run) -> None:
    assert run("nodes", NODES).stdout == TABLE


def test_resources_that_few_pods_request_are_in_wide_tables(run: Run) -> None:
    manifests = [node("a", 4, more={"ephemeral-storage": "1Ti", "hugepages-2Mi": "1Gi", "example.com/fpga": 2})]
    narrow, wide = (run("nodes", manifests, *form).stdout.splitlines()[0] for form in ((), ("-o", "wide")))
    assert "FREE FPGA" in narrow.upper()
    assert "STORAGE" not in narrow
    assert "HUGEPAGES" not in narrow
    assert {"EPHEMERAL-STORAGE", "HUGEPAGES-2MI"} <= set(wide.split())


CHOICES = {
    "names": (("off", "gpu"), ["gpu", "off"]),
    "selector": (("-l", "pool=gpu"), ["gpu"]),
    "neither": ((), ["gone", "gpu", "off", "plain"]),
}


@pytest.mark.parametrize("case", CHOICES)
def test_nodes_are_chosen_by_name_or_label(run: Run, case: str) -> None:
    arguments, names = CHOICES[case]
    assert run("nodes", NODES, *arguments, "-o", "name").stdout.split() == [f"node/{name}" for name in names]


def test_unknown_node_is_an_error(run: Run) -> None:
    result = run("nodes", NODES, "here")
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.endswith("error: no node here\n")


def test_node_has_every_reason_in_json(run: Run) -> None:
    nodes_by_name = {each["node"]: each for each in json.loads(run("nodes", NODES, "-o", "json").stdout)["nodes"]}
    assert nodes_by_name["plain"]["refusals"] == [{"reason": "insufficient cpu", "jobs": ["default/train"]}]
    assert nodes_by_name["gpu"]["resources"]["nvidia.com/gpu"] == {"free": "2", "used": "0", "allocatable": "2"}
