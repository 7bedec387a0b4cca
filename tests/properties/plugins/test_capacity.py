"""capacity in random queue trees: no limit is exceeded, no guarantee used by others, and errors stay local."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from stromboli.cluster.objects.queues import queue_of
from stromboli.core.model.queues.queue import ROOT
from stromboli.core.model.resources.resources import CPU, MEMORY, ResourceAxis
from stromboli.core.model.tasks.task import Task, TaskStatus
from stromboli.core.plugins.capacity.queue_limits import QueueTree, flat_limits, tree_limits
from stromboli.core.session.session import Session
from stromboli.kube.objects.kinds import decode
from stromboli.planner.plan import SchedulingPlan
from tests.testing.cases.case import Case, configuration, objects, plugin
from tests.testing.manifests.builders import Manifest, gang, nodes, queue, running
from tests.testing.random_clusters import engine
from tests.testing.random_clusters.effort import examples
from tests.testing.random_clusters.engine import program_of, session_of

NAMES = ("one", "two", "three", "four", "five")
RESOURCES = ("cpu", "memory")
#: Cores and gigabytes; small enough that sums are often uneven.
Amounts = Mapping[str, int]
amounts = st.dictionaries(st.sampled_from(RESOURCES), st.integers(0, 7), max_size=2)
#: A parent that may be the queue itself, a later one, or missing.
odd_parents = st.sampled_from((ROOT, *NAMES, "nowhere"))


def quantities(given_amounts: Amounts) -> dict[str, object]:
    return {name: f"{amount}Gi" if name == "memory" else amount for name, amount in given_amounts.items()}


@dataclass(frozen=True)
class Team:
    name: str
    parent: str | None
    deserved: Amounts
    guarantee: Amounts
    capability: Amounts

    @property
    def manifest(self) -> Manifest:
        made = queue(
            self.name,
            None,
            parent=self.parent,
            guarantee=quantities(self.guarantee),
            capability=quantities(self.capability),
        )
        return {**made, "spec": {**made["spec"], "deserved": quantities(self.deserved)}}

    def ceiling(self, resource: str) -> int | None:
        """Return the capability; zero cpu or memory means no limit."""
        return self.capability.get(resource) or None


@st.composite
def forests(draw: st.DrawFn, mistakes: bool = True) -> list[Team]:
    """Draw queues by name. Parents come before their children, except for errors, and the first has most of them."""
    names = NAMES[: draw(st.integers(2, len(NAMES)))]
    return [
        Team(
            name,
            draw(
                odd_parents
                if mistakes and draw(st.integers(1, 5)) == 5
                else st.sampled_from((*names[:place], *names[: min(place, 1)], None))
            ),
            draw(amounts),
            draw(st.one_of(st.just({}), amounts)),
            draw(amounts),
        )
        for place, name in enumerate(names)
    ]


def chain_of(name: str, teams: Mapping[str, Team]) -> Iterator[str]:
    """Yield a queue and its existing ancestors; a cycle ends where it began."""
    seen: list[str] = []
    while name in teams and name not in seen:
        seen.append(name)
        yield name
        name = teams[name].parent or ROOT


def is_sound(name: str, teams: Mapping[str, Team]) -> bool:
    last = list(chain_of(name, teams))[-1]
    return (teams[last].parent or ROOT) == ROOT


#: (queue, pods, minimum, cores, gigabytes) of waiting jobs, and (queue, pods) of running ones. Queues by number.
jobs = st.lists(
    st.tuples(st.integers(0, 9), st.integers(1, 4), st.integers(0, 3), st.integers(1, 3), st.integers(0, 3)),
    min_size=2,
    max_size=6,
)
runners = st.lists(st.tuples(st.integers(0, 9), st.integers(1, 3)), max_size=4)


@dataclass(frozen=True)
class Setting:
    teams: Mapping[str, Team]
    waiting: Sequence[tuple[str, int, int, int, int]]
    runs: Sequence[tuple[str, int]]

    @property
    def manifests(self) -> list[Any]:
        machines = nodes(6, 2, memory="12Gi")
        queues = [team.manifest for team in self.teams.values()]
        old = [running("ab"[place % 2] * n, 1, memory="1Gi", name=f"old{place}", queue=name)
               for place, (name, n) in enumerate(self.runs)]  # fmt: skip
        new = [
            gang(n, cores, memory=f"{size}Gi" if size else None, name=f"new{place}", queue=name, minimum=min(least, n))
            for place, (name, n, least, cores, size) in enumerate(self.waiting)
        ]
        return [machines, queues, old, new]

    def use_before(self) -> dict[str, dict[str, int]]:
        use: dict[str, dict[str, int]] = defaultdict(lambda: dict.fromkeys(RESOURCES, 0))
        for name, count in self.runs:
            for each in chain_of(name, self.teams):
                use[each]["cpu"] += count
                use[each]["memory"] += count
        return use

    def use_after(self, plan: SchedulingPlan) -> dict[str, dict[str, int]]:
        use = self.use_before()
        gone = {key.partition("/")[2] for key in plan.evictions}
        for place, (name, count) in enumerate(self.runs):
            left = sum(f"old{place}-task-{number}" not in gone for number in range(count))
            for each in chain_of(name, self.teams):
                use[each]["cpu"] -= count - left
                use[each]["memory"] -= count - left
        placed = {**plan.binds, **plan.pipelined}
        for place, (name, count, _, cores, size) in enumerate(self.waiting):
            got = sum(f"default/new{place}-task-{number}" in placed for number in range(count))
            for each in chain_of(name, self.teams):
                use[each]["cpu"] += got * cores
                use[each]["memory"] += got * size
        return use


def setting(teams: Sequence[Team], waiting: Any, runs: Any) -> Setting:
    """Small numbers select leaf queues in turn; large ones any queue."""
    known = {team.name: team for team in teams}
    ends = sorted(set(known) - {team.parent for team in teams}) or sorted(known)

    def name_of(number: int) -> str:
        return ends[number % len(ends)] if number < 8 else sorted(known)[number % len(known)]

    return Setting(
        known, [(name_of(number), *more) for number, *more in waiting], [(name_of(number), n) for number, n in runs]
    )


ORDERS = ("enqueue, allocate", "enqueue, allocate, reclaim", "enqueue, reclaim, allocate")


def plan_of(world: Setting, *, tree: bool, actions: str = ORDERS[0], level: int = 0) -> SchedulingPlan:
    own = plugin("capacity", {"ancestorReclaimLevel": level}, enableHierarchy=tree)
    return Case("", world.manifests, binds="").plan(configuration("gang", own, "predicates", actions=actions))


@examples(250)
@given(forests(), jobs, runners, st.sampled_from(ORDERS), st.integers(0, 2))
def test_no_queue_exceeds_the_capability_of_an_ancestor(
    teams: list[Team], waiting: Any, runs: Any, actions: str, level: int
) -> None:
    world = setting(teams, waiting, runs)
    before, after = world.use_before(), world.use_after(plan_of(world, tree=True, actions=actions, level=level))
    for name, team in world.teams.items():
        for resource in RESOURCES:
            ceiling = team.ceiling(resource)
            if ceiling is not None and after[name][resource] > before[name][resource]:
                assert after[name][resource] <= ceiling, f"{name}: {resource}"


@examples(100)
@given(forests(mistakes=False), jobs, runners, st.booleans())
def test_guarantees_of_other_queues_are_not_used(teams: list[Team], waiting: Any, runs: Any, tree: bool) -> None:
    """A queue without a guarantee grows only into capacity that is not guaranteed to others."""
    flat = [Team(team.name, None, team.deserved, team.guarantee, team.capability) for team in teams]
    world = setting(flat, waiting, runs)
    before, after = world.use_before(), world.use_after(plan_of(world, tree=tree))
    for resource, total in (("cpu", 12), ("memory", 24)):
        kept = {
            name: min(team.guarantee.get(resource, 0), team.ceiling(resource) or total)
            for name, team in world.teams.items()
        }
        for name in world.teams:
            if not kept[name] and after[name][resource] > before[name][resource]:
                unused = sum(max(kept[other] - after[other][resource], 0) for other in world.teams)
                assert sum(use[resource] for use in after.values()) + unused <= total


@examples(100)
@given(forests(), jobs, runners)
def test_invalid_queues_affect_no_other_queue(teams: list[Team], waiting: Any, runs: Any) -> None:
    """Invalid queues get nothing, and the others do what they would do without them."""
    world = setting(teams, waiting, runs)
    sound = {name: team for name, team in world.teams.items() if is_sound(name, world.teams)}
    runs = [row for row in world.runs if row[0] in sound]
    cleared = [row if row[0] in sound else ("default", 0, *row[2:]) for row in world.waiting]
    whole = plan_of(Setting(world.teams, world.waiting, runs), tree=True)
    part = plan_of(Setting(sound, cleared, runs), tree=True)
    assert whole.binds == part.binds


@examples(80)
@given(forests(), jobs, runners)
def test_partial_queue_order_equals_full_queue_order(teams: list[Team], waiting: Any, runs: Any) -> None:
    """Computing only the key of the apparently best queue again gives the same order as computing all keys."""
    world = objects(Case("", setting(teams, waiting, runs).manifests, binds="").manifests)
    program = program_of(configuration("gang", plugin("capacity", enableHierarchy=True), "predicates"))
    by_the_best = engine.plan_of(world, program).binds
    program.plugins["capacity"].queue_order_only_grows = False
    assert by_the_best == engine.plan_of(world, program).binds


@examples(300)
@given(forests(), st.booleans())
def test_inqueue_amounts_add_up(teams: list[Team], tree: bool) -> None:
    axis, total, shareable = ResourceAxis(), [5_000, 24 << 30, 110], [3_000, 24 << 30, 108]
    queues = {team.name: queue_of(decode(team.manifest), axis) for team in teams}  # type: ignore[arg-type]
    forest = QueueTree(queues)
    promises = (
        tree_limits(forest, shareable, axis) if tree else flat_limits(list(queues.values()), total, shareable, axis)
    )
    assert (promises.guarantee <= promises.deserved).all()
    assert (promises.limit <= promises.ceiling).all()
    assert (promises.guarantee >= 0).all()
    assert (promises.limit >= 0).all()
    if tree:
        assert {*forest.row, *forest.cut_off} == {*queues, ROOT}
        below = forest.parents[1:]
        for table in (promises.guarantee, promises.deserved):
            sums = np.zeros_like(table)
            np.add.at(sums, below, table[1:])
            assert (sums <= table).all()
        for table in (promises.limit, promises.ceiling):
            assert (table[1:] <= table[below]).all()


@examples(150)
@given(forests(mistakes=False), runners, st.integers(0, 9), st.integers(1, 3), st.booleans())
def test_victims_come_from_queues_above_their_share(
    teams: list[Team], runs: Any, preemptor: int, cores: int, tree: bool
) -> None:
    """Allowed victims may be evicted one after the other: each time the queue exceeds its deserved share."""
    world = setting(teams, [(preemptor, 1, 1, cores, 0)], runs)
    own = plugin("capacity", enableHierarchy=tree)
    manifests = Case("", world.manifests, binds="").manifests
    session = session_of(objects(manifests), program_of(configuration("gang", own, actions="allocate")))
    [waits] = [task for task in tasks_of(session) if session.ledger.is_pending(task)]
    candidates = [t for t in tasks_of(session) if session.ledger.status_of(t) is TaskStatus.RUNNING]
    chosen = {task.uid for task in session.reclaimable(waits, candidates)}
    for victim in session.victims_in_order(candidates, session.jobs[waits.job]):
        if victim.uid in chosen:
            check_victim(session, victim, session.jobs[waits.job].queue)
            session.evict(victim, "test")


def tasks_of(session: Session) -> list[Task]:
    return [task for job in session.jobs.values() for task in job.tasks.values()]


def check_victim(session: Session, victim: Task, preemptor: str) -> None:
    """A queue above the preemptor's keeps what is taken from it, so its guarantee is not affected."""
    name = session.jobs[victim.job].queue
    facts = session.queue_facts(session.queues[name])
    assert facts is not None
    has = session.ledger.queues[name].allocated
    deserved = {d: facts.deserved[d] for d in (CPU, MEMORY) if facts.deserved[d]}
    assert not deserved or any(has[d] > amount for d, amount in deserved.items())
    keeps = name in (books.name for books in session.ledger.queues[preemptor].chain[1:])
    for dimension, amount in () if keeps else session.queues[name].guarantee:
        lost = dict(victim.task_class.request).get(dimension, 0)
        ceiling = dict(session.queues[name].capability).get(dimension, amount)
        assert has[dimension] - lost >= min(amount, ceiling) or tree_cut(session, name, dimension)


def tree_cut(session: Session, name: str, dimension: int) -> bool:
    """Report whether an ancestor limits the guarantee of this queue."""
    names = [books.name for books in session.ledger.queues[name].chain[1:]]
    above = [session.queues[each] for each in names if each in session.queues]
    return any(dimension in dict((*each.capability, *each.guarantee)) for each in above)
