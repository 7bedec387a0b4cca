"""Roles of a job with affinity are placed together; roles with anti-affinity are not."""

from __future__ import annotations

from typing import Any

import pytest

from tests.testing.cases.case import Case, configuration, plugin
from tests.testing.manifests.builders import (
    Facts,
    Manifest,
    foreign,
    gang,
    gang_of,
    node,
    nodes,
    pod,
    priority_class,
    running,
)

AFFINITY = "volcano.sh/task-topology-affinity"
ANTI_AFFINITY = "volcano.sh/task-topology-anti-affinity"
TASK_ORDER = "volcano.sh/task-topology-task-order"

CONF = configuration("gang", "predicates", "task-topology")
#: Empty nodes are better: without affinities every pod is placed on another node.
SPREADING = configuration("gang", "predicates", "nodeorder", plugin("task-topology", {"task-topology.weight": 10}))
WITHOUT = configuration("gang", "predicates", "nodeorder")


def crew(
    members: str, cpu: object = 1, *, near: str = "", apart: str = "", order: str = "", **facts: Any
) -> list[Manifest]:
    """`ps ps worker@a` are two pods that wait and one that runs on node a; `ps:2` requests 2 cpu."""
    pods = []
    for word in members.split():
        role, _, place = word.partition("@")
        role, _, own = role.partition(":")
        where: Facts = {"nodeName": place} if place else {}
        pods.append(pod(own or cpu, role=role, **where))
    notes = {key: text for key, text in ((AFFINITY, near), (ANTI_AFFINITY, apart), (TASK_ORDER, order)) if text}
    return gang_of(*pods, notes=notes, **facts)


def unknown(key: str, role: str, roles: str = "'ps', 'worker'") -> str:
    reported = f"annotation {key}: no pod of the job has the role {role!r}; its roles are {roles}"
    return f"PodGroup default/gang: {reported}; its task topology is ignored"


def twice(key: str, role: str) -> str:
    reported = f"annotation {key}: the role {role!r} is named twice in a group; name it once"
    return f"PodGroup default/gang: {reported}; its task topology is ignored"


TOGETHER = [
    Case("without rules pods are spread", nodes(8, 3), crew("ps worker worker"), conf=SPREADING, binds="abc"),
    Case(
        "roles that belong together share a node", nodes(8, 3), crew("ps worker worker", near="ps,worker"),
        conf=SPREADING, binds="aaa",
    ),
    Case(
        "only where it is configured", nodes(8, 3), crew("ps worker worker", near="ps,worker"), conf=WITHOUT,
        binds="abc",
    ),
    Case("a role that belongs to itself", nodes(8, 3), crew("ps ps ps", near="ps"), conf=SPREADING, binds="aaa"),
    Case(
        "two groups of roles, two nodes", nodes(4, 3),
        crew("ps worker chief judge ps worker", near="ps,worker;chief,judge", apart="ps,chief"), conf=SPREADING,
        binds="aabbaa",
    ),
    Case(
        "the node on which most of them fit", node("a", 1), node("b", 3), node("c", 2),
        crew("ps worker worker", near="ps,worker"), conf=CONF, binds="bbb",
    ),
    Case(
        "as many as fit, and the rest nearby", nodes(2, 3), crew("ps worker worker", near="ps,worker"), conf=CONF,
        binds="aab",
    ),
    Case(
        "capacity that is being released counts", node("a", 1), node("b", 2), running("b", 1, releasing=True),
        crew("ps worker", near="ps,worker"), conf=CONF, binds="ba",
    ),
    Case(
        "where others of the job are", nodes(4, 3), crew("ps@c worker", near="ps,worker"), conf=SPREADING,
        binds="c",
    ),
    Case(
        "the larger company counts more", nodes(8, 3), crew("ps@b ps@c ps@c worker", near="ps,worker"), conf=SPREADING,
        binds="c",
    ),
    Case(
        "not where they stood", nodes(4, 2), gang_of(
            pod(1, role="ps", nodeName="b", phase="Succeeded"), pod(1, role="worker"), notes={AFFINITY: "ps,worker"},
        ), conf=CONF, binds="a",
    ),
    Case(
        "a full node is no company", node("a", 4), node("b", 1), crew("ps@b worker", near="ps,worker"), conf=CONF,
        binds="a",
    ),
    Case(
        "blanks do not matter", nodes(8, 3), crew("ps worker worker", near=" ps , worker ; "), conf=SPREADING,
        binds="aaa",
    ),
]  # fmt: skip

