"""The victims in small random worlds, compared with the optimum over all sets of victims."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.testing.optimum.decisions import PREEMPTING, contested_clusters, decide, victim_cost
from tests.testing.optimum.small_worlds import SmallCluster, crowded_cluster, full_cluster
from tests.testing.random_clusters.effort import EFFORT

WORLDS = max(20, int(60 * EFFORT))


@pytest.mark.parametrize("make", [full_cluster, crowded_cluster])
@pytest.mark.parametrize("action", PREEMPTING)
def test_victims_are_as_unimportant_and_as_few_as_possible(action: str, make: Callable[[int], SmallCluster]) -> None:
    """The priority of the most important victim is the lowest possible in all worlds, the number of victims almost."""
    costs = [(victim_cost(decide(cluster, action)), best) for cluster, best in contested_clusters(WORLDS, make)]
    assert [found.priority for found, _ in costs] == [best.priority for _, best in costs]
    assert all(found.number >= best.number for found, best in costs)
    assert sum(found == best for found, best in costs) >= 0.97 * len(costs)
