"""Messages of waiting jobs in random clusters: one short line, and each fact once."""

from __future__ import annotations

import re
from functools import cache

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stromboli.core.model.reasons import MAX_SHORT
from stromboli.core.session.program import Program
from stromboli.kube.events.series import shortened
from stromboli.planner.plan import GroupPlan
from stromboli.scheduler.reporting.patches import MAX_MESSAGE_BYTES
from tests.testing.cases.case import STANDARD, configuration
from tests.testing.random_clusters.effort import examples
from tests.testing.random_clusters.engine import plan_of, program_of
from tests.testing.random_clusters.worlds import SmallWorld, tight_worlds, worlds

ACTIONS = "enqueue, allocate, preempt, reclaim, backfill"
CONFIGURATIONS = {
    "default": STANDARD,
    "proportion": configuration("priority", "gang", "overcommit", "predicates", "proportion", actions=ACTIONS),
    "capacity": configuration("priority", "gang", "overcommit", "predicates", "capacity", actions=ACTIONS),
}


@cache
def program(name: str) -> Program:
    return program_of(CONFIGURATIONS[name])


def in_one_queue(world: SmallWorld) -> SmallWorld:
    """The same cluster, with all jobs in the default queue."""
    groups = [
        msgspec.structs.replace(group, spec=msgspec.structs.replace(group.spec, queue="default"))
        for group in world.groups
    ]
    return SmallWorld(world.nodes, [], world.priorities, groups, world.pods)


def messages(group: GroupPlan) -> list[str]:
    return [condition.message for condition in group.conditions if condition.type == "Unschedulable"]


def sentences(message: str) -> list[str]:
    """The sentences of a message as it is written, without their subjects."""
    parts = re.split(r"[.;] ", shortened(message))
    return [part.removeprefix("Origin reason is ").rstrip(".") for part in parts]


@pytest.mark.parametrize("name", CONFIGURATIONS)
@examples(60)
@given(world=st.one_of(worlds(), tight_worlds()))
def test_waiting_job_has_a_short_summary_and_states_every_fact_once(name: str, world: SmallWorld) -> None:
    for group in plan_of(world.objects, program(name)).groups.values():
        assert bool(group.summary) == group.waiting
        assert len(group.summary) <= MAX_SHORT
        assert len(group.summary.splitlines()) <= 1
        assert len(set(group.reasons)) == len(group.reasons)
        for message in messages(group):
            assert len(shortened(message).encode()) <= MAX_MESSAGE_BYTES
            assert len(set(sentences(message))) == len(sentences(message)), message


@pytest.mark.parametrize("name", CONFIGURATIONS)
@examples(60)
@given(world=st.one_of(worlds(), tight_worlds()))
def test_shares_are_not_mentioned_with_one_queue(name: str, world: SmallWorld) -> None:
    plan = plan_of(in_one_queue(world).objects, program(name))
    for group in plan.groups.values() if len({group.queue for group in plan.groups.values()}) == 1 else ():
        for text in (group.summary, *group.reasons, *messages(group)):
            assert "deserve" not in text
