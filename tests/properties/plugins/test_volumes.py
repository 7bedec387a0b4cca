"""`predicates` and volumes in random clusters: nothing is allocated twice, and undo leaves no trace."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from stromboli.cluster.audit.auditor import audit
from stromboli.core.model.tasks.task import Task
from stromboli.core.model.volumes.volumes import NO_NEEDS
from stromboli.core.session.session import Session
from stromboli.planner.virtual_cluster import PlannedCluster
from tests.testing.cases.case import configuration, flattened, objects
from tests.testing.manifests.builders import Manifest, gang_of, node, pod
from tests.testing.manifests.storage import (
    DRIVER,
    HOST,
    claim,
    csi_node,
    driver,
    storage_capacity_on,
    storage_class,
    using,
    volume,
)
from tests.testing.random_clusters.effort import examples
from tests.testing.random_clusters.engine import SCHEDULER_NAMES, program_of
from tests.testing.random_clusters.undo import check_fingerprints, do_something, tasks_of

PROGRAM = program_of(configuration("gang", "predicates"))
LETTERS = "abc"
SIZES = ("1Gi", "2Gi", "3Gi")
ONE_POD = "ReadWriteOncePod"

sizes = st.sampled_from(SIZES)
places = st.one_of(st.none(), st.sampled_from(LETTERS), st.just("ab"))
kinds = st.sampled_from(["local", "made"])
#: Claims by size, class, and whether only one pod may use them.
claims = st.lists(st.tuples(sizes, kinds, st.booleans()), min_size=1, max_size=5)
volumes = st.lists(st.tuples(sizes, places, kinds), max_size=6)
#: Storage and limit of each node; None if not reported.
stores = st.lists(st.one_of(st.none(), st.integers(0, 4)), min_size=3, max_size=3)
limits = st.lists(st.one_of(st.none(), st.integers(0, 3)), min_size=3, max_size=3)
#: Claims of each pod, by job and by number.
jobs = st.lists(st.lists(st.lists(st.integers(0, 4), max_size=3), min_size=1, max_size=3), min_size=1, max_size=4)


@dataclass
class Drawn:
    """A small cluster, and what was drawn for it."""

    claims: list[tuple[str, str, bool]]
    volumes: list[tuple[str, str | None, str]]
    stores: list[int | None]
    limits: list[int | None]
    jobs: list[list[list[int]]]
    manifests: list[Manifest] = field(init=False)

    def __post_init__(self) -> None:
        nodes = [node(letter, 9, labels={HOST: letter}) for letter in LETTERS]
        allocated_so_far: list[Any] = [*nodes, storage_class(), storage_class("made", DRIVER), driver()]
        for place, (size, of, alone) in enumerate(self.claims):
            allocated_so_far.append(claim(f"c{place}", size, of=of, modes=[ONE_POD] if alone else ["ReadWriteOnce"]))
        for place, (size, on, of) in enumerate(self.volumes):
            reached = None if on is None else list(on)
            allocated_so_far.append(volume(f"v{place}", size, on=reached, of=of, modes=["ReadWriteOnce", ONE_POD]))
        allocated_so_far += [
            storage_capacity_on(letter, f"{left}Gi") for letter, left in zip(LETTERS, self.stores, strict=True) if left
        ]
        allocated_so_far += [
            csi_node(letter, most, keys=[HOST]) for letter, most in zip(LETTERS, self.limits, strict=True)
        ]
        for place, members in enumerate(self.jobs):
            pods = (pod(volumes=using(*dict.fromkeys(f"c{n % len(self.claims)}" for n in used))) for used in members)
            allocated_so_far.append(gang_of(*pods, name=f"job{place}"))
        self.manifests = list(flattened(allocated_so_far))

    def world(self) -> PlannedCluster:
        return PlannedCluster(objects(self.manifests), PROGRAM, scheduler_names=SCHEDULER_NAMES)


worlds = st.builds(Drawn, claims, volumes, stores, limits, jobs)


@examples(60)
@given(drawn=worlds, cycles=st.integers(1, 3))
def test_nothing_is_allocated_twice(drawn: Drawn, cycles: int) -> None:
    world = drawn.world()
    chosen: list[tuple[str, str, str]] = []
    for _ in range(cycles):
        session = world.run_cycle()
        for statement in session.decisions.binds:
            for bind in statement:
                chosen += [
                    (each.claim, each.volume, bind.node) for each in (bind.volumes.choices if bind.volumes else ())
                ]
        assert audit(world._cluster) == []
    _check_volumes(drawn, chosen)
    _check_storage(drawn, chosen)
    _check_limits_and_exclusive_claims(drawn, world)


def _check_volumes(drawn: Drawn, chosen: Sequence[tuple[str, str, str]]) -> None:
    by_claim: dict[str, set[tuple[str, str]]] = {}
    for name, got, place in chosen:
        by_claim.setdefault(name, set()).add((got, place))
    assert all(len(got) == 1 for got in by_claim.values()), "pods that share a claim share what it gets"
    given_out = Counter(got for [(got, _)] in by_claim.values() if got)
    assert all(times == 1 for times in given_out.values())
    for name, [(got, place)] in by_claim.items():
        size, of, _ = drawn.claims[int(name[1:])]
        if got:
            volume_size, reached, volume_class = drawn.volumes[int(got[1:])]
            assert (volume_size >= size, volume_class) == (True, of)
            assert reached is None or place in reached
        else:
            assert of == "made"


def _check_storage(drawn: Drawn, chosen: Sequence[tuple[str, str, str]]) -> None:
    spent: Counter[str] = Counter()
    for name, got, place in {*chosen}:
        if not got:
            spent[place] += int(drawn.claims[int(name[1:])][0].removesuffix("Gi"))
    assert all(amount <= (drawn.stores[LETTERS.index(place)] or 0) for place, amount in spent.items())


def _check_limits_and_exclusive_claims(drawn: Drawn, world: PlannedCluster) -> None:
    attached: dict[str, set[str]] = {letter: set() for letter in LETTERS}
    users: Counter[str] = Counter()
    for each in world._cluster.pods.all():
        for used in each.spec.volumes or () if each.spec.node_name else ():
            name = used.name or ""
            users[name] += 1
            found = world._cluster.volumes.claim(f"default/{name}")
            held = world._cluster.volumes.volume(found.spec.volume_name or "") if found else None
            if held is not None and held.spec.csi is not None:
                attached[each.spec.node_name or ""].add(held.metadata.name)
    for letter, most in zip(LETTERS, drawn.limits, strict=True):
        assert most is None or len(attached[letter]) <= most
    assert all(users[f"c{place}"] <= 1 for place, (_, _, alone) in enumerate(drawn.claims) if alone)


@examples(60)
@given(drawn=worlds, data=st.data())
def test_undo_leaves_no_trace_and_saved_statements_can_be_replayed(drawn: Drawn, data: st.DataObject) -> None:
    check_fingerprints(Session(drawn.world().snapshot(), PROGRAM), data, len(LETTERS))


@examples(60)
@given(drawn=worlds, data=st.data())
def test_node_is_accepted_exactly_when_everything_is_available(drawn: Drawn, data: st.DataObject) -> None:
    """Nodes are evaluated all at once; here each is evaluated by trying it."""
    session = Session(drawn.world().snapshot(), PROGRAM)
    tasks = tasks_of(session)
    with session.statement() as statement:
        for _ in range(data.draw(st.integers(0, 4))):
            do_something(session, statement, tasks, data, len(LETTERS))
        for task in tasks:
            needs = task.task_class.volumes or NO_NEEDS
            if session.ledger.is_pending(task) and needs.fault is None:
                volumes = session.ledger.volumes
                admitted = volumes.satisfiable(needs) & volumes.within_limits(needs)
                assert admitted.tolist() == [_fits(session, task, row) for row in range(len(LETTERS))]


def _fits(session: Session, task: Task, row: int) -> bool:
    books = session.ledger.volumes
    if task.task_class.volumes is None:
        return True
    before = books.fingerprint()
    fits = books.take(task, row)
    if fits:
        books.give_back(task, row)
    assert books.fingerprint() == before
    return fits


def test_restored_pipelined_task_has_its_previous_volumes() -> None:
    volumes_of_b: list[tuple[str, str | None, str]] = [("2Gi", "b", "local"), ("2Gi", "b", "local")]
    drawn = Drawn([("1Gi", "local", False)] * 2, volumes_of_b, [None] * 3, [None] * 3, [[[0]], [[1]]])
    session = Session(drawn.world().snapshot(), PROGRAM)
    first, second = tasks_of(session)
    with session.statement() as statement:
        statement.pipeline(first, 1)
        statement.pipeline(second, 1)
        before = session.ledger.fingerprint()
        statement.unpipeline(first)
        assert session.ledger.volumes.order_of(first) is None
        statement.rollback(2)
        assert session.ledger.fingerprint() == before
        assert [session.ledger.volumes.order_of(task) is not None for task in (first, second)] == [True, True]


def test_drawn_clusters_reach_their_limits() -> None:
    """The drawn clusters allocate and provision volumes and reach limits: otherwise they would prove nothing."""
    drawn = Drawn(
        [("1Gi", "local", False), ("1Gi", "made", False), ("1Gi", "made", True)],
        [("2Gi", "b", "local")],
        [None, 1, 1],
        [None, 0, 1],
        [[[0]], [[1]], [[2]], [[2]]],
    )
    session = drawn.world().run_cycle()
    binds = [bind for statement in session.decisions.binds for bind in statement]
    assert [bind.node for bind in binds] == ["b", "c"]
    assert [choice.volume for bind in binds if bind.volumes for choice in bind.volumes.choices] == ["v0", ""]
    assert np.count_nonzero(session.ledger.volumes._taken) == 1
