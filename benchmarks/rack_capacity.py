"""Preemption in a rack of a full cluster: an urgent gang that must be in one rack, and many possible victims."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from benchmarks import clusters, contention
from benchmarks.measurement import Result, finished, prepared, run_cycle
from stromboli import kube
from stromboli.cluster.standard_queues import standard_queues
from stromboli.cluster.state.cluster import Cluster
from stromboli.core.session.program import Program
from stromboli.core.session.session import Session
from stromboli.kube.objects.meta import ObjectMeta, Resources

Parameters = dict[str, int]
Objects = Iterator[kube.KubeObject]
#: Puts nodes into racks; adds a topology constraint to a job.
Network = Callable[[list[kube.KubeNode], list[int]], Objects]
WithConstraint = Callable[[Objects], Objects]

_HALF: Resources = {"cpu": "4"}


def rack_capacity(
    action: str, parameters: Parameters, network: Network, with_constraint: WithConstraint, program: Program, runs: int
) -> Result:
    """The whole decision: the victims, and the rack of the gang."""
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
    """Two pods on every node, each of half its size. Possible victims are spread over all racks."""
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
    """Check that no eviction is superfluous, and that the gang is in one rack."""
    nominations, evictions = session.decisions.nominations, session.decisions.evictions
    tree, index = session.snapshot.hyper_nodes, session.nodes.index
    assert len(nominations) == len(evictions) == gang, "each member of the gang replaces one pod"
    assert tree.tiers[tree.around_nodes(index[node] for node in nominations.values())] == 1, (
        "all members are in one rack"
    )
    assert all(session.jobs[each.task.job].priority == 10 for each in evictions), "important pods stay"
