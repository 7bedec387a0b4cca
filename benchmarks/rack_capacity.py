"""Room in a rack of a full cluster: an urgent gang that must be in one rack, and many who would have to go for it."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from benchmarks import clusters, contention
from benchmarks.measurement import Result, finished, prepared, run_cycle
from stromboli import kube
from stromboli.cluster.state.cluster import Cluster
from stromboli.controllers.default_queues import standard_queues
from stromboli.core.session.program import Program
from stromboli.core.session.session import Session
from stromboli.kube.objects.meta import ObjectMeta, Resources

Parameters = dict[str, int]
Objects = Iterator[kube.KubeObject]
#: Puts nodes into so many racks; makes a job wish for a rack of its own.
Network = Callable[[list[kube.KubeNode], list[int]], Objects]
WithConstraint = Callable[[Objects], Objects]

_HALF: Resources = {"cpu": "4"}


def rack_capacity(
    action: str, parameters: Parameters, network: Network, with_constraint: WithConstraint, program: Program, runs: int
) -> Result:
    """The whole decision: who goes, and where the gang will be."""
    cluster = Cluster()
    clusters.fill(cluster, full(parameters, network, with_constraint))
    prepared(cluster)
    best: Result | None = None
    timings = []
    for _ in range(runs):
        session, seconds, phases = run_cycle(cluster, program)
        check(session, parameters["gang"])
        timings.append(seconds)
        if best is None or seconds < best.seconds:
            best = Result(f"topology.{action}", parameters, seconds, 0, 0.0, phases)
            best.more = {
                "evictions": len(session.decisions.evictions),
                "domains_tried": session.measurements.domains_tried,
            }
        del session
    assert best is not None
    best.runs = timings
    return finished(best)


def full(parameters: Parameters, network: Network, with_constraint: WithConstraint) -> Objects:
    """Two pods on every node, each of half its size. Those that may have to go are spread over all racks."""
    yield from standard_queues()
    for name, value in (("low", 10), ("high", 1_000)):
        yield kube.PriorityClass(metadata=ObjectMeta(name=name, uid=name), value=value)
    nodes = [clusters.plain_node(number, 8) for number in range(parameters["nodes"])]
    yield from network(nodes, [parameters["racks"]])
    pods, victims = 2 * len(nodes), parameters["victims"]
    for number in range(pods):
        priority = "low" if number * victims // pods < (number + 1) * victims // pods else "high"
        name, node = f"old-{number:05}", nodes[number // 2].metadata.name
        yield from contention.job(name, 1, _HALF, priority=priority, node=node, created=number)
    yield from with_constraint(contention.job("urgent", parameters["gang"], _HALF, priority="high"))


def check(session: Session, gang: int) -> None:
    """Nobody goes in vain, and the gang will be in one rack."""
    rooms, evictions = session.decisions.nominations, session.decisions.evictions
    tree, index = session.snapshot.hyper_nodes, session.nodes.index
    assert len(rooms) == len(evictions) == gang, "each of the gang takes the place of another"
    assert tree.tiers[tree.around_nodes(index[node] for node in rooms.values())] == 1, "all rooms are in one rack"
    assert all(session.jobs[each.task.job].priority == 10 for each in evictions), "the important ones stay"
