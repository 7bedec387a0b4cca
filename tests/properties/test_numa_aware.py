"""What numa-aware promises: nobody shares processors, policies hold, and whatever is undone leaves no trace."""

from __future__ import annotations

import json
from collections import defaultdict
from itertools import combinations
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from stromboli.framework.configuration import parse_configuration
from stromboli.framework.program import Program
from stromboli.model.nodes import Node, NodeTable
from stromboli.model.numa import PROCESSORS, CpuSet, Holdings, Processor, Processors, parse_cpus
from stromboli.model.numa_choice import allot, cells_for, count_cells, fewest_cells, take
from stromboli.planner.world import World
from stromboli.plugins.numa_aware.giving import Giving
from stromboli.plugins.numa_aware.states import States
from tests.properties.effort import examples
from tests.scenarios.builders import Manifest, gang_of, node
from tests.scenarios.case import BUILT_IN, configuration, flattened, objects
from tests.scenarios.machines import container, exact, topology

POLICIES = ("best-effort", "restricted", "single-numa-node")
CONF = configuration("gang", "predicates", "nodeorder", "numa-aware")


@st.composite
def machines(draw: st.DrawFn) -> Processors:
    """Cells of different sizes, one or two of them in a socket, with one or two threads in a core."""
    sizes = draw(st.lists(st.integers(1, 6), min_size=1, max_size=4))
    threads, per_socket = draw(st.integers(1, 2)), draw(st.integers(1, 2))
    cells = [cell for cell, size in enumerate(sizes) for _ in range(size)]
    places = tuple(Processor(n, cell, cell // per_socket, n // threads) for n, cell in enumerate(cells))
    return Processors("static", draw(st.sampled_from(POLICIES)), places)


demands = st.lists(st.integers(1, 8), min_size=1, max_size=3).map(
    lambda numbers: tuple((f"c{place}", number) for place, number in enumerate(numbers))
)
sets = st.integers(0, 2**24 - 1)


@examples(150)
@given(machine=machines(), free=sets, number=st.integers(1, 12))
def test_cells_are_those_that_a_look_at_all_choices_finds(machine: Processors, free: CpuSet, number: int) -> None:
    def suffice(cells: tuple[int, ...]) -> bool:
        return sum((machine.cells[cell] & free).bit_count() for cell in cells) >= number

    choices = [c for size in range(1, len(machine.cells) + 1) for c in combinations(machine.cells, size) if suffice(c)]
    best = min(choices, key=lambda cells: (len(cells), sum(1 << cell for cell in cells)), default=())
    assert cells_for(machine, free, number) == list(best)


@examples(150)
@given(machine=machines(), free=sets, part=st.integers(0, 24))
def test_as_many_are_taken_as_are_wanted(machine: Processors, free: CpuSet, part: int) -> None:
    free &= machine.all
    number = min(part, free.bit_count())
    taken = take(machine, free, number)
    assert taken & ~free == 0
    assert taken.bit_count() == number
    broken = [core for core in machine.cores if core & free == core and core & taken and core & ~taken]
    assert len(broken) <= 1


@examples(150)
@given(machine=machines(), free=sets, demand=demands)
def test_containers_get_what_the_policy_allows(machine: Processors, free: CpuSet, demand: Any) -> None:
    free &= machine.all
    allotment = allot(machine, free, demand)
    cells = count_cells(machine, free, demand)
    if isinstance(allotment, str):
        assert machine.policy != "best-effort"
        assert cells == 0
        return
    for (_, number), (_, cpus) in zip(demand, allotment.containers, strict=True):
        assert cpus & ~free == 0
        free &= ~cpus
        if machine.policy != "best-effort" or cpus:
            assert cpus.bit_count() == number
        if machine.policy != "best-effort":
            most = 1 if machine.policy == "single-numa-node" else fewest_cells(machine, number)
            assert len(machine.cells_of(cpus)) <= most
    if all(cpus for _, cpus in allotment.containers):
        assert cells == len(machine.cells_of(allotment.cpus))


# -- a cycle ------------------------------------------------------------------------------------------------------

steps = st.lists(
    st.one_of(
        st.tuples(st.just("place"), st.integers(0, 5), st.integers(0, 1), st.booleans()),
        st.tuples(st.just("evict"), st.integers(0, 1)),
        st.tuples(st.just("undo")),
        st.tuples(st.just("undo all")),
    ),
    max_size=14,
)


@examples(120)
@given(machine=machines(), demand=demands, todo=steps)
def test_what_is_undone_leaves_no_trace(machine: Processors, demand: Any, todo: list[Any]) -> None:
    table = NodeTable([Node("a", processors=machine), Node("b", processors=machine), Node("c")])
    held = take(machine, machine.all, len(machine.places) // 2)
    known = {name: Holdings(machine.all & ~held, 0, {f"old on {row}": held}) for row, name in enumerate("ab")}
    giving = Giving(States(table), table, known)
    leaving: set[int] = set()
    before: list[Any] = []
    undo: list[Any] = []

    def place(uid: str, row: int, waits: bool) -> None:
        giving.place(uid, row, demand, waits=waits)
        undo.append(lambda: giving.take_back(uid))

    def evict(row: int) -> None:
        giving.evict(f"old on {row}", row)
        leaving.add(row)
        undo.append(lambda: (leaving.discard(row), giving.place(f"old on {row}", row, demand, waits=False)))

    def picture() -> Any:
        return giving.now.tolist(), giving.later.tolist(), {uid: giving.of(uid) for uid in "012345"}

    for kind, *arguments in todo:
        if kind.startswith("undo"):
            while undo:
                undo.pop()()
                assert picture() == before.pop()
                if kind == "undo":
                    break
        elif kind == "evict" and arguments[0] not in leaving:
            before.append(picture())
            evict(*arguments)
        elif kind == "place" and giving.of(str(arguments[0])) is None:
            before.append(picture())
            place(str(arguments[0]), *arguments[1:])
        gifts = [gift for uid in "012345" if (gift := giving.of(uid)) is not None]
        for row in (0, 1):
            given_here = [gift.allotment.cpus for gift in gifts if gift.row == row]
            assert sum(cpus.bit_count() for cpus in given_here) == _union(given_here).bit_count()


def _union(sets_of_cpus: list[CpuSet]) -> CpuSet:
    together = 0
    for cpus in sets_of_cpus:
        together |= cpus
    return together


@st.composite
def worlds(draw: st.DrawFn) -> list[Manifest]:
    parts: list[Any] = []
    for name in "abc"[: draw(st.integers(1, 3))]:
        policy, sizes = draw(st.sampled_from(POLICIES)), draw(st.sampled_from(["4 4", "2 6", "4 4 4", "8"]))
        reserved = {"cpu": draw(st.sampled_from(["0", "500m", "2"]))}
        parts += [node(name, 99), topology(name, policy, sizes=sizes, resReserved=reserved)]
    for number in range(draw(st.integers(1, 5))):
        cpus = draw(st.lists(st.integers(1, 5), min_size=1, max_size=3))
        policy = draw(st.sampled_from(["", *POLICIES]))
        more = [container(1, "side")] if draw(st.booleans()) else []
        minimum = draw(st.integers(1, len(cpus)))
        parts.append(gang_of(*(exact(cpu, policy, *more) for cpu in cpus), name=f"job{number}", minimum=minimum))
    return list(flattened(parts))


@examples(60)
@given(manifests=worlds())
def test_nobody_shares_processors(manifests: list[Manifest]) -> None:
    program = Program(parse_configuration(CONF, BUILT_IN), BUILT_IN)
    world = World(objects(manifests), program)
    taken: dict[str, CpuSet] = defaultdict(int)
    facts = {known.name: known.processors for known in world.snapshot().nodes.nodes}
    for _ in range(3):
        for bind in (bind for statement in world.run_cycle().decisions.binds for bind in statement):
            machine = facts[bind.node]
            assert machine is not None
            for cpus in map(parse_cpus, json.loads(bind.annotations.get(PROCESSORS, "{}")).values()):
                assert not cpus & (taken[bind.node] | machine.reserved)
                taken[bind.node] |= cpus
                if machine.policy != "best-effort":
                    assert len(machine.cells_of(cpus)) <= fewest_cells(machine, cpus.bit_count())
    for name, known in world.snapshot().processors.items():
        machine = facts[name]
        assert machine is not None
        assert known.free == machine.all & ~machine.reserved & ~taken[name]
