"""gpusharing in random clusters: no GPU is allocated beyond its capacity, whole GPUs are whole, undo is exact, and a
restarted scheduler restores the same state.
"""

from __future__ import annotations

from collections import defaultdict
from random import Random
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from stromboli.cluster.audit.auditor import audit
from stromboli.cluster.audit.summary import summary_of
from stromboli.cluster.snapshot import current_view
from stromboli.cluster.state.cluster import Cluster
from stromboli.core.config.configuration import parse_configuration
from stromboli.core.model.devices.gpu_fractions import GROUPS
from stromboli.core.plugins.gpusharing.plugin import GpuSharing
from stromboli.core.plugins.gpusharing.rules import GpuColumns
from stromboli.core.session.program import Program
from stromboli.core.session.session import Session
from stromboli.planner.virtual_cluster import PlannedCluster
from tests.testing.cases.case import BUILT_IN, SCHEDULER_NAMES, flattened, objects, plugin
from tests.testing.manifests.builders import Manifest, gang, gang_of, pod, priority_class
from tests.testing.manifests.fractional_gpus import gpus, member, memory, part, reservation, sharing
from tests.testing.random_clusters.effort import examples
from tests.testing.random_clusters.undo import Step, check_steps, steps

shares = st.one_of(
    st.builds(part, st.sampled_from(["0.1", "0.25", "0.333", "0.5", "0.6", "0.9", "1"]), st.sampled_from([None, 2])),
    st.builds(memory, st.sampled_from([100, 700, 1500, 3000]), st.sampled_from([None, 2])),
)
#: Requests of each job: fractions, or whole GPUs.
requests = st.one_of(shares, shares, st.integers(1, 2))
jobs = st.lists(
    st.tuples(st.integers(1, 5), st.integers(0, 5), requests, st.sampled_from(["urgent", "lazy"])),
    min_size=1,
    max_size=5,
)
#: Number of GPUs of each node, memory of each, and pod slots.
machines = st.lists(
    st.tuples(st.integers(0, 3), st.sampled_from([None, 1500, 3000]), st.sampled_from([3, 20])), min_size=1, max_size=3
)
policies = st.sampled_from(["gpupack", "gpuspread"])
CLASSES = [priority_class("urgent", 100), priority_class("lazy", 1)]


def nodes_of(numbers: list[Any]) -> list[Manifest]:
    return [gpus(name, each, size, pods=pods) for name, (each, size, pods) in zip("abc", numbers, strict=False)]


def gang_wanting(name: str, count: int, minimum: int, request: Any, priority: str) -> list[Manifest]:
    wanted = {"gpu": request} if isinstance(request, int) else {"annotations": request}
    members: list[Manifest] = gang(
        count, name=name, minimum=min(minimum, count), priority=priority, priorityClassName=priority, **wanted
    )
    return members


def gangs(jobs: list[Any]) -> list[Any]:
    return [gang_wanting(f"job{place}", *job) for place, job in enumerate(jobs)]


def program_of(policy: str, *, actions: str = "enqueue, allocate, preempt") -> Program:
    conf = sharing(plugin("priority"), SchedulePolicy=policy, actions=actions)
    return Program(parse_configuration(conf, BUILT_IN), BUILT_IN)


def world_of(program: Program, *manifests: Any) -> PlannedCluster:
    return PlannedCluster(objects(flattened(manifests)), program, scheduler_names=SCHEDULER_NAMES)


def check_gpus(world: PlannedCluster, numbers: list[Any]) -> None:
    """Count the GPUs of pods on nodes from the objects."""
    sizes = {name: (each, size or 0) for name, (each, size, _) in zip("abc", numbers, strict=False)}
    used, whole = defaultdict[tuple[str, str], int](int), defaultdict[str, int](int)
    for each in world._cluster.pods.all():
        said, place = each.metadata.annotations or {}, each.spec.node_name or ""
        if not place:
            continue
        asked = ((each.spec.containers or [])[0].resources.requests or {}).get("nvidia.com/gpu", 0)  # type: ignore[union-attr]
        whole[place] += int(asked)
        groups = said.get(GROUPS, "").split(",") if GROUPS in said else []
        assert len(set(groups)) == len(groups)
        if groups:
            assert len(groups) == int(said.get("gpu-fraction-num-devices", 1))
        for group in groups:
            size = sizes[place][1] or 1
            fraction = int(1000 * float(said.get("gpu-fraction", 0)) + 0.5)
            used[place, group] += fraction * size + 1000 * int(said.get("gpu-memory", 0))
    for (place, group), amount in used.items():
        assert amount <= 1000 * (sizes[place][1] or 1), (place, group)
    for place, (each, _) in sizes.items():
        assert whole[place] + len({group for where, group in used if where == place}) <= each


