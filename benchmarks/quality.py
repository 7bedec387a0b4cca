"""Decisions in small random worlds, compared with an exact optimum."""

from __future__ import annotations

import time
from collections.abc import Sequence

from benchmarks.measurement import Result, finished
from tests.testing.optimum.arrangement import arranged_in_order, needlessly_waiting
from tests.testing.optimum.decisions import (
    ALLOCATING,
    PREEMPTING,
    REARRANGING,
    allocate,
    contested_clusters,
    decide,
    placed_gangs,
    victim_cost,
)
from tests.testing.optimum.small_worlds import SmallCluster, crowded_cluster, empty_cluster, full_cluster
from tests.testing.optimum.victims import VictimCost

Parameters = dict[str, int]


def victims(parameters: Parameters, runs: int) -> list[Result]:
    """Full clusters of at most 8 nodes, and a gang that needs victims: how many, and how important ones."""
    results = []
    for name, make in (("", full_cluster), ("-crowded", crowded_cluster)):
        worlds = list(contested_clusters(parameters["worlds"], make))
        results += [_victims_of(action, f"victims-{action}{name}", parameters, worlds) for action in PREEMPTING]
    return results


def _victims_of(
    action: str, name: str, parameters: Parameters, worlds: Sequence[tuple[SmallCluster, VictimCost]]
) -> Result:
    start = time.perf_counter()
    costs = [(victim_cost(decide(cluster, action)), best) for cluster, best in worlds]
    result = Result(name, parameters, time.perf_counter() - start, 0, 0.0, {})
    result.more = {
        "highest_priority_optimal": sum(found.priority == best.priority for found, best in costs),
        "number_also_optimal": sum(found == best for found, best in costs),
        "victims": sum(found.number for found, _ in costs),
        "optimum": sum(best.number for _, best in costs),
    }
    return finished(result)


def arrangement(parameters: Parameters, runs: int) -> list[Result]:
    """Empty clusters of at most 8 nodes, and 20 pods in gangs: which wait although an arrangement exists?"""
    worlds = [empty_cluster(seed) for seed in range(parameters["worlds"])]
    in_order = sum(len(arranged_in_order(cluster)) for cluster in worlds)
    results = []
    for name, text in (("default", ALLOCATING), ("rearrange", REARRANGING)):
        start = time.perf_counter()
        placed = [placed_gangs(allocate(cluster, text)) for cluster in worlds]
        result = Result(f"arrangement-{name}", parameters, time.perf_counter() - start, 0, 0.0, {})
        waiting = [needlessly_waiting(cluster, names) for cluster, names in zip(worlds, placed, strict=True)]
        result.more = {
            "gangs_placed": sum(map(len, placed)),
            "placed_by_perfect_arrangement_in_order": in_order,
            "worlds_in_which_a_gang_waits_although_an_arrangement_exists": sum(map(bool, waiting)),
        }
        results.append(finished(result))
    return results