APART = [
    Case("roles in each other's way", nodes(8, 2), crew("ps worker", apart="ps,worker"), conf=CONF, binds="ab"),
    Case("a role with anti-affinity to itself", nodes(8, 3), crew("ps ps ps", apart="ps"), conf=CONF, binds="abc"),
    Case("it is a preference, no constraint", nodes(8, 2), crew("ps ps ps", apart="ps"), conf=CONF, binds="aba"),
    Case("away from where one is", nodes(8, 2), crew("ps@a ps", apart="ps"), conf=CONF, binds="b"),
    Case(
        "servers apart, workers shared out among them", nodes(8, 2),
        crew("ps ps worker worker worker worker", near="ps,worker", apart="ps"), conf=CONF, binds="ab abab",
    ),
    Case(
        "the same when servers are already placed", nodes(8, 3),
        crew("ps@b ps@c worker worker", near="ps,worker", apart="ps"), conf=CONF, binds="bc",
    ),
    Case(
        "affinity and anti-affinity cancel each other", nodes(8, 2),
        crew("ps worker", near="ps,worker", apart="ps,worker"),
        conf=CONF, binds="aa",
    ),
]  # fmt: skip

ORDER = [
    Case(
        "tasks with affinities come first", nodes(1, 2), crew("chief ps worker", near="ps,worker", minimum=2),
        conf=CONF,
        binds="-ab",
    ),
    Case(
        "those with more affinities come first", nodes(1, 1), crew("worker ps", apart="ps;ps,worker", minimum=1),
        conf=CONF,
        binds="-a",
    ),
    Case(
        "unless the job has its own order", nodes(1, 1),
        crew("worker ps", apart="ps;ps,worker", order="worker,ps", minimum=1), conf=CONF, binds="a-",
    ),
    Case(
        "the job's order is for others, too", nodes(1, 1), crew("ps worker", order="worker", minimum=1), conf=CONF,
        binds="-a",
    ),
    Case(
        "the bucket with most tasks comes first", nodes(3, 1),
        crew("ps worker chief chief chief", near="ps,worker;chief", apart="ps,chief;worker,chief", minimum=1),
        conf=CONF, binds="--aaa",
    ),
    Case(
        "priority comes first nevertheless", nodes(1, 1), priority_class("high", 9), gang_of(
            pod(1, role="ps"), pod(1, role="chief", priorityClassName="high"), notes={AFFINITY: "ps"}, minimum=1,
        ), conf=configuration("gang", "predicates", "priority", "task-topology"), binds="-a",
    ),
]  # fmt: skip

SIDE_BY_SIDE = [
    Case(
        "two jobs with equal pods and other rules", nodes(8, 2), crew("ps ps", near="ps", name="one"),
        crew("ps ps", apart="ps", name="two"), conf=CONF, binds="aa ab",
    ),
    Case(
        "a job without rules is not concerned", nodes(8, 2), crew("ps ps", near="ps", name="one"),
        gang(2, roles=["ps", "ps"], name="two"), conf=SPREADING, binds="aa bb",
    ),
    Case(
        "a gang that does not fit leaves no trace", nodes(2, 2), crew("ps ps ps ps ps", near="ps", name="large"),
        crew("ps ps", near="ps", name="small"), conf=CONF, binds="----- aa",
    ),
    Case(
        "the second cycle continues where the first ended", node("a", 1), node("b", 1), node("c", 2),
        running("bc", 1, name="other", releasing=True), crew("ps worker worker", near="ps,worker", minimum=1),
        conf=CONF, cycles=2, binds="cac",
    ),
    Case(
        "its weight against others", nodes(8, 3), foreign("a", 4), crew("ps@a worker", near="ps,worker"),
        conf=configuration("gang", "predicates", "nodeorder", plugin("task-topology", {"task-topology.weight": 0})),
        binds="b",
    ),
]  # fmt: skip

MISTAKES = [
    Case(
        "an unknown role", nodes(8, 2), crew("ps worker", near="ps,wroker"), conf=SPREADING, binds="ab",
        warnings=[unknown(AFFINITY, "wroker")],
    ),
    Case(
        "a role without pods yet", nodes(8, 2), crew("ps ps", near="ps,worker", minimums={"worker": 1}, minimum=0),
        conf=CONF, binds="aa",
    ),
    Case(
        "a role named twice", nodes(8, 2), crew("ps worker", apart="ps,ps"), conf=CONF, binds="aa",
        warnings=[twice(ANTI_AFFINITY, "ps")],
    ),
    Case(
        "a name that is missing", nodes(8, 2), crew("ps worker", near="ps,,worker"), conf=SPREADING, binds="ab",
        warnings=[unknown(AFFINITY, "")],
    ),
    Case(
        "an invalid order", nodes(8, 2), crew("ps worker", near="ps,worker", order="worker,worker"),
        conf=SPREADING, binds="ab", warnings=[twice(TASK_ORDER, "worker")],
    ),
    Case(
        "a job without roles", nodes(8, 2), gang(1, notes={AFFINITY: "ps"}), conf=CONF, binds="a",
        warnings=[unknown(AFFINITY, "ps", "none")],
    ),
    Case(
        "the error of one job does not affect the other", nodes(8, 2), crew("ps worker", near="ps,x"),
        crew("ps worker", near="ps,worker", name="other"), conf=SPREADING, binds="ab aa",
        warnings=[unknown(AFFINITY, "x")],
    ),
]  # fmt: skip


@pytest.mark.parametrize("case", [*TOGETHER, *APART, *ORDER, *SIDE_BY_SIDE, *MISTAKES], ids=str)
def test_task_topology(case: Case) -> None:
    case.check()