@examples(60)
@given(numbers=machines, jobs=jobs, policy=policies)
def test_no_gpu_is_allocated_beyond_its_capacity(numbers: list[Any], jobs: list[Any], policy: str) -> None:
    world = world_of(program_of(policy), CLASSES, nodes_of(numbers), gangs(jobs))
    for _ in range(3):
        world.run_cycle()
        check_gpus(world, numbers)


def books_in(program: Program) -> str:
    found = program.plugins["gpusharing"]
    assert isinstance(found, GpuSharing)
    return found.state.fingerprint()


@examples(20)
@given(numbers=machines, jobs=jobs, policy=policies)
def test_restart_changes_nothing(numbers: list[Any], jobs: list[Any], policy: str) -> None:
    program = program_of(policy, actions="enqueue, allocate")
    world = world_of(program, CLASSES, nodes_of(numbers), gangs(jobs))
    session = world.run_cycle()
    if any(kept.operations for kept in session.kept):
        return
    known, fresh = books_in(program), program_of(policy)
    Session(world.snapshot(), fresh)
    assert books_in(fresh) == known


@examples(30)
@given(numbers=machines, jobs=jobs, policy=policies, request=shares, later=st.booleans(), held=st.booleans())
def test_result_for_all_nodes_equals_results_for_each_node(
    numbers: list[Any], jobs: list[Any], policy: str, request: Any, later: bool, held: bool
) -> None:
    """The result for all nodes equals the results for each node."""
    program = program_of(policy)
    world = world_of(program, CLASSES, nodes_of(numbers), gangs(jobs), gang_wanting("late", 1, 1, request, "lazy"))
    world.run_cycle()
    session = Session(world.snapshot(), program)
    session.ledger.holds_nominated = held
    found = program.plugins["gpusharing"]
    assert isinstance(found, GpuSharing)
    for task in session.jobs["default/late"].tasks.values():
        asked = found.state.request_of(task.task_class)
        assert asked is not None
        column = GpuColumns(found.state).column(task.task_class, session.ledger, later=later)
        picks = [found.state.pick(asked, row, later=later) for row in range(len(session.nodes))]
        assert column.fits.tolist() == [pick is not None for pick in picks]
        assert column.joins.tolist() == [pick is not None and not pick.fresh for pick in picks]


@examples(30)
@given(numbers=machines, jobs=jobs, policy=policies, request=requests, count=st.integers(2, 6))
def test_batch_equals_one_by_one(numbers: list[Any], jobs: list[Any], policy: str, request: Any, count: int) -> None:
    crowd = gang_wanting("crowd", count, 1, request, "lazy")
    placed = []
    for most in (count, 1):
        program = program_of(policy)
        world = world_of(program, CLASSES, nodes_of(numbers), gangs(jobs), crowd)
        world.run_cycle()  # some of them have GPUs already
        session = Session(world.snapshot(), program)
        placed.append((all_placed(session, most), books_in(program)))
    assert placed[0] == placed[1]


def all_placed(session: Session, most: int) -> list[int]:
    """Return the nodes of all waiting pods, placed at most so many at a time."""
    statement, taken = session.statement(), list[int]()
    for _, job in sorted(session.jobs.items()):
        tasks = session.pending(job)
        while tasks:
            rows = session.search.find_nodes(tasks[0], min(most, len(tasks)))
            if not rows:
                break
            statement.allocate(tasks[: len(rows)], rows)
            session.search.settle(tasks[0].task_class, rows)
            taken += rows
            tasks = tasks[len(rows) :]
    statement.keep()
    return taken


