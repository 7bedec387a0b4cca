"""Divisions whose results are known from the literature: by jobs, by queues and by users."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pytest

from stromboli.core.config.configuration import parse_configuration
from stromboli.core.model.queues.queue import HIERARCHY, HIERARCHY_WEIGHTS
from stromboli.core.model.usage.queue_annotations import USER_WEIGHTS
from stromboli.core.model.usage.weighting import parts
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
    #: The number of its pods.
    wanted: int = 20


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
    AnalyticCase("max-min fairness with demands of 2, 2.6, 4 and 5 of 10 units (Keshav, 1997)", 100, "1000Gi",
                 [Tenant(1, "1Gi", 1, wanted) for wanted in (20, 26, 40, 50)], [20, 26, 27, 27]),
    AnalyticCase("a tenant of few pods leaves the rest to the others", 12, "12Gi",
                 [Tenant(1, "1Gi", 1, 2), Tenant(1, "1Gi"), Tenant(1, "1Gi")], [2, 5, 5]),
    AnalyticCase("dominant shares of 1/2 each of different resources", 10, "10Gi",
                 [Tenant(1, "0Gi"), Tenant(0, "1Gi"), Tenant(1, "1Gi")], [5, 5, 5]),
    AnalyticCase("one resource: max-min fairness", 12, "100Gi", [Tenant(1, "1Gi"), Tenant(2, "1Gi")], [6, 3]),
]  # fmt: skip
WEIGHTED = [
    AnalyticCase("weights of 2.5, 4, 0.5 and 1 with demands of 4, 2, 10 and 4 of 16 units (Keshav, 1997)", 16, "100Gi",
                 [Tenant(1, "1Gi", 5, 4), Tenant(1, "1Gi", 8, 2), Tenant(1, "1Gi", 1, 10), Tenant(1, "1Gi", 2, 4)],
                 [4, 2, 6, 4]),
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
            world.append(gang(tenant.wanted, tenant.cpu, memory=tenant.memory, name=name, minimum=0, phase="Inqueue"))
            continue
        of = name if mode == "queues" else "all"
        world += [queue(of, tenant.weight)] if mode == "queues" else []
        world += [
            gang(
                1, tenant.cpu, memory=tenant.memory, name=f"{name}-{index}", queue=of, notes={USER: name},
                created=f"2026-03-01T12:{number:02}:{index:02}Z", phase="Inqueue",
            )
            for index in range(tenant.wanted)
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


@dataclass(frozen=True)
class FormulaCase:
    """`max(0, n + k * (n - u))`, divided by the sum over all queues."""

    name: str
    k: float
    weights: Sequence[float]
    used: Sequence[float]
    parts: Sequence[float]

    def __str__(self) -> str:
        return self.name


FORMULA = [
    FormulaCase("queues that used their weights keep them", 5.0, [3, 1], [0.75, 0.25], [3 / 4, 1 / 4]),
    FormulaCase("with k of 0 the past does not count", 0.0, [3, 1], [0.0, 1.0], [3 / 4, 1 / 4]),
    FormulaCase("with k of 1 one that used twice its weight gets nothing", 1.0, [1, 1], [1.0, 0.0], [0.0, 1.0]),
    FormulaCase("with k of 1/2 it gets half of its weight", 0.5, [1, 1], [1.0, 0.0], [1 / 4, 3 / 4]),
    FormulaCase("shares shrink by k times the excess", 1.0, [1, 1, 1], [1 / 2, 1 / 4, 1 / 4], [1 / 6, 5 / 12, 5 / 12]),
    FormulaCase("what no queue used counts for all", 1.0, [1, 1], [0.2, 0.1], [8 / 17, 9 / 17]),
    FormulaCase("where all used too much, weights count alone", 2.0, [3, 1], [1.5, 1.5], [3 / 4, 1 / 4]),
    FormulaCase("queues of weight 0 get nothing", 1.0, [1, 0], [0.5, 0.0], [1.0, 0.0]),
    FormulaCase("without weights nothing is divided", 1.0, [0, 0], [0.5, 0.0], [0.0, 0.0]),
]  # fmt: skip


@pytest.mark.parametrize("case", FORMULA, ids=str)
def test_parts_by_the_formula_of_time_based_fair_share(case: FormulaCase) -> None:
    found = parts(np.array(case.weights, float), np.array(case.used), case.k)
    assert found.tolist() == pytest.approx(list(case.parts))


#: In a cluster of 10 processors and 10 GiB: by path, weights on it, and the request of each pod.
HIERARCHIES = [
    ("a leaf with both resources beside two with one each (Bhattacharya et al., SoCC 2013, figure 3)",
     {"root/a": (1, "1Gi"), "root/b/b1": (1, "0Gi"), "root/b/b2": (0, "1Gi")}, [5, 5, 5]),
    ("two levels of equal leaves", {"root/a": (1, "1Gi"), "root/b/b1": (1, "1Gi"), "root/b/b2": (1, "1Gi")}, [5, 3, 2]),
    ("a branch of many leaves gets no more than a leaf",
     {"root/a": (1, "1Gi"), **{f"root/b/b{n}": (1, "1Gi") for n in range(5)}}, [5, 1, 1, 1, 1, 1]),
]  # fmt: skip


@pytest.mark.parametrize(("name", "leaves", "pods"), HIERARCHIES)
def test_known_hierarchical_division(name: str, leaves: Mapping[str, tuple[int, str]], pods: Sequence[int]) -> None:
    world: list[object] = [node("a", 10, "10Gi")]
    for number, (path, (cpu, memory)) in enumerate(leaves.items()):
        weights = "/".join("1" for _ in path.split("/"))
        world.append(queue(f"q{number}", annotations={HIERARCHY: path, HIERARCHY_WEIGHTS: weights}))
        world.append(gang(10, cpu, memory=memory, name=f"t{number}", queue=f"q{number}", minimum=0, phase="Inqueue"))
    text = configuration(
        plugin("gang", enableJobOrder=False), plugin("drf", enableHierarchy=True), "predicates", actions="allocate"
    )
    cluster = PlannedCluster(objects(flattened(world)), Program(parse_configuration(text, BUILT_IN), BUILT_IN))
    binds = [placement for statement in cluster.decide().decisions.binds for placement in statement]
    counts = Counter(placement.job.partition("/")[2] for placement in binds)
    assert [counts[f"t{number}"] for number in range(len(leaves))] == list(pods)
