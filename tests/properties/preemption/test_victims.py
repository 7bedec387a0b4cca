"""Evictions in random clusters: each is allowed, needed, and they cease."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from stromboli.core.config.configuration import parse_configuration
from stromboli.core.model.jobs.job import role_ready
from stromboli.core.model.resources.resources import CPU
from stromboli.core.session.program import Program
from stromboli.core.session.session import Session
from stromboli.planner.virtual_cluster import PlannedCluster
from tests.testing.cases.case import BUILT_IN, configuration, objects, plugin
from tests.testing.cases.recreated_pods import cycle_with_recreated_pods
from tests.testing.manifests.builders import Manifest, gang_of, manifest, node, pod, priority_class, queue
from tests.testing.random_clusters.effort import examples

PRIORITIES = {"low": 10, "middle": 50, "high": 100}
LABELS = ("red", "blue", None)
QUEUES = ("one", "two", "three")
CONFIGURATIONS = [
    configuration(
        ["priority", plugin("gang", enablePreemptable=False), "conformance"], ["proportion", "predicates"],
        actions="enqueue, allocate, preempt, reclaim",
    ),
    configuration("priority", "gang", "conformance", "proportion", "predicates", actions="allocate, reclaim, preempt"),
    configuration(
        ["priority", plugin("gang", enablePreemptable=False, enableReclaimable=False)],
        [plugin("drf", enablePreemptable=False), "proportion", "predicates", "nodeorder"],
        actions="allocate, preempt, reclaim, backfill",
    ),
]  # fmt: skip

#: No eviction for the sake of a quota: only capacity is preempted.
CAPACITY_ONLY = configuration(
    ["priority", plugin("gang", enablePreemptable=False, enableReclaimable=False)],
    [plugin("proportion", enabledAllocatable=False), "predicates"], actions="allocate, preempt, reclaim",
)  # fmt: skip


WITHOUT_THRASH_GUARD = """
configurations:
- name: preempt
  arguments: {thrashingWindow: 0s}
- name: reclaim
  arguments: {thrashingWindow: 0s}