def standing(numbers: list[Any]) -> list[Manifest]:
    """Return two pods on every GPU but the last of each node, which they fill, and their reservation pods."""
    places = [
        (name, f"{name}{place}")
        for name, (each, _, _) in zip("abc", numbers, strict=False)
        for place in range(each - 1)
    ]
    members = [member(name, group) for name, group in places for _ in range(2)]
    holders = [reservation(name, group) for name, group in places]
    return [*(gang_of(*members, name="old", minimum=0, phase="Running") if members else []), *holders]


@examples(60)
@given(numbers=machines, jobs=jobs, policy=policies, steps=steps)
def test_undo_is_exact(numbers: list[Any], jobs: list[Any], policy: str, steps: list[Step]) -> None:
    program = program_of(policy)
    manifests = [CLASSES, nodes_of(numbers), standing(numbers), gangs(jobs)]
    session = Session(world_of(program, *manifests).snapshot(), program)
    check_steps(session, steps, len(numbers), lambda: books_in(program))


@examples(40)
@given(
    sizes=st.lists(st.sampled_from([None, 1500, 3000]), min_size=4, max_size=4),
    wanted=st.lists(st.tuples(shares, st.sampled_from(["", "a", "b"]), st.booleans()), max_size=5),
    random=st.randoms(use_true_random=False),
)
def test_any_event_order_converges(sizes: list[Any], wanted: list[Any], random: Random) -> None:
    """Nodes change their reported memory, and pods are bound: the final state does not depend on the order."""
    program = program_of("gpupack")
    before, after = (
        list(objects([gpus("a", 2, sizes[start]), gpus("b", 2, sizes[start + 1]), *pods_of(wanted, bound=bound)]))
        for start, bound in ((0, False), (2, True))
    )
    cluster = Cluster(SCHEDULER_NAMES, program.class_labels, program.class_annotations)
    for versions in (before, after):
        for entry in random.sample(versions, len(versions)):
            cluster.apply(entry)
            if random.random() < 0.2:
                cluster.snapshot()
    fresh = Cluster(SCHEDULER_NAMES, program.class_labels, program.class_annotations)
    for entry in after:
        fresh.apply(entry)
    assert audit(cluster) == []
    assert summary_of(current_view(cluster)) == summary_of(current_view(fresh))


def pods_of(wanted: list[Any], *, bound: bool) -> list[Manifest]:
    """Return pods by request, target node and scheduler; and their reservation pods."""
    made = [reservation("a", "x")] if bound else []
    for place, (request, goes_to, ours) in enumerate(wanted):
        has = bound and goes_to
        annotations = {**request, GROUPS: "x"} if has and ours else request
        made.append(pod(1, name=f"pod-{place}", annotations=annotations, **({"nodeName": goes_to} if has else {})))
    return made


words = st.one_of(st.text(max_size=12), st.sampled_from(["0.5", "1e-9", "-0", "1e9999", "Infinity", "8", "9" * 40]))


@examples(40)
@given(
    said=st.dictionaries(
        st.sampled_from(["gpu-fraction", "gpu-memory", "gpu-fraction-num-devices", "gpu-fraction-container-name"]),
        words,
    ),
    groups=words,
    label=words,
    policy=policies,
)
def test_invalid_pod_or_node_affects_no_other(said: dict[str, str], groups: str, label: str, policy: str) -> None:
    """Other pods can still share GPUs elsewhere."""
    program = program_of(policy)
    world = world_of(
        program, CLASSES, gpus("a", 1, label), gpus("b", 1, 3000),
        gang(1, name="bad", annotations=said, nodeSelector={"node": "a"}),
        gang_of(member("a", groups, said), name="old", minimum=0, phase="Running"),
        gang(2, annotations=memory(1500), nodeSelector={"node": "b"}),
    )  # fmt: skip
    session = world.run_cycle()
    bound = {bind.name for statement in session.decisions.binds for bind in statement}
    assert {"gang-task-0", "gang-task-1"} <= bound
