"""Backoff of pods that could not be evicted."""

from __future__ import annotations

from itertools import pairwise
from typing import cast

import pytest

from stromboli.binding.orders import EvictOrder, Outcome, Result
from stromboli.core.actions import ACTIONS
from stromboli.core.config.registry import Registry
from stromboli.core.plugins import PLUGINS
from stromboli.kube.client.client import Client
from stromboli.scheduler.bind_tracker import BACKOFF, BindTracker
from stromboli.scheduler.loop import Scheduler
from stromboli.scheduler.policy import ActivePolicy
from tests.testing.random_clusters import objects

ORDER = EvictOrder("Pod/team/victim", "team", "victim", "team/job", "preempt")
PROTECTED = Result(Outcome.IMPOSSIBLE, "a budget protects the pod")


class Watch:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def tracker_of(clock: Watch) -> BindTracker:
    """The tracker of a scheduler that does not run, with one bound pod."""
    scheduler = Scheduler(cast(Client, None), ActivePolicy(Registry(PLUGINS, ACTIONS)), clock=clock)
    spec = objects.template({"cpu": "1"})
    spec.node_name = "node-a"
    scheduler.ingest.apply(objects.pod("victim", spec, phase="Running"))
    return scheduler.tracker


def tries(outcomes: BindTracker, clock: Watch, seconds: int) -> list[int]:
    """Return the seconds in which an eviction starts that is requested every second and always fails."""
    began, tried = clock.now, []
    for second in range(seconds):
        clock.now = began + second
        if outcomes.start_eviction(ORDER):
            tried.append(second)
            outcomes.evicted(ORDER, PROTECTED)
    return tried


async def test_eviction_backoff_grows_up_to_the_maximum() -> None:
    clock = Watch()
    tried = tries(tracker_of(clock), clock, 400)
    pauses = [after - before for before, after in pairwise(tried)]
    assert pauses == sorted(pauses)
    assert pauses[:4] == [1, 2, 4, 8]
    assert pauses[-1] == BACKOFF.max_delay


@pytest.mark.parametrize("outcome", [Outcome.IMPOSSIBLE, Outcome.DROPPED])
async def test_pod_in_eviction_backoff_is_not_terminating(outcome: Outcome) -> None:
    clock = Watch()
    outcomes = tracker_of(clock)
    assert outcomes.start_eviction(ORDER)
    assert outcomes._cluster.assumptions.leaving == {ORDER.uid}
    outcomes.evicted(ORDER, Result(outcome, "no"))
    assert not outcomes.start_eviction(ORDER)
    assert outcomes._cluster.assumptions.leaving == frozenset()


async def test_deleted_pods_are_forgotten() -> None:
    clock = Watch()
    outcomes = tracker_of(clock)
    tries(outcomes, clock, 2)
    pod = outcomes._cluster.pods.find(ORDER.uid)
    assert pod is not None
    outcomes._ingest.remove(pod)
    assert (outcomes.forget_gone(), outcomes.forget_gone()) == (1, 0)
    assert outcomes.start_eviction(ORDER), "failures are forgotten"
