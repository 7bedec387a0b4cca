"""All plugins and all actions in one configuration, in random clusters that exercise each of them.

Other properties test one rule alone. Here they interact: nominated capacity with reservations, relocated pods with
shared devices and processors, and gangs inside racks with everything else. In any combination nothing may be allocated
twice, the ledger must be consistent, and evictions must cease.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from stromboli import kube
from stromboli.cluster.audit.auditor import audit
from stromboli.core.config.configuration import parse_configuration
from stromboli.core.model.devices.gpu_fractions import GROUPS
from stromboli.core.model.nodes.numa import PROCESSORS, parse_cpus
from stromboli.core.model.tasks.task import Task, TaskStatus
from stromboli.core.session.decision_records import DecisionRecords
from stromboli.core.session.program import Program
from stromboli.core.session.session import Session
from stromboli.core.session.statement import Statement
from stromboli.planner.plan import make_plan
from stromboli.planner.virtual_cluster import PlannedCluster
from tests.properties.cycle.auditor import Auditor
from tests.testing.cases.case import BUILT_IN, SCHEDULER_NAMES, configuration, objects, plugin
from tests.testing.manifests.builders import Manifest, budget, gang_of, node, pod, priority_class, queue
from tests.testing.manifests.fractional_gpus import part
from tests.testing.manifests.hypernodes import HARD_BLOCK, HARD_RACK, SOFT, block, racks
from tests.testing.manifests.node_usage import NOON, measured
from tests.testing.manifests.numa_nodes import POLICY, container, topology
from tests.testing.manifests.shared_devices import REGISTER, VGPU_IDS, cards, vgpu
from tests.testing.manifests.storage import HOST, claim, storage_class, using, volume
from tests.testing.random_clusters.effort import examples
from tests.testing.random_clusters.worlds import chance

MEMORY, NAMES = 100, "abcd"
GIVEN = (VGPU_IDS, PROCESSORS, GROUPS)
RUN_TIME = "scheduling.stromboli.dev/run-time"
PAIRS = {"name": "pair", "subGroupSize": 2, "minSubGroups": 1, "matchLabelKeys": ["part"], "networkTopology": HARD_RACK}
BALANCE = [{"name": "lowNodeUtilization", "params": {"thresholds": {"cpu": 30}, "targetThresholds": {"cpu": 60}}}]

ACTION_ORDERS = (
    "enqueue, allocate, backfill, preempt, reclaim, consolidate, stalegang, shuffle",
    "enqueue, allocate, gangpreempt, gangreclaim, backfill, shuffle, consolidate, stalegang",
    "allocate, preempt, gangpreempt, reclaim, gangreclaim, consolidate, backfill",
)


def first_tier() -> list[str | Manifest]:
    return [
        "priority", "gang", "conformance", "pdb", "cdp",
        plugin("sla", {"sla-waiting-time": "99h"}),
        plugin("tdm", {"tdm.revocable-zone.night": "22:00-06:00"}),
        plugin("minruntime", {"defaultReclaimMinRuntime": "1m"}),
    ]  # fmt: skip


def second_tier(shares: str) -> list[str | Manifest]:
    return [
        "overcommit", shares, "predicates", "nodeorder", "binpack", "resource-strategy-fit", "numa-aware",
        "network-topology-aware", "task-topology", "usage", "resourcequota",
        plugin("drf", enablePreemptable=False),
        plugin("nodegroup", {"strict": False}),
        plugin("rescheduling", {"strategies": BALANCE}),
        plugin("deviceshare", {"deviceshare.VGPUEnable": True, "deviceshare.ScheduleWeight": 1}),
        "gpusharing",
    ]  # fmt: skip


@st.composite
def configurations(draw: st.DrawFn) -> str:
    return configuration(
        first_tier(),
        second_tier(draw(st.sampled_from(["proportion", "capacity"]))),
        actions=draw(st.sampled_from(ACTION_ORDERS)),
        arguments={
            "backfill": {"strategy": draw(st.sampled_from(["best-effort", "easy", "conservative"]))},
            "preempt": {"enableTopologyAwarePreemption": draw(st.booleans())},
            "consolidate": {"reclaims": draw(st.booleans()), "anyPriority": draw(st.booleans())},
        },
    )


@st.composite
def worlds(draw: st.DrawFn) -> list[Manifest]:
    world: list[Any] = [*racks("ab", "cd"), block("all", 2, "rack-0", "rack-1"), storage_class()]
    world += [priority_class("low", 10), priority_class("high", 100)]
    world += [queue("one", draw(st.integers(1, 2))), queue("two", draw(st.integers(1, 3)))]
    for name in NAMES:
        world += machine(draw, name)
    free = Counter(dict.fromkeys(NAMES, 8))
    for number in range(draw(st.integers(4, 12))):
        world += running_job(draw, f"runs-{number}", free)
    for number in range(draw(st.integers(1, 5))):
        world += waiting_job(draw, f"waits-{number}")
    if draw(st.booleans()):
        world.append(budget("red", draw(st.integers(0, 2)), {"app": "red"}))
    return world


def machine(draw: st.DrawFn, name: str) -> list[Manifest]:
    """Draw a node with shared devices, measurements and processors."""
    more = {"volcano.sh/vgpu-number": 20, "volcano.sh/vgpu-memory": 1}
    notes = {REGISTER: cards(f"{name}0", f"{name}1", memory=MEMORY, count=3)}
    labels = {HOST: name}
    if chance(draw, 6):
        labels["volcano.sh/revocable-zone"] = "night"
    made = [
        node(name, 8, gpu=2, more=more, labels=labels, annotations=notes),
        measured(name, draw(st.integers(0, 8)), at=NOON),
    ]
    if draw(st.booleans()):
        made.append(topology(name, draw(st.sampled_from(["best-effort", "restricted", "single-numa-node"]))))
    return [*made, volume(f"disk-{name}", on=name)]


def running_job(draw: st.DrawFn, name: str, free: Counter[str]) -> list[Manifest]:
    members = []
    for _ in range(draw(st.integers(1, 4))):
        place, cpu = draw(st.sampled_from(NAMES)), draw(st.sampled_from([2, 1, 3, 4]))
        if free[place] >= cpu:
            free[place] -= cpu
            members.append(pod(cpu, nodeName=place, **traits(draw)))
    if not members:
        return []
    minimum = draw(st.integers(0, len(members)))
    return gang_of(*members, name=name, minimum=minimum, phase="Running", **of_group(draw))


def waiting_job(draw: st.DrawFn, name: str) -> list[Manifest]:
    count, facts = draw(st.integers(1, 4)), of_group(draw)
    kind = draw(
        st.sampled_from(["plain", "devices", "processors", "close", "parts", "roles", "disks", "little", "gpus"])
    )
    members = [member(draw, kind, name, place) for place in range(count)]
    if kind == "close":
        facts["topology"] = draw(st.sampled_from([HARD_RACK, HARD_BLOCK, SOFT]))
    if kind == "parts":
        facts["policies"] = [PAIRS]
    if kind == "roles":
        facts["notes"] = {"volcano.sh/task-topology-affinity": "ps,worker"}
    claims = [claim(f"{name}-{place}") for place in range(count)] if kind == "disks" else []
    return claims + gang_of(*members, name=name, minimum=draw(st.integers(1, count)), phase="Inqueue", **facts)


def member(draw: st.DrawFn, kind: str, job: str, place: int) -> Manifest:
    common = traits(draw)
    if kind == "processors":
        common["annotations"] |= {POLICY: draw(st.sampled_from(["best-effort", "restricted", "single-numa-node"]))}
        return pod(containers=[container(draw(st.integers(1, 4)))], **common)
    if kind == "parts":
        common["labels"] |= {"part": str(place // 2)}
    if kind == "gpus":
        common |= {"gpu": 1} if chance(draw, 4) else {}
        common["annotations"] |= {} if "gpu" in common else part(draw(st.sampled_from(["0.3", "0.5", "0.8"])))
    more = vgpu(1, draw(st.sampled_from([30, 60, 100]))) if kind == "devices" else {}
    role = ("ps" if place else "worker") if kind == "roles" else ""
    cpu = None if kind == "little" else draw(st.sampled_from([1, 2, 4, 6, 8]))
    if kind == "disks":
        common["volumes"] = using(f"{job}-{place}")
    return pod(cpu, more=more, role=role, **common)


def traits(draw: st.DrawFn) -> dict[str, Any]:
    """Draw properties that any pod may have."""
    notes = {RUN_TIME: draw(st.sampled_from(["10m", "1h"]))} if draw(st.booleans()) else {}
    if chance(draw, 5):
        notes["volcano.sh/preemptable"] = draw(st.sampled_from(["false", "true"]))
    return {"labels": {"app": draw(st.sampled_from(["red", "blue"]))}, "annotations": notes}


def of_group(draw: st.DrawFn) -> dict[str, Any]:
    return {"queue": draw(st.sampled_from(["one", "two"])), "priority": draw(st.sampled_from(["low", "high"]))}


def program_of(conf: str) -> Program:
    return Program(parse_configuration(conf, BUILT_IN), BUILT_IN)


def world_of(manifests: list[Manifest], program: Program) -> PlannedCluster:
    return PlannedCluster(objects(manifests), program, scheduler_names=SCHEDULER_NAMES)


@examples(20)
@given(manifests=worlds(), conf=configurations())
def test_ledger_is_consistent_and_evictions_cease(manifests: list[Manifest], conf: str) -> None:
    """An evicted pod takes a cycle to terminate, and is recreated."""
    world = world_of(manifests, program_of(conf))
    evicted: list[int] = []
    gone: list[kube.Pod] = []
    for cycle in range(12):
        world.end_terminations()
        before = Auditor(world.snapshot())
        session = world.decide(DecisionRecords())
        check_decisions(before, session)
        leaving = [world._cluster.pods.get(eviction.task.uid) for eviction in session.decisions.evictions]
        world.apply_decisions(session)
        for each in gone:
            world._cluster.apply(made_again(each, cycle))
        for each in leaving:
            world._cluster.apply(on_its_way_out(each))
        evicted.append(len(leaving))
        gone = leaving
        check_cluster(world)
    assert not any(evicted[-3:]), f"evictions by cycle: {evicted}"


def check_decisions(before: Auditor, session: Session) -> None:
    assert not [warning for warning in session.warnings if "failed" in warning or "judged" in warning]
    if not session.eviction_notes and not session.ledger.nominated.any():
        before.audit(session)
    rows = session.ledger.all_rows
    assert all((rows.future_idle(dimension) >= 0).all() for dimension in range(rows.resources))
    gone = [eviction.task.uid for eviction in session.decisions.evictions]
    assert len(gone) == len(set(gone))
    bound = [bind.uid for statement in session.decisions.binds for bind in statement]
    assert len(bound) == len(set(bound))


def check_cluster(world: PlannedCluster) -> None:
    """Check the resources of pods, recomputed from the objects."""
    assert audit(world._cluster) == []
    snapshot = world.snapshot()
    assert (snapshot.amounts[snapshot.layout.idle :][: snapshot.layout.resources] >= 0).all()
    memory, cpus = Counter[str](), defaultdict[str, int](int)
    check_gpus(world)
    for each in world._cluster.pods.all():
        notes = each.metadata.annotations or {}
        for entry in filter(None, notes.get(VGPU_IDS, "").split(":")) if each.spec.node_name else ():
            device, _, held, _ = entry.split(",")
            assert device.startswith(str(each.spec.node_name))
            memory[device] += int(held)
        for taken in map(parse_cpus, json.loads(notes.get(PROCESSORS, "{}")).values()):
            assert not cpus[str(each.spec.node_name)] & taken
            cpus[str(each.spec.node_name)] |= taken
    assert max(memory.values(), default=0) <= MEMORY


def check_gpus(world: PlannedCluster) -> None:
    """No GPU is shared beyond its capacity, and shared ones are not allocated whole."""
    parts, whole = Counter[tuple[str, str]](), Counter[str]()
    for each in world._cluster.pods.all():
        notes, place = each.metadata.annotations or {}, each.spec.node_name or ""
        if place and GROUPS in notes:
            parts[place, notes[GROUPS]] += int(10 * float(notes["gpu-fraction"]))
        elif place:
            requests = (each.spec.containers or [])[0].resources
            whole[place] += int(((requests and requests.requests) or {}).get("nvidia.com/gpu", 0))
    assert max(parts.values(), default=0) <= 10
    shared = Counter(place for place, _ in parts)
    assert all(whole[name] + shared[name] <= 2 for name in NAMES)


def on_its_way_out(old: kube.Pod) -> kube.Pod:
    return msgspec.structs.replace(old, metadata=msgspec.structs.replace(old.metadata, deletion_timestamp=NOON))


def made_again(old: kube.Pod, cycle: int) -> kube.Pod:
    """Return the replacement of an evicted pod, without its assignments."""
    notes = {key: text for key, text in (old.metadata.annotations or {}).items() if key not in GIVEN}
    return msgspec.structs.replace(
        old,
        metadata=msgspec.structs.replace(old.metadata, uid=f"{old.metadata.uid}-{cycle}", annotations=notes),
        spec=msgspec.structs.replace(old.spec, node_name=None),
        status=msgspec.structs.replace(old.status, phase="Pending"),
    )


@examples(6)
@given(manifests=worlds(), conf=configurations())
def test_a_plan_is_the_same_every_time(manifests: list[Manifest], conf: str) -> None:
    def planned(given_in_order: list[Manifest]) -> Any:
        plan = make_plan(objects(given_in_order), program_of(conf), cycles=3, scheduler_names=SCHEDULER_NAMES)
        decided = [(each.binds, each.pipelined, each.records, each.refusals) for each in plan.cycles]
        described = {key: (group.phase, group.nodes, group.reasons) for key, group in plan.groups.items()}
        return decided, described, plan.pods, plan.warnings

    assert planned(manifests) == planned(manifests) == planned(manifests[::-1])


@examples(25)
@given(manifests=worlds(), conf=configurations(), data=st.data())
def test_undo_leaves_no_trace_in_any_plugin(manifests: list[Manifest], conf: str, data: st.DataObject) -> None:
    """Plugins with their own accounting give the same results after an undo."""
    program = program_of(conf)
    session = Session(world_of(manifests, program).snapshot(), program)
    before, answers = session.ledger.fingerprint(), answers_of(session)
    with session.statement() as statement:
        for task in data.draw(st.permutations(tasks_of(session, TaskStatus.RUNNING)))[:4]:
            statement.evict(task, "test")
            fitting = [row for row in range(len(session.nodes)) if session.search.accepts(task, row)]
            relocates = bool(fitting) and data.draw(st.booleans())
            if relocates:
                statement.relocate(task, data.draw(st.sampled_from(fitting)))
        for task in data.draw(st.permutations(tasks_of(session, TaskStatus.PENDING))):
            if session.pre_predicate(task.task_class) is None and not task.task_class.best_effort:
                place_somewhere(session, statement, task)
        plan, done = statement.save(), (session.ledger.fingerprint(), answers_of(session))
        statement.rollback(0)
        assert (session.ledger.fingerprint(), answers_of(session)) == (before, answers)
        assert statement.recover(plan)
        assert (session.ledger.fingerprint(), answers_of(session)) == done
    assert (session.ledger.fingerprint(), answers_of(session)) == (before, answers)


def tasks_of(session: Session, status: TaskStatus) -> list[Task]:
    every = (task for job in session.jobs.values() for task in job.tasks.values())
    return [task for task in every if session.ledger.status_of(task) is status]


def place_somewhere(session: Session, statement: Statement, task: Task) -> None:
    rows = session.search.find_nodes(task, 1)
    if rows:
        statement.allocate([task], rows)
        session.search.settle(task.task_class, rows)
    elif (row := session.search.find_future_node(task)) >= 0:
        statement.pipeline(task, row)


def answers_of(session: Session) -> list[Any]:
    """Return the refusals of every task without a node, now or initially."""
    search, rows = session.search, range(len(session.nodes))
    return [
        (
            task.uid,
            search.find_nodes(task, 1),
            search.find_future_node(task),
            [search.accepts(task, row) for row in rows],
            [search.fits_now(task.task_class, row) for row in rows],
            str(search.refusals(task.task_class)),
        )
        for key in session.snapshot.waiting
        for task in session.jobs[key].tasks.values()
        if session.ledger.is_pending(task)
    ]
