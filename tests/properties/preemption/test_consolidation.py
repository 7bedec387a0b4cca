"""Consolidation in random clusters: relocated pods have a node, no relocation is useless, and no gang is split."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from stromboli.core.actions import ACTIONS
from stromboli.core.config.configuration import parse_configuration
from stromboli.core.config.plugin import Event, Plugin
from stromboli.core.config.registry import Registry
from stromboli.core.model.jobs.job import role_pipelined, role_ready
from stromboli.core.model.tasks.task import Task, TaskStatus
from stromboli.core.plugins import PLUGINS
from stromboli.core.session.decision_records import DecisionRecords
from stromboli.core.session.program import Program
from stromboli.core.session.session import Session
from stromboli.planner.virtual_cluster import PlannedCluster
from tests.testing.cases.case import BUILT_IN, configuration, objects
from tests.testing.cases.recreated_pods import cycle_with_recreated_pods
from tests.testing.manifests.builders import Manifest, budget, gang_of, node, pod, priority_class, queue
from tests.testing.random_clusters.effort import examples

PRIORITIES = {"low": 10, "high": 100}
DISKS = ("ssd", "hdd")
CONF = configuration(
    "gang", "conformance", "predicates", actions="allocate, consolidate",
    arguments={"consolidate": {"maxMovedPods": -1}},
)  # fmt: skip


@dataclass(frozen=True)
class Cluster:
    manifests: list[Manifest]
    sizes: dict[str, int]
    disks: dict[str, str]
    budgets: dict[str, int]


@st.composite
def clusters(draw: st.DrawFn) -> Cluster:
    """Draw partly full nodes, and gangs that request more than is free in one place."""
    names = "abcde"[: draw(st.integers(3, 5))]
    sizes = {name: draw(st.sampled_from([4, 4, 3])) for name in names}
    disks = {name: draw(st.sampled_from(DISKS)) for name in names}
    world: list[Any] = [node(name, size, labels={"disk": disks[name]}) for name, size in sizes.items()]
    world += [queue("one"), {**queue("firm"), "spec": {"reclaimable": draw(st.booleans())}}]
    world += [priority_class(name, value) for name, value in PRIORITIES.items()]
    free = dict(sizes)
    for number in range(draw(st.integers(3, 7))):
        members = []
        for _ in range(draw(st.sampled_from([1, 1, 1, 2]))):
            place, cpu = draw(st.sampled_from(names)), draw(st.sampled_from([1, 1, 2]))
            if free[place] > cpu:
                free[place] -= cpu
                members.append(_member(draw, cpu, disks[place], nodeName=place))
        if members:
            world += _job(draw, f"runs-{number}", members, draw(st.integers(0, len(members))), phase="Running")
    for number in range(draw(st.integers(1, 2))):
        members = [_member(draw, draw(st.sampled_from([4, 3])), None) for _ in range(draw(st.integers(1, 2)))]
        world += _job(draw, f"waits-{number}", members, len(members), phase="Inqueue")
    budgets = {"red": draw(st.integers(0, 2))} if draw(st.booleans()) else {}
    world += [budget(label, allowed, {"app": label}) for label, allowed in budgets.items()]
    return Cluster(world, sizes, disks, budgets)


def _member(draw: st.DrawFn, cpu: int, disk: str | None, **more: Any) -> Manifest:
    labels = {"app": "red"} if draw(st.booleans()) else {}
    if draw(st.integers(1, 8)) == 8:
        labels["volcano.sh/preemptable"] = "false"
    if disk is not None and draw(st.integers(1, 4)) == 4:
        more["nodeSelector"] = {"disk": disk}
    return pod(cpu, labels=labels, **more)


def _job(draw: st.DrawFn, name: str, members: list[Manifest], minimum: int, *, phase: str) -> list[Manifest]:
    queue_name, priority = draw(st.sampled_from(["one", "one", "firm"])), draw(st.sampled_from(sorted(PRIORITIES)))
    return gang_of(*members, name=name, minimum=minimum, queue=queue_name, priority=priority, phase=phase)


def world_of(cluster: Cluster) -> PlannedCluster:
    return PlannedCluster(objects(cluster.manifests), Program(parse_configuration(CONF, BUILT_IN), BUILT_IN))


def decided(cluster: Cluster) -> Session:
    return world_of(cluster).decide(DecisionRecords())


def new_place(session: Session, task: Task) -> str:
    return session.eviction_notes[task.uid]().split()[1]


def cpu_of(task: Task) -> int:
    return dict(task.task_class.request)[0] // 1000


def final_places(session: Session) -> dict[str, tuple[Task, str]]:
    """Return the final node of every task by uid, including relocated ones."""
    places = {}
    moved = {eviction.task.uid for eviction in session.decisions.evictions}
    for job in session.jobs.values():
        for task in job.tasks.values():
            where = new_place(session, task) if task.uid in moved else session.ledger.node_name(task)
            if where:
                places[task.uid] = task, where
    return places


def is_overfull(sizes: Mapping[str, int], places: Iterable[tuple[Task, str]]) -> bool:
    load: Counter[str] = Counter()
    for task, where in places:
        load[where] += cpu_of(task)
    return any(load[name] > size for name, size in sizes.items())


def units(session: Session) -> list[list[Task]]:
    """Return what moved together: the members of a whole gang, or single tasks."""
    by_job: dict[str, list[Task]] = {}
    for eviction in session.decisions.evictions:
        by_job.setdefault(eviction.task.job, []).append(eviction.task)
    result = []
    for key, tasks in by_job.items():
        whole = session.jobs[key].min_available > 0 and not session.jobs[key].has_minimum(role_ready)
        result += [tasks] if whole else [[task] for task in tasks]
    return result


@examples(80)
@given(clusters())
def test_every_relocated_pod_has_a_node(cluster: Cluster) -> None:
    session = decided(cluster)
    assert not is_overfull(cluster.sizes, final_places(session).values())
    specs = {entry["metadata"]["name"]: entry["spec"] for entry in cluster.manifests if entry["kind"] == "Pod"}
    for eviction in session.decisions.evictions:
        wanted = specs[eviction.task.name].get("nodeSelector", {}).get("disk")
        assert wanted in (None, cluster.disks[new_place(session, eviction.task)])


@examples(80)
@given(clusters())
def test_no_relocation_unless_the_gang_is_placed(cluster: Cluster) -> None:
    session = decided(cluster)
    for eviction in session.decisions.evictions:
        winner = session.jobs[eviction.preemptor]
        assert winner.has_minimum(role_pipelined)
        assert winner.pipelined_count


@examples(80)
@given(clusters())
def test_no_relocation_is_superfluous(cluster: Cluster) -> None:
    """If a unit had stayed, and all others were at their final nodes, some node would be overcommitted."""
    session = decided(cluster)
    places = final_places(session)
    before = {eviction.task.uid: session.ledger.node_name(eviction.task) for eviction in session.decisions.evictions}
    for unit in units(session):
        stayed = {**places, **{task.uid: (task, before[task.uid]) for task in unit}}
        assert is_overfull(cluster.sizes, stayed.values())


@examples(80)
@given(clusters())
def test_relocations_are_allowed(cluster: Cluster) -> None:
    session = decided(cluster)
    labels = {entry["metadata"]["name"]: entry["metadata"].get("labels") or {} for entry in cluster.manifests}
    spent = Counter(labels[eviction.task.name].get("app") for eviction in session.decisions.evictions)
    assert all(spent[label] <= allowed for label, allowed in cluster.budgets.items())
    for eviction in session.decisions.evictions:
        loser, winner = session.jobs[eviction.task.job], session.jobs[eviction.preemptor]
        assert eviction.task.preemptable
        assert loser.priority <= winner.priority
        assert loser.queue == winner.queue or session.queues[loser.queue].reclaimable


@examples(80)
@given(clusters())
def test_no_gang_is_split(cluster: Cluster) -> None:
    before = {key: job.has_minimum(role_ready) for key, job in world_of(cluster).snapshot().jobs.items()}
    session = decided(cluster)
    for key in {eviction.task.job for eviction in session.decisions.evictions}:
        job = session.jobs[key]
        assert not before[key] or not job.ready_count or job.has_minimum(role_ready)


class Listener(Plugin):
    """Keeps its own accounting of placed and releasing tasks. Every event must undo another one exactly."""

    name = "listener"

    def open(self, session: Session) -> None:
        self._ledger = session.ledger
        self.held: set[tuple[str, str]] = set()
        self.leaving: set[tuple[str, str]] = set()

    def on_allocate(self, event: Event) -> None:
        for entry in _entries(event):
            status = self._ledger.status_of(entry[0])
            if status in (TaskStatus.ALLOCATED, TaskStatus.PIPELINED):
                self.held.add(_named(entry))
            else:
                self.leaving.remove(_named(entry))

    def on_deallocate(self, event: Event) -> None:
        for entry in _entries(event):
            if self._ledger.status_of(entry[0]) is TaskStatus.PENDING:
                self.held.remove(_named(entry))
            else:
                self.leaving.add(_named(entry))


def _entries(event: Event) -> list[tuple[Task, str]]:
    return list(zip(event.tasks, event.nodes, strict=True))


def _named(entry: tuple[Task, str]) -> tuple[str, str]:
    return entry[0].uid, entry[1]


LISTENING = Registry([*PLUGINS, Listener], ACTIONS)


@examples(60)
@given(clusters(), st.data())
def test_undone_relocations_leave_no_trace(cluster: Cluster, data: st.DataObject) -> None:
    conf = configuration("gang", "predicates", "listener")
    session = Session(world_of(cluster).snapshot(), Program(parse_configuration(conf, LISTENING), LISTENING))
    listener = session.program.plugins["listener"]
    assert isinstance(listener, Listener)
    ledger, before = session.ledger, session.ledger.fingerprint()
    running = [
        task
        for job in session.jobs.values()
        for task in job.tasks.values()
        if ledger.status_of(task) is TaskStatus.RUNNING
    ]
    with session.statement() as statement:
        for task in running:
            statement.evict(task, "test")
            fitting = [row for row in range(len(session.nodes)) if session.search.accepts(task, row)]
            relocates = bool(fitting) and data.draw(st.booleans())
            if relocates:
                row = data.draw(st.sampled_from(fitting))
                statement.relocate(task, row)
                assert (f"{task.uid}/successor", session.nodes.names[row]) in listener.held
        assert {uid for uid, _ in listener.leaving} == {task.uid for task in running}
        plan = statement.save()
        moved = ledger.fingerprint()
        statement.rollback(0)
        assert ledger.fingerprint() == before
        assert statement.recover(plan)
        assert ledger.fingerprint() == moved
    assert ledger.fingerprint() == before
    assert (listener.held, listener.leaving) == (set(), set())


@examples(40)
@given(clusters())
def test_evictions_cease(cluster: Cluster) -> None:
    """Relocated pods are recreated, and wait for a node like all others."""
    world = world_of(cluster)
    moved = [len(cycle_with_recreated_pods(world, cycle).decisions.evictions) for cycle in range(12)]
    assert not any(moved[-4:]), f"moved by cycle: {moved}"
