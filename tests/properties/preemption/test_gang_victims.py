"""Preemption of whole gangs in random clusters: it is allowed, needed, and ends."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from stromboli.core.actions import ACTIONS
from stromboli.core.config.configuration import parse_configuration
from stromboli.core.config.registry import Registry
from stromboli.core.model.jobs.job import role_ready
from stromboli.core.model.resources.resources import CPU
from stromboli.core.model.snapshot import Snapshot
from stromboli.core.model.tasks.task import Task, TaskStatus
from stromboli.core.plugins import PLUGINS
from stromboli.core.session.program import Program
from stromboli.core.session.session import Session
from stromboli.planner.virtual_cluster import PlannedCluster
from tests.properties.preemption.test_victims import Contest, contests
from tests.testing.cases.case import configuration, objects, plugin
from tests.testing.cases.probe_plugins import HalvesPlugin
from tests.testing.cases.recreated_pods import cycle_with_recreated_pods
from tests.testing.manifests.builders import Manifest
from tests.testing.random_clusters.effort import examples

REGISTRY = Registry([*PLUGINS, HalvesPlugin], ACTIONS)
HARD = {"mode": "hard", "highestTierAllowed": 1}
CONFIGURATIONS = [
    configuration(
        ["priority", "gang", "conformance"], ["proportion", "predicates"],
        actions="enqueue, allocate, gangpreempt, gangreclaim",
    ),
    configuration("priority", "gang", "proportion", "predicates", actions="allocate, gangreclaim, gangpreempt"),
    configuration(
        "priority", "gang", "conformance", "proportion", "predicates", "nodeorder",
        actions="allocate, gangpreempt, gangreclaim",
        arguments={"gangpreempt": {"allowWholeBundle": False}, "gangreclaim": {"allowWholeBundle": False}},
    ),
]  # fmt: skip
#: No eviction for the sake of a quota: only capacity is preempted.
CAPACITY_ONLY = configuration(
    "priority", "gang", plugin("proportion", enabledAllocatable=False), "predicates",
    actions="allocate, gangpreempt, gangreclaim",
)  # fmt: skip
IN_HALVES = configuration("priority", "gang", "predicates", "probe", actions="allocate, gangpreempt, preempt, reclaim")


@st.composite
def gang_contests(draw: st.DrawFn) -> Contest:
    return replace(draw(contests()), conf=draw(st.sampled_from(CONFIGURATIONS)))


def decided(contest: Contest) -> tuple[Snapshot, Session]:
    """Run a cycle; return it with the snapshot before it."""
    program = Program(parse_configuration(contest.conf, REGISTRY), REGISTRY)
    world = PlannedCluster(objects(contest.manifests), program)
    return world.snapshot(), world.decide()


def gone(session: Session) -> dict[str, list[Task]]:
    """Return victims by job, in eviction order."""
    victims: dict[str, list[Task]] = {}
    for eviction in session.decisions.evictions:
        victims.setdefault(eviction.task.job, []).append(eviction.task)
    return victims


@examples(80)
@given(gang_contests())
def test_every_preemption_is_allowed_and_complete(contest: Contest) -> None:
    before, session = decided(contest)
    victims_are_allowed(session)
    whole_gangs_are_placed(session)
    no_gang_is_left_broken(session)
    gangs_stay_whole_where_they_must(before, session)
    queues_lose_only_what_they_have_above_their_share(before, session)
    budgets_are_not_overdrawn(contest, session)


def victims_are_allowed(session: Session) -> None:
    for eviction in session.decisions.evictions:
        task, loser, winner = eviction.task, session.jobs[eviction.task.job], session.jobs[eviction.preemptor]
        assert task.preemptable
        assert task.priority_class != "system-node-critical" or "conformance" not in session.program.plugins
        if eviction.reason == "gangpreempt":
            assert loser.queue == winner.queue
            assert loser.priority < winner.priority
        else:
            assert loser.queue != winner.queue


def whole_gangs_are_placed(session: Session) -> None:
    """No pod is evicted unless the whole gang fits, and all its capacity is nominated."""
    for key in {eviction.preemptor for eviction in session.decisions.evictions}:
        job, status_of = session.jobs[key], session.ledger.status_of
        placed = [task for task in job.tasks.values() if status_of(task) is TaskStatus.PIPELINED]
        assert placed
        assert session.job_pipelined(job)
        assert all(session.decisions.nominations.get(task.key) for task in placed)


def no_gang_is_left_broken(session: Session) -> None:
    for key in gone(session):
        job = session.jobs[key]
        assert not job.ready_count or job.has_minimum(role_ready)


def gangs_stay_whole_where_they_must(before: Snapshot, session: Session) -> None:
    """Where gangs may not be evicted whole, only jobs without a minimum, or below it, lose all their members."""
    if session.program.actions[-1].arguments.configured.get("allowWholeBundle") is False:
        for key in gone(session):
            was = before.jobs[key]
            assert session.jobs[key].ready_count or not was.min_available or was.ready_count < was.min_available


def queues_lose_only_what_they_have_above_their_share(before: Snapshot, session: Session) -> None:
    """A queue exceeds its deserved share at the moment it loses a pod, or the first pod of a gang."""
    has = {name: books.allocated[CPU] for name, books in before.queue_usage.items()}
    lost: set[str] = set()
    for eviction in session.decisions.evictions:
        job = session.jobs[eviction.task.job]
        facts = session.queue_facts(session.queues[job.queue])
        with_gang = job.key in lost and not job.ready_count
        if eviction.reason == "gangreclaim" and facts is not None and not with_gang:
            assert has[job.queue] > facts.deserved[CPU]
        lost.add(job.key)
        has[job.queue] -= dict(eviction.task.task_class.request)[CPU]


def budgets_are_not_overdrawn(contest: Contest, session: Session) -> None:
    labels = {entry["metadata"]["name"]: entry["metadata"].get("labels", {}) for entry in contest.manifests}
    spent = Counter(labels[eviction.task.name].get("app") for eviction in session.decisions.evictions)
    for label, allowed in contest.budgets.items():
        assert spent[label] <= allowed


@examples(60)
@given(gang_contests())
def test_no_unit_is_superfluous(contest: Contest) -> None:
    """A task that was evicted alone, or the members of a whole gang, could not have stayed beside the preemptors."""
    _, session = decided(replace(contest, conf=CAPACITY_ONLY))
    for key, tasks in gone(session).items():
        units = [[task] for task in tasks] if session.jobs[key].ready_count else [tasks]
        assert all(not _could_stay(session, unit) for unit in units)


def _could_stay(session: Session, tasks: list[Task]) -> bool:
    ledger = session.ledger
    needed = np.zeros((ledger.layout.resources, len(ledger.nodes)), dtype=np.int64)
    for task in tasks:
        for dimension, amount in task.task_class.request:
            needed[dimension, ledger.row_of(task)] += amount
    return all(
        (needed[dimension] <= ledger.all_rows.future_idle(dimension)).all()
        for dimension in range(ledger.layout.resources)
    )


@examples(50)
@given(contests())
def test_jobs_stay_inside_their_domains(contest: Contest) -> None:
    """Whichever action preempts for a job with a domain constraint, the job is inside one domain."""
    manifests = [_in_one_half(each) for each in contest.manifests]
    _, session = decided(replace(contest, manifests=manifests, conf=IN_HALVES))
    middle = len(session.nodes) // 2
    for key, job in session.jobs.items():
        if "waits" in key:
            rows = {session.ledger.row_of(task) for task in job.tasks.values()} - {-1}
            assert len({row < middle for row in rows}) <= 1


def _in_one_half(manifest: Manifest) -> Manifest:
    if manifest["kind"] != "PodGroup":
        return manifest
    return {**manifest, "spec": {**manifest["spec"], "networkTopology": HARD}}


@examples(8)
@given(gang_contests())
def test_evictions_cease(contest: Contest) -> None:
    """Evicted pods are recreated and wait; after some cycles there are no more evictions."""
    world = PlannedCluster(objects(contest.manifests), Program(parse_configuration(contest.conf, REGISTRY), REGISTRY))
    evicted = [len(cycle_with_recreated_pods(world, cycle).decisions.evictions) for cycle in range(30)]
    assert not any(evicted[-10:]), f"evictions by cycle: {evicted}"
