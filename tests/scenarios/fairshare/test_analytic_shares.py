"""Divisions whose results are known from the literature: by jobs, by queues and by users."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import pytest

from stromboli.core.config.configuration import parse_configuration
from stromboli.core.plugins.fairshare.user_order import USER_WEIGHTS
from stromboli.core.session.program import Program
from stromboli.planner.virtual_cluster import PlannedCluster
from stromboli.workloads.users import USER
from tests.testing.cases.case import BUILT_IN, configuration, flattened, objects, plugin
from tests.testing.manifests.builders import gang, node, queue

QUEUES = configuration("gang", "fairshare", "predicates", actions="allocate")
USERS = configuration("gang", plugin("fairshare", {"perUser": True}), "predicates", actions="allocate")
JOBS = configuration(plugin("gang", enableJobOrder=False), "drf", "predicates", actions="allocate")


@dataclass(frozen=True)
class Tenant:
    cpu: int
    memory: str
    weight: int = 1


@dataclass(frozen=True)
class AnalyticCase:
    name: str
    cpu: int
    memory: str
    tenants: Sequence[Tenant]
    pods: Sequence[int]

    def __str__(self) -> str:
        return self.name


CASES = [
    AnalyticCase("dominant resource fairness: 2/3 of the memory and of the cpu (Ghodsi et al., NSDI 2011, figure 3)",
                 9, "18Gi", [Tenant(1, "4Gi"), Tenant(3, "1Gi")], [3, 2]),
    AnalyticCase("equal demands are divided equally", 12, "12Gi", [Tenant(1, "1Gi")] * 3, [4, 4, 4]),
    AnalyticCase("one resource: max-min fairness", 12, "100Gi", [Tenant(1, "1Gi"), Tenant(2, "1Gi")], [6, 3]),
]  # fmt: skip
WEIGHTED = [
    AnalyticCase("weighted max-min fairness", 12, "100Gi", [Tenant(1, "1Gi", 2), Tenant(1, "1Gi")], [8, 4]),
    AnalyticCase("weighted dominant resource fairness: shares of 6/9 and 3/9", 9, "36Gi",
                 [Tenant(1, "1Gi", 2), Tenant(1, "4Gi")], [6, 3]),
]  # fmt: skip


def pods_of(case: AnalyticCase, mode: str) -> list[int]:
    world: list[object] = [node("a", case.cpu, case.memory)]
    weights = ",".join(f"t{number}={tenant.weight}" for number, tenant in enumerate(case.tenants))
    for number, tenant in enumerate(case.tenants):
        name = f"t{number}"
        if mode == "jobs":
            world.append(gang(20, tenant.cpu, memory=tenant.memory, name=name, minimum=0, phase="Inqueue"))
            continue
        of = name if mode == "queues" else "all"
        world += [queue(of, tenant.weight)] if mode == "queues" else []
        world += [
            gang(
                1, tenant.cpu, memory=tenant.memory, name=f"{name}-{index}", queue=of, notes={USER: name},
                created=f"2026-03-01T12:{number:02}:{index:02}Z", phase="Inqueue",
            )
            for index in range(20)
        ]  # fmt: skip
    if mode == "users":
        world.append(queue("all", annotations={USER_WEIGHTS: weights}))
    text = {"jobs": JOBS, "queues": QUEUES, "users": USERS}[mode]
    cluster = PlannedCluster(objects(flattened(world)), Program(parse_configuration(text, BUILT_IN), BUILT_IN))
    binds = [placement for statement in cluster.decide().decisions.binds for placement in statement]
    counts = Counter(placement.job.partition("/")[2].partition("-")[0] for placement in binds)
    return [counts[f"t{number}"] for number in range(len(case.tenants))]


@pytest.mark.parametrize("mode", ["jobs", "queues", "users"])
@pytest.mark.parametrize("case", CASES, ids=str)
def test_known_division(case: AnalyticCase, mode: str) -> None:
    assert pods_of(case, mode) == case.pods


@pytest.mark.parametrize("mode", ["queues", "users"])
@pytest.mark.parametrize("case", WEIGHTED, ids=str)
def test_known_weighted_division(case: AnalyticCase, mode: str) -> None:
    assert pods_of(case, mode) == case.pods
