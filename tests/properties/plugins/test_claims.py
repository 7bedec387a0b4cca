"""Claimed devices in random clusters: every possible allocation is found, nothing is allocated twice, and undo leaves
no trace.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations, combinations_with_replacement, product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stromboli.cluster.audit.auditor import audit
from stromboli.core.model.devices.claims import (
    NO_CLAIMS,
    CapacityAmount,
    ClaimDemand,
    Constraint,
    Device,
    DeviceAlternative,
    DeviceCriteria,
    DeviceName,
)
from stromboli.core.model.devices.device_search import Search, SearchLimitExceeded
from stromboli.core.model.devices.device_table import DeviceTable, DeviceUse, Grant, MatchingDevices
from stromboli.core.model.devices.search_memory import BoundedSearch, SearchMemory
from stromboli.core.model.nodes.table import Node, NodeTable
from stromboli.core.model.tasks.task import Task
from stromboli.core.session.session import Session
from stromboli.planner.virtual_cluster import PlannedCluster
from tests.testing.cases.case import configuration, flattened, objects
from tests.testing.manifests.builders import Manifest, gang_of, node, pod, running
from tests.testing.manifests.resource_claims import (
    DRIVER,
    claim_spec,
    claiming,
    device,
    device_class,
    exactly,
    matching,
    offer,
    resource_claim,
    template,
)
from tests.testing.random_clusters.effort import examples
from tests.testing.random_clusters.engine import SCHEDULER_NAMES, program_of
from tests.testing.random_clusters.undo import check_fingerprints, do_something, tasks_of

# -- the search against all there is ------------------------------------------------------------------------------

EVERY, SOME = DeviceCriteria(("every",)), DeviceCriteria(("some",))
NODES = NodeTable([Node("n")])
COUNTER = "cards/memory"


@dataclass
class Drawn:
    """Devices by board (none, x or y), their use of the counter, and the number of parts they can be shared in."""

    boards: list[str]
    takes: list[int]
    parts: list[int]
    some: list[bool]
    taken: list[bool]
    counter: int
    table: DeviceTable = field(init=False)
    use: DeviceUse = field(init=False)

    def __post_init__(self) -> None:
        facts = zip(self.boards, self.takes, self.parts, strict=True)
        devices = tuple(
            Device(
                DeviceName("d", "n", str(number)),
                node="n",
                attributes={"board": board} if board else {},
                capacity={"d/part": CapacityAmount(part)} if part else {},
                counters=((COUNTER, takes),) if takes else (),
                is_shared=bool(part),
            )
            for number, (board, takes, part) in enumerate(facts)
        )
        masks = {EVERY: np.ones(len(devices), dtype=np.bool_), SOME: np.array(self.some, dtype=np.bool_)}
        self.table = DeviceTable(
            devices, {COUNTER: self.counter}, {suit: MatchingDevices(mask) for suit, mask in masks.items()}
        )
        self.use = DeviceUse(self.table)
        for number, (is_taken, takes) in enumerate(zip(self.taken, self.takes, strict=True)):
            if is_taken and not takes:
                portions = (("d/part", 1),) if self.parts[number] else ()
                self.use.add([Grant(number, "other", portions=portions)], 1)

    def is_valid(self, demand: ClaimDemand, chosen: Sequence[tuple[DeviceAlternative, Sequence[int]]]) -> bool:
        times: Counter[int] = Counter()
        parts: Counter[int] = Counter()
        for alternative, devices in chosen:
            for number in devices:
                if not self.table.suited[alternative.suit].mask[number] or (
                    alternative.capacity and not self.parts[number]
                ):
                    return False
                if not alternative.is_admin:
                    times[number] += 1
                    parts[number] += dict(alternative.capacity).get("part", self.parts[number])
        drawn = sum(self.takes[number] for number in times if not self.use.users[number])
        own = all(self._is_free(number, times[number], parts[number]) for number in times)
        return own and drawn <= self.counter and all(self._holds(each, chosen) for each in demand.constraints)

    def _is_free(self, number: int, times: int, parts: int) -> bool:
        users = int(self.use.users[number])
        return parts + users <= self.parts[number] if self.parts[number] else times + users <= 1

    def _holds(self, constraint: Constraint, chosen: Sequence[tuple[DeviceAlternative, Sequence[int]]]) -> bool:
        values = [
            self.boards[number]
            for alternative, devices in chosen
            if constraint.applies_to(alternative)
            for number in devices
        ]
        if constraint.is_distinct:
            return all(values) and len(set(values)) == len(values)
        return all(values) and len(set(values)) <= 1

    def everything(self, demand: ClaimDemand) -> Iterator[list[tuple[DeviceAlternative, Sequence[int]]]]:
        """Yield all assignments of devices to requests, valid or not."""
        numbers = range(len(self.boards))
        for ways in product(*demand.requests):
            choices = []
            for alternative in ways:
                if alternative.takes_all:
                    choices.append([tuple(n for n in numbers if self.table.suited[alternative.suit].mask[n])])
                elif alternative.is_admin:
                    choices.append(list(combinations(numbers, alternative.count)))
                else:
                    choices.append(list(combinations_with_replacement(numbers, alternative.count)))
            for devices in product(*choices):
                if all(devices):
                    yield list(zip(ways, devices, strict=True))


size = 4
offers = st.builds(
    Drawn,
    st.lists(st.sampled_from(["", "x", "y"]), min_size=size, max_size=size),
    st.lists(st.sampled_from([0, 0, 1, 2]), min_size=size, max_size=size),
    st.lists(st.sampled_from([0, 0, 2, 3]), min_size=size, max_size=size),
    st.lists(st.booleans(), min_size=size, max_size=size),
    st.lists(st.sampled_from([False, False, True]), min_size=size, max_size=size),
    st.integers(0, 4),
)
alternatives = st.builds(
    lambda suit, count, everything, admin, part: DeviceAlternative(
        "", "c", suit, count, takes_all=everything, is_admin=admin, capacity=(("part", part),) if part else ()
    ),
    st.sampled_from([EVERY, SOME]), st.integers(1, 2), st.sampled_from([False, False, False, True]),
    st.sampled_from([False, False, False, True]), st.sampled_from([0, 0, 1, 2]),
)  # fmt: skip
constraints = st.lists(
    st.builds(lambda of, distinct: Constraint("board", of, distinct), st.sampled_from([(), ("r0",)]), st.booleans()),
    max_size=1,
)


def demand_of(ways: list[list[DeviceAlternative]], bonds: list[Constraint]) -> ClaimDemand:
    def named(request: int, way: int, alternative: DeviceAlternative) -> DeviceAlternative:
        name = f"r{request}/w{way}"
        return DeviceAlternative(
            name,
            "c",
            alternative.suit,
            alternative.count,
            alternative.takes_all,
            alternative.is_admin,
            alternative.capacity,
        )

    requests = [tuple(named(r, w, alternative) for w, alternative in enumerate(each)) for r, each in enumerate(ways)]
    return ClaimDemand("claim", 0, tuple(requests), tuple(bonds))


demands = st.builds(
    demand_of, st.lists(st.lists(alternatives, min_size=1, max_size=2), min_size=1, max_size=2), constraints
)


@examples(250)
@given(drawn=offers, demand=demands)
def test_every_possible_allocation_is_found(drawn: Drawn, demand: ClaimDemand) -> None:
    found = Search(drawn.table, NODES, 0, [drawn.use]).find([demand])
    possible = any(drawn.is_valid(demand, chosen) for chosen in drawn.everything(demand))
    assert (found is not None) == possible
    if found is not None:
        alternative_of = {alternative.name: alternative for ways in demand.requests for alternative in ways}
        chosen: dict[str, list[int]] = {}
        for grant in found[0]:
            chosen.setdefault(grant.request, []).append(grant.device)
        assert drawn.is_valid(demand, [(alternative_of[name], devices) for name, devices in chosen.items()])
        assert {name.partition("/")[0] for name in chosen} == {f"r{n}" for n in range(len(demand.requests))}


@examples(100)
@given(clusters=st.lists(offers, min_size=2, max_size=6), demand=demands)
def test_remembered_searches_find_what_fresh_ones_find(clusters: list[Drawn], demand: ClaimDemand) -> None:
    memory = SearchMemory()
    for drawn in clusters:
        search = BoundedSearch(drawn.table, NODES, memory)
        found = search.find(search.kinds((demand,)), 0, [drawn.use])
        assert found == Search(drawn.table, NODES, 0, [drawn.use]).find([demand])


def test_search_stops_at_its_limit() -> None:
    drawn = Drawn(["x", "y"] * 8, [0] * 16, [0] * 16, [True] * 16, [False] * 16, 0)
    ways = [[DeviceAlternative("", "c", EVERY, 4)], [DeviceAlternative("", "c", EVERY, 4)]]
    demand = demand_of(ways, [Constraint("board", ("r0",)), Constraint("nothing", ("r1",))])
    with pytest.raises(SearchLimitExceeded):
        Search(drawn.table, NODES, 0, [drawn.use], most=500).find([demand])


# -- whole worlds --------------------------------------------------------------------------------------------------

PROGRAM = program_of(configuration("gang", "predicates"))
LETTERS = "abc"


@dataclass
class Cluster:
    """Devices of each node by board; whether they share one counter; requests of claims; pods by their claims."""

    boards: list[list[str]]
    drawn: bool
    wanted: int
    matched: bool
    jobs: list[list[int]]
    old: int
    manifests: list[Manifest] = field(init=False)

    def __post_init__(self) -> None:
        allocated_so_far: list[Any] = [*(node(letter, 9) for letter in LETTERS), device_class()]
        bonds = [matching(f"{DRIVER}/board")] if self.matched else []
        spec = claim_spec(exactly(self.wanted), constraints=bonds)
        for letter, boards in zip(LETTERS, self.boards, strict=True):
            takes = {"memory": 1} if self.drawn else None
            devices = [device(f"g{n}", board=board, takes=takes) for n, board in enumerate(boards)]
            allocated_so_far.append(offer(letter, *devices, counters={"memory": 2} if self.drawn else None))
        allocated_so_far += [template(spec), *(resource_claim(f"s{n}", spec) for n in range(2))]
        used = [(letter, n) for letter, boards in zip(LETTERS, self.boards, strict=True) for n in range(len(boards))]
        for place, (letter, number) in enumerate(used[: self.old]):
            allocated_so_far.append(resource_claim(f"old{place}", has=[f"{letter}/g{number}"], on=letter,
                                       used_by=[f"pod-default-run{place}-task-0"]))  # fmt: skip
            allocated_so_far.append(running(letter, name=f"run{place}", resourceClaims=claiming(f"old{place}")))
        for place, members in enumerate(self.jobs):
            pods = (pod(resourceClaims=claiming(each="each") if n > 1 else claiming(f"s{n}")) for n in members)
            allocated_so_far.append(gang_of(*pods, name=f"job{place}"))
        self.manifests = list(flattened(allocated_so_far))

    def world(self) -> PlannedCluster:
        return PlannedCluster(objects(self.manifests), PROGRAM, scheduler_names=SCHEDULER_NAMES)


clusters = st.builds(
    Cluster,
    st.lists(st.lists(st.sampled_from(["x", "y"]), max_size=4), min_size=3, max_size=3),
    st.booleans(), st.integers(1, 2), st.booleans(),
    st.lists(st.lists(st.integers(0, 3), min_size=1, max_size=3), min_size=1, max_size=4),
    st.integers(0, 3),
)  # fmt: skip


@examples(50)
@given(drawn=clusters, cycles=st.integers(1, 3))
def test_nothing_is_allocated_twice(drawn: Cluster, cycles: int) -> None:
    world = drawn.world()
    for _ in range(cycles):
        world.run_cycle()
        assert audit(world._cluster) == []
    held = world._cluster.claims.state().held
    given_out = Counter(str(each.name) for claim in held.values() for each in claim.devices)
    assert all(times == 1 for times in given_out.values())
    by_node = Counter(name.split("/")[1] for name in given_out)
    assert not drawn.drawn or all(number <= max(2, drawn.old) for number in by_node.values())
    for claimed in world._cluster.pods.all():
        if claimed.spec.node_name:
            for key in world._cluster.claims.claims_of(claimed.metadata.uid):
                assert {each.name.pool for each in held[key].devices} == {claimed.spec.node_name}


@examples(50)
@given(drawn=clusters, data=st.data())
def test_undo_leaves_no_trace_and_saved_statements_can_be_replayed(drawn: Cluster, data: st.DataObject) -> None:
    check_fingerprints(Session(drawn.world().snapshot(), PROGRAM), data, len(LETTERS))


@examples(50)
@given(drawn=clusters, data=st.data())
def test_node_is_accepted_exactly_when_everything_is_available(drawn: Cluster, data: st.DataObject) -> None:
    """Nodes are evaluated all at once; here each is evaluated by trying it."""
    session = Session(drawn.world().snapshot(), PROGRAM)
    tasks, books = tasks_of(session), session.ledger.claims
    with session.statement() as statement:
        for _ in range(data.draw(st.integers(0, 5))):
            do_something(session, statement, tasks, data, len(LETTERS))
        for task in tasks:
            needs = task.task_class.claims or NO_CLAIMS
            if session.ledger.is_pending(task):
                for later in (False, True):
                    admitted = books.satisfiable(needs, later=later).tolist()
                    assert admitted == [_fits(session, task, row, later=later) for row in range(len(LETTERS))]


def _fits(session: Session, task: Task, row: int, *, later: bool) -> bool:
    books = session.ledger.claims
    before = books.fingerprint()
    fits = books.take(task, row, later=later)
    if fits:
        books.give_back(task, row)
    assert books.fingerprint() == before
    return fits


def test_drawn_clusters_reach_their_limits() -> None:
    """The drawn clusters allocate devices and run out of them: otherwise they would prove nothing."""
    drawn = Cluster([["x", "y"], ["x", "x"], []], False, 2, True, [[2], [0, 0], [3]], 0)
    world = drawn.world()
    session = world.run_cycle()
    assert [bind.node for statement in session.decisions.binds for bind in statement] == ["b"]
