"""The rules, buckets and scores of task-topology, by hand."""

from __future__ import annotations

from typing import Any

import pytest

from stromboli.core.config.configuration import parse_configuration
from stromboli.core.model.ledger.ledger import Ledger
from stromboli.core.plugins.task_topology.buckets import buckets_of
from stromboli.core.plugins.task_topology.rules import AFFINITY, ANTI_AFFINITY, TASK_ORDER, Rules, rules_of
from stromboli.core.plugins.task_topology.task_buckets import TaskBuckets
from stromboli.core.session.program import Program
from stromboli.planner.virtual_cluster import PlannedCluster
from tests.testing.cases.case import BUILT_IN, PLAIN, flattened, objects
from tests.testing.manifests.builders import Manifest, gang_of, node, nodes, pod

ROLES = ("chief", "ps", "worker")


def rules(near: str = "", apart: str = "", order: str = "") -> Rules:
    return rules_of({AFFINITY: near, ANTI_AFFINITY: apart, TASK_ORDER: order}, ROLES)


# -- rules --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("near", "apart", "expected"),
    [
        ("", "", {}),
        ("ps,worker", "", {"ps": {"worker": 1}, "worker": {"ps": 1}}),
        ("ps", "", {"ps": {"ps": 1}}),
        ("", "ps;worker", {"ps": {"ps": -1}, "worker": {"worker": -1}}),
        ("ps,worker;ps,chief", "ps", {"ps": {"worker": 1, "chief": 1, "ps": -1}, "worker": {"ps": 1},
                                      "chief": {"ps": 1}}),
        ("ps,worker,chief", "ps,chief", {"ps": {"worker": 1}, "worker": {"ps": 1, "chief": 1}, "chief": {"worker": 1}}),
        (";; ps , worker ;", "", {"ps": {"worker": 1}, "worker": {"ps": 1}}),
    ],
)  # fmt: skip
def test_affinity_between_roles(near: str, apart: str, expected: dict[str, dict[str, int]]) -> None:
    stated = rules(near, apart)
    found = {one: {other: n for other in ROLES if (n := stated.attraction(one, other))} for one in ROLES}
    assert {role: others for role, others in found.items() if others} == expected


@pytest.mark.parametrize(
    ("stated", "line"),
    [
        (rules("ps,worker"), ["ps", "worker", "chief"]),
        (rules("ps,worker", "chief"), ["chief", "ps", "worker"]),
        (rules("ps;worker,chief"), ["chief", "worker", "ps"]),
        (rules("ps", "worker,chief"), ["ps", "chief", "worker"]),
        (rules("ps,worker", "chief", "worker,chief"), ["worker", "chief", "ps"]),
        (rules(order="worker"), ["worker", "chief", "ps"]),
    ],
)
def test_role_with_stronger_rules_comes_first_without_explicit_order(stated: Rules, line: list[str]) -> None:
    assert sorted(ROLES, key=stated.rank) == line


@pytest.mark.parametrize("text", ["ps,unknown", "ps,ps", "ps,,worker", ",", "ps;worker,worker", "ps worker"])
@pytest.mark.parametrize("key", [AFFINITY, ANTI_AFFINITY])
def test_invalid_rules_are_reported(key: str, text: str) -> None:
    with pytest.raises(ValueError, match=f"^annotation {key}: .*the role "):
        rules_of({key: text}, ROLES)


# -- buckets ------------------------------------------------------------------------------------------------------


def ledger_of(*world: Manifest | list[Manifest]) -> Ledger:
    program = Program(parse_configuration(PLAIN, BUILT_IN), BUILT_IN)
    return Ledger(PlannedCluster(objects(flattened(world)), program).snapshot())


def crew(members: str) -> list[Manifest]:
    """`ps:2 worker@a`: a server that asks for 2 cpu, and a worker on node a."""
    words = [word.replace("@", ":").split(":") for word in members.split()]
    placed: list[dict[str, Any]] = [
        {"nodeName": word[1]} if len(word) > 1 and word[1].isalpha() else {} for word in words
    ]
    sizes = [word[1] if len(word) > 1 and word[1].isdigit() else 1 for word in words]
    return gang_of(*(pod(size, role=word[0], **place) for word, size, place in zip(words, sizes, placed, strict=True)))


@pytest.mark.parametrize(
    ("stated", "members", "expected"),
    [
        (rules("ps,worker"), "ps worker worker", ["ps-0 worker-1 worker-2"]),
        (rules("ps,worker", "ps"), "ps ps worker worker", ["ps-0 worker-2", "ps-1 worker-3"]),
        (rules("ps,worker", "ps"), "ps:2 ps worker worker", ["ps-0 worker-3", "ps-1 worker-2"]),
        (rules("", "ps"), "ps ps ps", ["ps-0", "ps-1", "ps-2"]),
        (rules("ps"), "worker ps chief", ["ps-1"]),
        (rules("ps,worker"), "ps@b worker@a worker ps", ["worker-1 ps-3", "ps-0 worker-2"]),
        (rules("ps;worker"), "ps@a ps worker", ["ps-0 ps-1 worker-2"]),
        (rules("", "ps,worker"), "ps@a worker@a ps worker", ["ps-0 worker-1", "ps-2", "worker-3"]),
        (rules("", "ps,worker", "worker"), "ps worker", ["worker-1", "ps-0"]),
    ],
)
def test_buckets(stated: Rules, members: str, expected: list[str]) -> None:
    ledger = ledger_of(nodes(8, 2), crew(members))
    buckets = buckets_of(ledger.jobs["default/gang"], stated, ledger)
    assert [" ".join(task.name.removeprefix("gang-") for task in bucket) for bucket in buckets] == expected


# -- scores -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("stated", "members", "asked", "expected"),
    [
        (rules("ps,worker"), "ps worker worker", "ps-0", [100, 200 / 3, 100 / 3]),
        (rules("ps,worker"), "ps:2 worker worker", "ps-0", [200 / 3, 100 / 3, 0]),
        (rules("ps,worker"), "ps:2 worker worker", "worker-1", [200 / 3, 100 / 3, 100 / 3]),
        (rules("ps,worker"), "ps@b worker", "worker-1", [50, 100, 50]),
        (rules("", "ps"), "ps@b ps", "ps-1", [100, 0, 100]),
        (rules("", "ps,worker"), "ps@b ps@b worker", "worker-2", [50, -50, 50]),
        (rules("ps,worker"), "ps:9 worker", "ps-0", [0, 0, 0]),
    ],
)
def test_scores(stated: Rules, members: str, asked: str, expected: list[float]) -> None:
    """Of a there are 3 cpu free, of b 2 and of c 1, beside what the crew has."""
    capacity = {"a": 3, "b": 2 + members.count("@b"), "c": 1}
    ledger = ledger_of([node(name, cpu) for name, cpu in capacity.items()], crew(members))
    job = ledger.jobs["default/gang"]
    task = next(task for task in job.tasks.values() if task.name == f"gang-{asked}")
    scores = TaskBuckets(job, stated, ledger).scores(task, ledger.all_rows)
    assert scores is not None
    assert scores.tolist() == pytest.approx(expected)
