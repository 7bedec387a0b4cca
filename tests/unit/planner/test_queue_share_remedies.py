"""Remedies for queues with deserved amounts: weights have no effect there, and are not proposed."""

from __future__ import annotations

from typing import Any

import pytest

from stromboli.core.config.configuration import parse_configuration
from stromboli.core.session.program import Program
from stromboli.planner.advice import advise
from stromboli.planner.plan import make_plan
from stromboli.planner.trials import Trials
from tests.testing.cases.case import BUILT_IN, SCHEDULER_NAMES, configuration, flattened, objects, plugin
from tests.testing.manifests.builders import Manifest, gang, nodes, running
from tests.testing.manifests.builders import queue as plain_queue

JOB = "default/gang"
RECLAIM = "enqueue, allocate, reclaim"
CAPACITY = configuration(plugin("gang", enableReclaimable=False), "capacity", "predicates", actions=RECLAIM)
PROPORTION = configuration(plugin("gang", enableReclaimable=False), "proportion", "predicates", actions=RECLAIM)


def queue(name: str, deserved: int | None = None, **facts: Any) -> Manifest:
    manifest = plain_queue(name, **facts)
    manifest["spec"] |= {} if deserved is None else {"deserved": {"cpu": deserved}}
    return manifest


#: By name: the configuration, the objects, and the kinds of changes that are proposed.
CASES: dict[str, tuple[str, Any, list[str]]] = {
    "proportion raises the weight": (
        PROPORTION,
        [nodes(4, 1), queue("light", weight=1), queue("heavy", weight=3), running("aaaa", name="other", queue="heavy"),
         gang(1, 2, queue="light")],
        ["raise-weight", "lower-request", "add-nodes"],
    ),
    "capacity raises deserved or guarantee": (
        CAPACITY,
        [nodes(4, 1), queue("light", 1), queue("heavy", 1), running("aaaa", name="other", queue="heavy"),
         gang(1, 2, queue="light")],
        ["raise-deserved", "raise-guarantee", "lower-request", "add-nodes"],
    ),
    "queue without deserved amounts gets some": (
        CAPACITY,
        [nodes(4, 1), queue("light"), queue("heavy", 1), running("aaaa", name="other", queue="heavy"),
         gang(1, 2, queue="light")],
        ["raise-deserved", "raise-guarantee", "add-nodes"],
    ),
    "queue at its capability": (
        CAPACITY,
        [nodes(4, 1), queue("light", 1, capability={"cpu": 1}), gang(1, 2, queue="light")],
        ["raise-capability", "lower-request"],
    ),
    "capacity kept for the guarantee of another queue": (
        CAPACITY,
        [nodes(4, 1), queue("light", 1), queue("heavy", 1, guarantee={"cpu": 3}), gang(1, 2, queue="light")],
        ["lower-request", "add-nodes"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_proposed_kinds_of_changes(name: str) -> None:
    conf, manifests, expected = CASES[name]
    given, program = objects(flattened([manifests])), Program(parse_configuration(conf, BUILT_IN), BUILT_IN)
    plan = make_plan(given, program, scheduler_names=SCHEDULER_NAMES)
    remedies = advise(plan, Trials(given, program, scheduler_names=SCHEDULER_NAMES), [JOB])[0].remedies
    changes = [remedies.smallest, *remedies.alternatives] if remedies.smallest else []
    assert [change.kind for change in changes if change] == expected