"""


@dataclass(frozen=True)
class Contest:
    """Nodes, running pods, and waiting pods."""

    manifests: list[Manifest]
    budgets: dict[str, int]
    conf: str


@st.composite
def contests(draw: st.DrawFn) -> Contest:
    names = "abcd"[: draw(st.integers(1, 4))]
    sizes = {name: draw(st.integers(2, 5)) for name in names}
    world: list[Any] = [node(name, size) for name, size in sizes.items()]
    world += [queue(name, draw(st.integers(1, 3))) for name in QUEUES]
    world += [priority_class(name, value) for name, value in PRIORITIES.items()]
    free = dict(sizes)
    for number in range(draw(st.integers(3, 8))):
        members = []
        for _ in range(draw(st.integers(1, 3))):
            place, cpu = draw(st.sampled_from(names)), draw(st.integers(1, 2))
            if free[place] >= cpu:
                free[place] -= cpu
                members.append(_member(draw, cpu, nodeName=place))
        world += _job(draw, f"runs-{number}", members, running=True)
    for number in range(draw(st.integers(1, 3))):
        members = [_member(draw, draw(st.integers(1, 3))) for _ in range(draw(st.integers(1, 3)))]
        world += _job(draw, f"waits-{number}", members, running=False)
    budgets = {label: draw(st.integers(0, 2)) for label in ("red", "blue") if draw(st.booleans())}
    world += [_budget(label, allowed) for label, allowed in budgets.items()]
    return Contest(world, budgets, draw(st.sampled_from(CONFIGURATIONS)))


def _member(draw: st.DrawFn, cpu: int, **more: Any) -> Manifest:
    label = draw(st.sampled_from(LABELS))
    labels = {"app": label} if label else {}
    if draw(st.integers(1, 6)) == 6:
        labels["volcano.sh/preemptable"] = "false"
    if draw(st.integers(1, 8)) == 8:
        more["priorityClassName"] = "system-node-critical"
    return pod(cpu, labels=labels, **more)


def _job(draw: st.DrawFn, name: str, members: list[Manifest], *, running: bool) -> list[Manifest]:
    if not members:
        return []
    return gang_of(
        *members,
        name=name,
        minimum=draw(st.integers(0, len(members))),
        queue=draw(st.sampled_from(QUEUES)),
        priority=draw(st.sampled_from(sorted(PRIORITIES))),
        phase="Running" if running else "Inqueue",
    )


def _budget(label: str, allowed: int) -> Manifest:
    spec = {"selector": {"matchLabels": {"app": label}}, "maxUnavailable": 0}
    return manifest(
        "PodDisruptionBudget", label, "policy/v1", "default", spec=spec, status={"disruptionsAllowed": allowed}
    )


def world_of(contest: Contest) -> PlannedCluster:
    return PlannedCluster(objects(contest.manifests), Program(parse_configuration(contest.conf, BUILT_IN), BUILT_IN))


def decided(contest: Contest) -> tuple[Session, dict[str, int]]:
    """Run a cycle; return it with the number of placed members of each job before it."""
    world = world_of(contest)
    before = {key: job.ready_count for key, job in world.snapshot().jobs.items()}
    return world.decide(), before


@examples(150)
@given(contests())
def test_every_victim_is_allowed(contest: Contest) -> None:
    session, _ = decided(contest)
    for eviction in session.decisions.evictions:
        task, loser, winner = eviction.task, session.jobs[eviction.task.job], session.jobs[eviction.preemptor]
        assert task.preemptable
        assert task.priority_class != "system-node-critical" or "conformance" not in session.program.plugins
        if eviction.reason == "preempt":
            assert loser.queue == winner.queue
            assert loser is winner or loser.priority < winner.priority
        else:
            assert loser.queue != winner.queue


@examples(150)
@given(contests())
def test_queues_lose_only_what_exceeds_their_share(contest: Contest) -> None:
    """One after the other, in eviction order: a whole gang is one loss."""
    world = world_of(contest)
    before = world.snapshot()
    has = {name: books.allocated[CPU] for name, books in before.queue_usage.items()}
    session = world.decide()
    lost: set[str] = set()
    for eviction in session.decisions.evictions:
        job, preemptor = session.jobs[eviction.task.job], session.jobs[eviction.preemptor]
        facts = session.queue_facts(session.queues[job.queue])
        goes_whole = not job.ready_count
        if eviction.reason == "reclaim" and facts is not None and not (goes_whole and job.key in lost):
            assert has[job.queue] > facts.deserved[CPU]
        lost.add(job.key)
        has[job.queue] -= dict(eviction.task.task_class.request)[CPU]
        assert preemptor.key != job.key or eviction.reason == "preempt"


@examples(150)
@given(contests())
def test_budgets_are_not_overdrawn(contest: Contest) -> None:
    session, _ = decided(contest)
    labels = {entry["metadata"]["name"]: entry["metadata"].get("labels", {}) for entry in contest.manifests}
    spent = Counter(labels[eviction.task.name].get("app") for eviction in session.decisions.evictions)
    for label, allowed in contest.budgets.items():
        assert spent[label] <= allowed


@examples(150)
@given(contests())
def test_no_victim_unless_the_preemptor_is_placed(contest: Contest) -> None:
    session, _ = decided(contest)
    for eviction in session.decisions.evictions:
        winner = session.jobs[eviction.preemptor]
        assert winner.pipelined_count > 0
        assert session.job_pipelined(winner)


@examples(150)
@given(contests())
def test_no_gang_falls_below_its_minimum(contest: Contest) -> None:
    session, before = decided(contest)
    for key in {eviction.task.job for eviction in session.decisions.evictions}:
        job = session.jobs[key]
        was_whole = before[key] >= job.min_available
        assert not was_whole or not job.ready_count or job.has_minimum(role_ready) or job.pipelined_count


@examples(150)
@given(contests())
def test_nominated_capacity_is_not_overcommitted(contest: Contest) -> None:
    session, _ = decided(contest)
    rows = session.ledger.all_rows
    for dimension in range(rows.resources):
        assert (rows.future_idle(dimension) >= 0).all()


@examples(150)
@given(contests())
def test_no_victim_is_superfluous(contest: Contest) -> None:
    """A task that was evicted alone, or the members of a whole gang, could not have stayed beside the preemptors."""
    session, _ = decided(replace(contest, conf=CAPACITY_ONLY))
    gone: dict[str, list[Any]] = {}
    for eviction in session.decisions.evictions:
        gone.setdefault(eviction.task.job, []).append(eviction.task)
    for key, tasks in gone.items():
        job = session.jobs[key]
        units = [tasks] if not job.ready_count else [[task] for task in tasks]
        assert all(not _could_stay(session, unit) for unit in units)


def _could_stay(session: Session, tasks: list[Any]) -> bool:
    ledger = session.ledger
    needed = np.zeros((ledger.layout.resources, len(ledger.nodes)), dtype=np.int64)
    for task in tasks:
        for dimension, amount in task.task_class.request:
            needed[dimension, ledger.row_of(task)] += amount
    left = [ledger.all_rows.future_idle(dimension) for dimension in range(ledger.layout.resources)]
    return all((needed[dimension] <= idle).all() for dimension, idle in enumerate(left))


@examples(40)
@given(contests())
def test_evictions_cease(contest: Contest) -> None:
    """Evicted pods are recreated and wait; after some cycles there are no more evictions. The rules alone ensure that:
    the thrash guard is off.
    """
    world = world_of(replace(contest, conf=contest.conf + WITHOUT_THRASH_GUARD))
    evicted = [len(cycle_with_recreated_pods(world, cycle).decisions.evictions) for cycle in range(50)]
    assert not any(evicted[-10:]), f"evictions by cycle: {evicted}"
