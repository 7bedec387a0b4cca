"""Disruption budgets and the way in which victims are evicted."""

from __future__ import annotations

import pytest

from tests.testing.cases.case import configuration
from tests.testing.manifests.builders import Manifest, gang, manifest, priority_class
from tests.testing.world import cpus, policy_of, running_cluster

PREEMPT = "enqueue, allocate, preempt"
#: Plugins beside the usual ones, how victims are evicted, and the pods of low and high priority that run in the end.
CASES: dict[str, tuple[tuple[str, ...], bool, tuple[int, int]]] = {
    "eviction-respects-budgets": ((), False, (4, 0)),
    "deletion-ignores-budgets": ((), True, (2, 2)),
    "deletion-with-pdb-respects-budgets": (("pdb",), True, (4, 0)),
}


def budget() -> Manifest:
    spec = {"minAvailable": 4, "selector": {"matchLabels": {"app": "modest"}}}
    return manifest("PodDisruptionBudget", "keep", "policy/v1", "default", spec=spec)


@pytest.mark.parametrize(("plugins", "by_delete", "left"), CASES.values(), ids=CASES)
async def test_budget_protects_victims(plugins: tuple[str, ...], by_delete: bool, left: tuple[int, int]) -> None:
    text = configuration("priority", "gang", *plugins, "predicates", actions=PREEMPT)
    async with running_cluster(cpus(1, 4), policy=policy_of(text), evict_by_delete=by_delete) as world:
        await world.create(priority_class("budget-test", 1000), budget())
        await world.create(gang(4, 1, name="modest", minimum=1, labels={"app": "modest"}))
        await world.until_bound("modest", 4)
        await world.create(gang(2, 1, name="urgent", priority="budget-test", priorityClassName="budget-test"))
        if left[1]:
            await world.until_bound("urgent", left[1])
        else:
            await world.until_condition("urgent", "disruption budget")
        assert len(await world.bound("modest")) == left[0]
