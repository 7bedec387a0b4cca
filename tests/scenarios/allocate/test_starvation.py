"""`starvationTime`: nodes that become free are reserved for a job that has waited for them for too long."""

from __future__ import annotations

from typing import Any

import pytest

from tests.testing.cases.case import Case, configuration
from tests.testing.manifests.builders import (
    Manifest,
    foreign,
    gang,
    gang_of,
    node,
    nodes,
    pod,
    priority_class,
    queue,
    running,
)

NOON = "2026-01-01T12:00:00Z"
LONG_AGO = "2026-01-01T11:00:00Z"


def after(time: str, *plugins: str, actions: str = "allocate", **more: Any) -> str:
    arguments = {"allocate": {"starvationTime": time, **more}}
    return configuration(*(plugins or ("gang", "predicates")), actions=actions, arguments=arguments)


CONF = after("30m")


def head(count: int, cpu: object, name: str = "a-head", **facts: Any) -> list[Manifest]:
    """A gang that has waited for an hour."""
    return gang(count, cpu, name=name, created=LONG_AGO, **facts)


def later(count: int, cpu: object, name: str = "later", **facts: Any) -> list[Manifest]:
    """A gang that arrived now."""
    return gang(count, cpu, name=name, created=NOON, **facts)


def aged(manifest: Manifest, created: str) -> Manifest:
    return {**manifest, "metadata": {**manifest["metadata"], "creationTimestamp": created}}


HALF = [*nodes(4, 1), *running("a", 2)]
#: Of two nodes, the second has less to release.
TWO = [*nodes(4, 2), *running("a", 3, name="most"), *running("b", 1, name="least")]
HELD = "it has waited since 2026-01-01T11:00:00Z: what is free, or becomes free, on 1 node(s) is reserved for it"
KEPT = "capacity that it needs is reserved for default/a-head, which has waited since 2026-01-01T11:00:00Z"

CASES = [
    Case("without a time, smaller jobs take what is free", HALF, head(1, 4), later(1, 2), conf=after(""), binds="- a"),
    Case("so they do before the time", HALF, head(1, 4), later(1, 2), conf=after("2h"), binds="- a"),
    Case(
        "after it the node is reserved",
        HALF, head(1, 4), later(1, 2), conf=CONF, binds="- -",
        codes={"a-head": ["NodesReserved", "InsufficientResource"], "later": ["CapacityReserved", "CapacityNominated"]},
        reasons={
            "a-head": [HELD, "0/1 nodes are available: 1 Insufficient cpu."],
            "later": [KEPT, "0/1 nodes are available: 1 node(s) had capacity nominated for other pods."],
        },
    ),
    Case(
        "so it is where the share of the only queue is the whole cluster",
        HALF, head(1, 4), later(1, 2), conf=after("30m", "gang", "predicates", "proportion"), binds="- -",
        codes={"a-head": ["NodesReserved", "InsufficientResource"]},
    ),
    Case(
        "the node on which least has to end is reserved",
        TWO, head(1, 4), later(4, 1, minimum=1), conf=CONF, binds="- a---",
    ),
    Case(
        "what is free on a reserved node is not for others, whatever it will leave",
        node("a", 8), running("a", 2), running("a", 2, name="more"), head(1, 7), later(1, 1), later(1, 1, "last"),
        conf=CONF, binds="- - -",
    ),
    Case("a gang gets several nodes", TWO, nodes(4, 3)[2:], head(2, 4), later(1, 1), conf=CONF, binds="-- a"),
    Case(
        "jobs of other queues do not take them either",
        HALF, queue("other"), head(1, 4), later(1, 2, queue="other"), conf=CONF, binds="- -",
    ),
    Case(
        "a job of higher priority in the queue does",
        HALF, priority_class("high", 10), head(1, 4), later(1, 2, priority="high"),
        conf=after("30m", "priority", "gang", "predicates"), binds="- a",
    ),
    Case("one job of a queue at a time", TWO, head(1, 4), head(1, 4, "b-head"), later(1, 1), conf=CONF, binds="- - a"),
    Case(
        "or more",
        TWO, head(1, 4), head(1, 4, "b-head"), later(1, 1), conf=after("30m", maxStarvingJobs=2), binds="- - -",
    ),
    Case(
        "two queues get different nodes",
        TWO, queue("other"), head(1, 4), head(1, 4, "b-head", queue="other"), later(1, 1, queue="other"),
        conf=CONF, binds="- - -",
    ),
    Case(
        "two jobs get no nodes that they would need from each other",
        TWO, queue("other"), head(1, 4), head(2, 4, "b-head", queue="other"), later(1, 1), conf=CONF, binds="- -- a",
    ),
    Case("a job that can never start gets none", HALF, head(1, 5), later(1, 2), conf=CONF, binds="- a"),
    Case(
        "nor does a gang with gated pods",
        HALF, gang_of(pod(4, gated=True), pod(4), name="a-head", created=LONG_AGO), later(1, 2),
        conf=CONF, binds="-- a",
    ),
    Case(
        "pods of other schedulers are not expected to end",
        nodes(4, 2), foreign("a", 1), running("b", 3), head(1, 4), later(1, 3), conf=CONF, binds="- a",
    ),
    Case(
        "a job that waits for its queue gets none",
        nodes(4, 2), queue("small", capability={"cpu": 4}), running("a", 2, queue="small"), head(1, 4, queue="small"),
        later(2, 1), conf=after("30m", "gang", "predicates", "proportion"), binds="- aa",
    ),
    Case("a job that starts reserves nothing", nodes(4, 2), head(1, 4), later(1, 4), conf=CONF, binds="a b"),
    Case(
        "nodes that do not accept the job are not reserved",
        node("a", 4, taints=["x=y:NoSchedule"]), node("b", 4), running("b", 4), head(1, 4),
        later(1, 1, tolerations=["x=y:NoSchedule"]), conf=CONF, binds="- a",
    ),
    Case(
        "the reservation lasts over cycles",
        HALF, head(1, 4), later(1, 2), conf=CONF, cycles=3, binds="- -",
    ),
    Case(
        "nodes with capacity nominated for others are not reserved",
        nodes(4, 2), running("a", 2, releasing=True), running("a", 2, name="more"), running("b", 4, name="full"),
        head(1, 2), later(1, 2, nominated="a"), conf=CONF, binds="- A",
        codes={"a-head": ["NodesReserved", "CapacityNominated", "InsufficientResource"]},
    ),
    Case(
        "a job that waits for terminating pods needs no reservation",
        nodes(4, 1), running("a", 2, releasing=True), head(1, 4), later(1, 2), conf=CONF, binds="A -",
    ),
    Case(
        "a strict queue and a reservation go together",
        TWO, queue("fifo", strategy="fifo"), head(1, 4, queue="fifo"), later(1, 1, queue="fifo"),
        later(1, 1, "third"), conf=CONF, binds="- - a",
    ),
    Case(
        "a pod that has waited for less than its group counts",
        HALF, gang_of(aged(pod(4), NOON), name="a-head", created=LONG_AGO), later(1, 2), conf=CONF, binds="- a",
    ),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=str)
def test_starvation(case: Case) -> None:
    case.check()


@pytest.mark.parametrize("case", CASES, ids=str)
def test_order_of_objects_does_not_matter(case: Case) -> None:
    plan, twin = case.plan(), case.backwards().plan()
    assert (plan.binds, plan.pipelined) == (twin.binds, twin.pipelined)
