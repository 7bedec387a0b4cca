"""Consolidation beside preempt and reclaim in random clusters: no pod is moved that they evict for another job."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from stromboli.core.config.configuration import parse_configuration
from stromboli.core.session.program import Program
from stromboli.core.session.session import Session
from stromboli.planner.virtual_cluster import PlannedCluster
from tests.testing.cases.case import BUILT_IN, configuration, objects
from tests.testing.manifests.builders import Manifest, gang, node, priority_class, queue, running
from tests.testing.random_clusters.effort import examples

PRIORITIES = {"low": 10, "high": 100}
QUEUES = ("one", "two")
#: The actions that evict.
EVICTING = (["preempt", "reclaim"], ["reclaim"], ["preempt"], ["gangpreempt", "gangreclaim"])


@st.composite
def clusters(draw: st.DrawFn) -> list[Manifest]:
    """Draw partly full nodes, a job that needs most of one, and others that need more than is free."""
    names = "abc"[: draw(st.integers(2, 3))]
    world: list[Any] = [node(name, 4) for name in names]
    for name in QUEUES:
        deserved = {"cpu": draw(st.sampled_from([1, 4, 8]))}
        world.append(queue(name, deserved=deserved, weight=draw(st.sampled_from([1, 1, 3]))))
    world += [priority_class(name, value) for name, value in PRIORITIES.items()]
    for place in names:
        for number, cpu in enumerate(draw(st.sampled_from([(1,), (2,), (2,), (1, 1), (2, 1)]))):
            name, minimum = f"runs-{place}{number}", draw(st.sampled_from([0, 0, 1]))
            world += running(place, cpu, name=name, minimum=minimum, **_whose(draw, "low", "low", "high"))
    large = draw(st.sampled_from([3, 4]))
    world += gang(1, large, name="large", phase="Inqueue", **_whose(draw, "low", "high"))
    size, cpu = draw(st.sampled_from([2, 2, 1])), draw(st.sampled_from([2, 3, 3, 4]))
    return world + gang(size, cpu, name="next", phase="Inqueue", **_whose(draw, "high", "high", "low"))


def _whose(draw: st.DrawFn, *priorities: str) -> dict[str, Any]:
    return {"queue": draw(st.sampled_from(QUEUES)), "priority": draw(st.sampled_from(priorities))}


@st.composite
def policies(draw: st.DrawFn) -> tuple[list[str], str]:
    """Draw the order of the actions, and the plugin that shares between queues."""
    evicting = draw(st.permutations(["consolidate", *draw(st.sampled_from(EVICTING))]))
    return ["allocate", *evicting], draw(st.sampled_from(["proportion", "capacity"]))


@examples(300)
@given(clusters(), policies())
def test_no_moved_pod_is_one_that_other_actions_evict(manifests: list[Manifest], policy: tuple[list[str], str]) -> None:
    actions, shares = policy
    session = _decided(manifests, actions, shares)
    moves = [each for each in session.decisions.evictions if each.reason == "consolidate"]
    if any(each.preemptor == "default/next" for each in moves):
        return
    alone = [_waiting_for_free_capacity(manifest) for manifest in manifests]
    others = _decided(alone, [action for action in actions if action != "consolidate"], shares)
    evicted = {each.task.key for each in others.decisions.evictions if each.preemptor == "default/next"}
    assert not evicted & {each.task.key for each in moves}


def _decided(manifests: list[Manifest], actions: list[str], shares: str) -> Session:
    tiers = ["priority", "gang", "conformance"], ["predicates", shares]
    policy = configuration(*tiers, actions=", ".join(actions))
    return PlannedCluster(objects(manifests), Program(parse_configuration(policy, BUILT_IN), BUILT_IN)).decide()


def _waiting_for_free_capacity(manifest: Manifest) -> Manifest:
    """The large pod does not preempt, so that the other job is the only one that does."""
    if manifest["metadata"]["name"] != "large-task-0":
        return manifest
    return {**manifest, "spec": {**manifest["spec"], "preemptionPolicy": "Never"}}
