"""The exact answer which gangs of a small world wait needlessly: everything placed would fit together with them."""

from __future__ import annotations

from collections.abc import Collection

from tests.testing.optimum.packing import is_packable
from tests.testing.optimum.small_worlds import Amounts, SmallCluster


def needlessly_waiting(cluster: SmallCluster, placed: Collection[str]) -> list[str]:
    """The gangs that are not placed, although an arrangement of all placed ones and them exists."""
    requests = [request for gang in cluster.waiting if gang.name in placed for request in gang.requests]
    return [
        gang.name
        for gang in cluster.waiting
        if gang.name not in placed and is_packable(cluster.nodes, [*requests, *gang.requests])
    ]


def arranged_in_order(cluster: SmallCluster) -> set[str]:
    """The gangs that a perfect arrangement places, in the order of their arrival."""
    requests, placed = list[Amounts](), set[str]()
    for gang in cluster.waiting:
        if is_packable(cluster.nodes, [*requests, *gang.requests]):
            requests += gang.requests
            placed.add(gang.name)
    return placed
