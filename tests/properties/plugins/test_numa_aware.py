"""numa-aware: no processor is assigned twice, policies hold, and undo leaves no trace."""

from __future__ import annotations

import json
from collections import defaultdict
from itertools import combinations
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from stromboli.cluster.audit.auditor import audit
from stromboli.cluster.state.cluster import Cluster
from stromboli.core.config.configuration import parse_configuration
from stromboli.core.model.nodes.cpu_assignment import (
    assign_cpus,
    count_numa_nodes,
    fewest_numa_nodes,
    numa_nodes_for,
    take,
)
from stromboli.core.model.nodes.numa import PROCESSORS, CpuSet, Holdings, Processor, Processors, parse_cpus
from stromboli.core.model.nodes.table import Node, NodeTable
from stromboli.core.plugins.numa_aware.assignment import CpuAssigner
from stromboli.core.plugins.numa_aware.states import NumaStates
from stromboli.core.session.program import Program
from stromboli.planner.virtual_cluster import PlannedCluster
from tests.testing.cases.case import BUILT_IN, configuration, flattened, objects
from tests.testing.manifests.builders import Manifest, gang_of, node, pod
from tests.testing.manifests.numa_nodes import container, exact, topology
from tests.testing.placements import placement
from tests.testing.random_clusters.effort import examples

POLICIES = ("best-effort", "restricted", "single-numa-node")
CONF = configuration("gang", "predicates", "nodeorder", "numa-aware")


