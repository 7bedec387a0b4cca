"""A month of bursty demand in virtual time: what queues have used follows their weights."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from random import Random

import numpy as np
import pytest

from stromboli import kube
from stromboli.kube.objects.meta import ObjectMeta
from stromboli.simulator.results.run import SimulationRun
from stromboli.simulator.traced.objects import BY_QUEUE
from stromboli.traces.generators.poisson import equal_nodes
from stromboli.traces.trace import TraceJob
from tests.testing.cases.case import configuration, plugin
from tests.testing.manifests.builders import Manifest
from tests.testing.traces.runs import simulated

HOUR, DAY = 3600.0, 24 * 3600.0
HALF_LIFE = 4 * DAY
WEIGHTS = {"a": 4, "b": 3, "c": 2, "d": 1}
PODS = 100
PROPORTION = plugin("proportion", {"lendIdle": True})
#: Parents of queues.
FLAT: Mapping[str, str] = {}
TREE = {"a": "x", "b": "x", "c": "y", "d": "y"}
FAIR = plugin("fairshare", {"halfLife": "96h", "k": 20})
#: Each job holds a tenth of the cluster.
_SIZE, _RUN_TIME = 10, 6 * HOUR


def month(seed: int) -> list[TraceJob]:
    """Each queue submits its work in bursts of a fifth or nearly twice of what its weight gives."""
    chance, jobs = Random(seed), list[TraceJob]()  # noqa: S311 - a simulation
    for name, weight in WEIGHTS.items():
        moment = 0.0
        while moment < 30 * DAY:
            pause = chance.uniform(6, 36) * HOUR
            work = chance.choice((0.2, 1.9)) * weight / 10 * PODS * pause
            for _ in range(round(work / (_SIZE * _RUN_TIME))):
                jobs.append(TraceJob("job", moment, _RUN_TIME, 1, _SIZE * 1000, queue=name))
            moment += pause
    return sorted(jobs, key=lambda job: job.submitted)


def run_month(*beside: Manifest, parents: Mapping[str, str] = FLAT, days: int = 30) -> SimulationRun:
    """Queues below a parent have its weight in sum."""
    conf = configuration("gang", *beside, "predicates", actions="allocate")
    weights = Counter({name: WEIGHTS[name] for name in WEIGHTS})
    for name, parent in parents.items():
        weights[parent] += WEIGHTS[name]
    queues = [
        kube.KubeQueue(
            metadata=ObjectMeta(name=name, uid=f"queue/{name}"),
            spec=kube.QueueSpec(weight=weight, parent=parents.get(name)),
        )
        for name, weight in weights.items()
    ]
    nodes = equal_nodes(1, PODS)
    return simulated(month(1), conf, nodes, objects=queues, queues=BY_QUEUE, until=days * DAY, idle=DAY)


def deviations(run: SimulationRun) -> list[float]:
    """Return by how much the decayed usage shares differ from the weights, at most, at each moment at which every queue
    has had jobs waiting for a quarter of a half-life.
    """
    table, found, rate = run.jobs, list[float](), np.log(2) / HALF_LIFE
    queues = np.array([row.queue for row in table.rows()])
    submitted, started, ended = (np.asarray(table.column(name), float) for name in ("submitted", "started", "ended"))
    ended = np.where(np.isnan(ended), run.end, ended)
    since = dict.fromkeys(WEIGHTS, np.inf)
    for now in np.arange(HALF_LIFE, run.end, 3 * HOUR):
        waits = (submitted <= now) & ~(started <= now)
        since = {name: min(since[name], now) if waits[queues == name].any() else np.inf for name in WEIGHTS}
        if now - max(since.values()) < HALF_LIFE / 4:
            continue
        used = np.exp(-rate * (now - np.minimum(ended, now))) - np.exp(-rate * (now - started))
        used = np.where(started < now, used, 0.0)
        by_queue = {name: used[queues == name].sum() for name in WEIGHTS}
        whole = sum(by_queue.values())
        found.append(max(abs(by_queue[name] / whole - weight / 10) for name, weight in WEIGHTS.items()))
    return found


@pytest.mark.parametrize(
    ("beside", "parents"),
    [
        pytest.param(PROPORTION, FLAT, id="proportion"),
        pytest.param(PROPORTION, TREE, id="proportion, which divides among all queues, in a tree"),
        pytest.param(plugin("capacity", {"shareSurplus": True}), FLAT, id="capacity"),
        pytest.param(plugin("capacity", {"shareSurplus": True}), TREE, id="capacity without a hierarchy, in a tree"),
        pytest.param(plugin("capacity", {"shareSurplus": True}, enableHierarchy=True), TREE, id="capacity in a tree"),
    ],
)
def test_usage_of_a_month_follows_the_weights_whenever_demand_allows(
    beside: Manifest, parents: Mapping[str, str]
) -> None:
    fair = deviations(run_month(FAIR, beside, parents=parents))
    assert len(fair) > 20
    assert max(fair) <= 0.02


def test_usage_of_a_month_does_not_follow_the_weights_without_fairshare() -> None:
    assert max(deviations(run_month(PROPORTION, days=15))) > 0.04
