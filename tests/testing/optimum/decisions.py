"""What the scheduler decides in small worlds."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from itertools import count, islice

from stromboli.core.config.configuration import DEFAULT_TEXT, parse_configuration
from stromboli.core.session.program import Program
from stromboli.core.session.session import Session
from stromboli.planner.virtual_cluster import PlannedCluster
from tests.testing.cases.case import BUILT_IN, configuration, objects, plugin
from tests.testing.optimum.small_worlds import SmallCluster, full_cluster
from tests.testing.optimum.victims import VictimCost, optimal_cost

#: Actions that evict, with the arguments by which they respect priority first.
PREEMPTING: Mapping[str, Mapping[str, object]] = {
    "preempt": {},
    "reclaim": {},
    "gangpreempt": {"priorityFirst": True},
    "gangreclaim": {"priorityFirst": True},
}


#: The default configuration without admission, and with rearrangement.
ALLOCATING = DEFAULT_TEXT.replace("enqueue, allocate, backfill", "allocate")
REARRANGING = f"{ALLOCATING}configurations:\n- name: allocate\n  arguments: {{rearrange: true}}\n"


@cache
def _allocating_program(text: str) -> Program:
    return Program(parse_configuration(text, BUILT_IN), BUILT_IN)


def allocate(cluster: SmallCluster, text: str) -> Session:
    return PlannedCluster(objects(cluster.manifests()), _allocating_program(text)).decide()


def placed_gangs(session: Session) -> set[str]:
    """The names of the gangs that are bound."""
    return {each.job.rpartition("/")[2] for placements in session.decisions.binds for each in placements}


@cache
def _program(action: str) -> Program:
    gang = plugin("gang", enablePreemptable=False, enableReclaimable=False)
    text = configuration(
        ["priority", gang, "conformance"],
        ["predicates", "nodeorder"],
        actions=f"allocate, {action}",
        arguments={action: PREEMPTING[action]},
    )
    return Program(parse_configuration(text, BUILT_IN), BUILT_IN)


def decide(cluster: SmallCluster, action: str) -> Session:
    own_queue = "preempt" in action
    return PlannedCluster(objects(cluster.manifests(own_queue=own_queue)), _program(action)).decide()


def victim_cost(session: Session) -> VictimCost:
    victims = [eviction.task for eviction in session.decisions.evictions]
    return VictimCost(max((session.jobs[task.job].priority for task in victims), default=0), len(victims))


def contested_clusters(
    number: int, make: Callable[[int], SmallCluster] = full_cluster
) -> Iterator[tuple[SmallCluster, VictimCost]]:
    """Clusters in which the urgent gang needs victims, with the optimum."""
    drawn = ((cluster, optimal_cost(cluster)) for cluster in map(make, count()))
    return islice(((cluster, cost) for cluster, cost in drawn if cost is not None and cost.number), number)