@st.composite
def machines(draw: st.DrawFn, smallest: int = 1) -> Processors:
    """Draw NUMA nodes of different sizes, one or two of them in a socket, with one or two threads in a core."""
    sizes = draw(st.lists(st.integers(smallest, 6), min_size=1, max_size=4))
    threads, per_socket = draw(st.integers(1, 2)), draw(st.integers(1, 2))
    numa_nodes = [numa_node for numa_node, size in enumerate(sizes) for _ in range(size)]
    places = tuple(
        Processor(n, numa_node, numa_node // per_socket, n // threads) for n, numa_node in enumerate(numa_nodes)
    )
    return Processors("static", draw(st.sampled_from(POLICIES)), places)


demands = st.lists(st.integers(1, 8), min_size=1, max_size=3).map(
    lambda numbers: tuple((f"c{place}", number) for place, number in enumerate(numbers))
)
sets = st.integers(0, 2**24 - 1)


@examples(150)
@given(machine=machines(), free=sets, number=st.integers(1, 12))
def test_numa_nodes_equal_those_of_exhaustive_search(machine: Processors, free: CpuSet, number: int) -> None:
    def suffice(numa_nodes: tuple[int, ...]) -> bool:
        return sum((machine.numa_nodes[numa_node] & free).bit_count() for numa_node in numa_nodes) >= number

    choices = [
        c
        for size in range(1, len(machine.numa_nodes) + 1)
        for c in combinations(machine.numa_nodes, size)
        if suffice(c)
    ]
    best = min(
        choices, key=lambda numa_nodes: (len(numa_nodes), sum(1 << numa_node for numa_node in numa_nodes)), default=()
    )
    assert numa_nodes_for(machine, free, number) == list(best)


@examples(150)
@given(machine=machines(), free=sets, part=st.integers(0, 24))
def test_requested_number_of_processors_is_taken(machine: Processors, free: CpuSet, part: int) -> None:
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
    allotment = assign_cpus(machine, free, demand)
    numa_nodes = count_numa_nodes(machine, free, demand)
    if isinstance(allotment, str):
        assert machine.policy != "best-effort"
        assert numa_nodes == 0
        return
    for (_, number), (_, cpus) in zip(demand, allotment.containers, strict=True):
        assert cpus & ~free == 0
        free &= ~cpus
        if machine.policy != "best-effort" or cpus:
            assert cpus.bit_count() == number
        if machine.policy != "best-effort":
            most = 1 if machine.policy == "single-numa-node" else fewest_numa_nodes(machine, number)
            assert len(machine.numa_nodes_of(cpus)) <= most
    if all(cpus for _, cpus in allotment.containers):
        assert numa_nodes == len(machine.numa_nodes_of(allotment.cpus))


# -- a cycle ------------------------------------------------------------------------------------------------------

UIDS = "xyz"
uids, rows = st.sampled_from(UIDS), st.sampled_from((0, 0, 0, 1))
place = st.tuples(st.just("place"), uids, rows, st.sampled_from((False, False, False, True)))
give_up = st.tuples(st.just("give up"), uids)
evict = st.tuples(st.just("evict"), rows)
steps = st.lists(st.one_of(place, give_up, evict, st.just(("undo",))), min_size=6, max_size=14)


class Cycle:
    """Operations on the processors of two machines, each with its inverse."""

    def __init__(self, machine: Processors, demand: Any) -> None:
        table = NodeTable([Node("a", processors=machine), Node("b", processors=machine), Node("c")])
        held = take(machine, machine.all, len(machine.places) // 2)
        known = {name: Holdings(machine.all & ~held, 0, {f"old on {row}": held}) for row, name in enumerate("ab")}
        self.giving = CpuAssigner(NumaStates(table), table, known)
        self._demand = demand
        self._leaving: set[int] = set()
        self._given_up: list[Any] = []
        self._before: list[Any] = []
        self._undo: list[Any] = []

    def picture(self) -> Any:
        return self.giving.now.tolist(), self.giving.later.tolist(), [self.giving.of(uid) for uid in UIDS]

    def do(self, kind: str, *about: Any) -> None:
        before, undo = self.picture(), self._done(kind, *about)
        if undo is not None:
            self._before.append(before)
            self._undo.append(undo)

    def _done(self, kind: str, *about: Any) -> Any:
        """Execute an operation and return its inverse; None if it was not possible."""
        giving, gift = self.giving, self.giving.of(str(about[0]))
        if kind == "place" and gift is None and about not in self._given_up:
            uid, row, waits = about
            giving.place(uid, row, self._demand, waits=waits)
            return lambda: giving.take_back(uid)
        if kind == "give up" and gift is not None:
            self._given_up.append((about[0], gift.row, gift.is_promise))
            giving.take_back(about[0])
            return self._return
        if kind == "evict" and about[0] not in self._leaving:
            self._leaving.add(about[0])
            giving.evict(f"old on {about[0]}", about[0])
            return lambda: self._let_stay(about[0])
        return None

    def _return(self) -> None:
        uid, row, waits = self._given_up.pop()
        self.giving.place(uid, row, self._demand, waits=waits)

    def _let_stay(self, row: int) -> None:
        self._leaving.discard(row)
        self.giving.place(f"old on {row}", row, self._demand, waits=False)

    def undo(self) -> None:
        if self._undo:
            self._undo.pop()()
            assert self.picture() == self._before.pop()

    def undo_all(self) -> None:
        while self._undo:
            self.undo()


@examples(150)
@given(machine=machines(4), demand=st.integers(1, 2).map(lambda number: (("main", number),)), todo=steps)
def test_undo_leaves_no_trace(machine: Processors, demand: Any, todo: list[Any]) -> None:
    cycle = Cycle(machine, demand)
    for kind, *about in todo:
        cycle.undo() if kind == "undo" else cycle.do(kind, *about)
        gifts = [gift for uid in UIDS if (gift := cycle.giving.of(uid)) is not None]
        for row in (0, 1):
            here = [gift.allotment.cpus for gift in gifts if gift.row == row]
            assert sum(cpus.bit_count() for cpus in here) == _union(here).bit_count()
    cycle.undo_all()


def _union(sets_of_cpus: list[CpuSet]) -> CpuSet:
    together = 0
    for cpus in sets_of_cpus:
        together |= cpus
    return together


# -- the cache ----------------------------------------------------------------------------------------------------

small_sets = st.sampled_from(["0", "1-2", "3-5", "6-7"])
news = st.lists(
    st.one_of(
        st.tuples(st.just("node"), st.sampled_from("ab")),
        st.tuples(st.just("topology"), st.sampled_from("ab"), st.dictionaries(st.sampled_from("xyz"), small_sets)),
        st.tuples(st.just("broken"), st.sampled_from("ab")),
        st.tuples(st.just("pod"), st.sampled_from("xyz"), st.sampled_from(["", "a", "b"]), small_sets, st.booleans()),
        st.tuples(st.just("assume"), st.sampled_from("xyz"), st.sampled_from("ab"), small_sets),
        st.tuples(st.sampled_from(["gone pod", "forget", "leaving", "staying"]), st.sampled_from("xyz")),
        st.tuples(st.sampled_from(["gone node", "gone topology"]), st.sampled_from("ab")),
        st.tuples(st.just("snapshot")),
    ),
    max_size=25,
)


@examples(120)
@given(todo=news)
def test_incremental_state_equals_recomputed_state(todo: list[Any]) -> None:
    cluster = Cluster()
    for step in todo:
        _happen(cluster, *step)
    assert audit(cluster) == []


def _happen(cluster: Cluster, kind: str, *about: Any) -> None:
    uid = f"pod-default-{about[0]}" if about else ""
    known = cluster.pods.find(uid)
    if kind == "snapshot":
        cluster.snapshot()
    elif kind == "assume":
        cluster.assumptions.assume(placement(uid, about[1], json.dumps({"main": about[2]})))
    elif kind == "pod" and not (known and known.spec.node_name):
        cluster.apply(_object(_pod(*about)))
    elif kind == "gone pod" and known is not None:
        cluster.remove(known)
    elif kind in ("node", "gone node"):
        (cluster.apply if kind == "node" else cluster.remove)(_object(node(about[0], 8)))
    elif kind in ("topology", "gone topology"):
        given_to = about[1] if len(about) > 1 else {}
        (cluster.apply if kind == "topology" else cluster.remove)(_object(topology(about[0], given=given_to)))
    elif kind == "broken":
        cluster.apply(_object(topology(about[0], free="0-99")))
    elif kind in ("forget", "leaving", "staying"):
        {
            "forget": cluster.assumptions.forget,
            "leaving": cluster.assumptions.assume_evicted,
            "staying": cluster.assumptions.forget_eviction,
        }[kind](uid)


def _pod(name: str, place: str, cpus: str, done: bool) -> Manifest:
    if not place:
        return pod(4, name=name)
    notes = {PROCESSORS: json.dumps({"main": cpus})}
    return pod(4, name=name, nodeName=place, annotations=notes, phase="Succeeded" if done else "Running")


def _object(document: Manifest) -> Any:
    return objects([document])[0]


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
def test_no_processor_is_assigned_twice(manifests: list[Manifest]) -> None:
    program = Program(parse_configuration(CONF, BUILT_IN), BUILT_IN)
    world = PlannedCluster(objects(manifests), program)
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
                    assert len(machine.numa_nodes_of(cpus)) <= fewest_numa_nodes(machine, cpus.bit_count())
    for name, known in world.snapshot().processors.items():
        machine = facts[name]
        assert machine is not None
        assert known.free == machine.all & ~machine.reserved & ~taken[name]
