"""Guarantees of queues in random clusters: no queue loses them to another queue."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from stromboli.core.model.resources.resources import CPU
from stromboli.core.session.session import Session
from tests.properties.preemption.test_victims import QUEUES, Contest, contests, world_of
from tests.testing.cases.case import configuration, plugin
from tests.testing.cases.recreated_pods import cycle_with_recreated_pods
from tests.testing.manifests.builders import GPU, Manifest, node, queue
from tests.testing.random_clusters.effort import examples

ACTIONS = (
    "enqueue, allocate, reclaim, preempt",
    "allocate, gangreclaim, gangpreempt",
    "allocate, consolidate, gangreclaim, reclaim, preempt",
    "allocate, consolidate",
)
SHARES: list[str | Manifest] = ["proportion", "capacity", plugin("capacity", enableHierarchy=True)]
GANGS: list[str | Manifest] = ["gang", plugin("gang", enablePreemptable=False, enableReclaimable=False)]


@st.composite
def guaranteed_contests(draw: st.DrawFn) -> Contest:
    """Random contests of queues with guarantees; two of the queues have a parent with a guarantee of its own."""
    contest = draw(contests())
    world = [each for each in contest.manifests if each["kind"] != "Queue"]
    for name, parent in (*zip(QUEUES, ("dept", "dept", "root"), strict=True), ("dept", "root")):
        amounts = {"cpu": draw(st.integers(0, 4))}
        deserved = {"cpu": amounts["cpu"] + draw(st.integers(0, 2))}
        world.append(queue(name, draw(st.integers(1, 3)), guarantee=amounts, deserved=deserved, parent=parent))
    conf = configuration(
        ["priority", draw(st.sampled_from(GANGS)), "conformance"], [draw(st.sampled_from(SHARES)), "predicates"],
        actions=draw(st.sampled_from(ACTIONS)), arguments={"consolidate": {"reclaims": draw(st.booleans())}},
    )  # fmt: skip
    return replace(contest, manifests=world, conf=conf)


@examples(200)
@given(guaranteed_contests())
def test_no_queue_is_below_its_guarantee_because_of_another_queue(contest: Contest) -> None:
    world = world_of(contest)
    before = {name: usage.allocated[CPU] for name, usage in world.snapshot().queue_usage.items()}
    session = world.decide()
    for name in guaranteed_queues(session):
        guarantee = dict(session.queues[name].guarantee)[CPU]
        after = session.ledger.queues[name].allocated[CPU] + lost_to_itself(session, name)
        assert after >= min(guarantee, before[name]), name


def guaranteed_queues(session: Session) -> Iterator[str]:
    """Return the queues whose guarantee applies: without a hierarchy, parents have no share in what children use."""
    has_hierarchy = any(each.hierarchy for each in session.program.plugins.values())
    for name in QUEUES if not has_hierarchy else (*QUEUES, "dept"):
        if session.queues[name].guarantee:
            yield name


def lost_to_itself(session: Session, name: str) -> int:
    """Return what jobs of the queue, or of queues below it, took from others of it: it stays available to the queue."""
    lost = 0
    for eviction in session.decisions.evictions:
        queues = [session.jobs[key].queue for key in (eviction.task.job, eviction.preemptor)]
        if all(name in {usage.name for usage in session.ledger.queues[each].chain} for each in queues):
            lost += dict(eviction.task.task_class.request)[CPU]
    return lost


@st.composite
def two_resource_contests(draw: st.DrawFn) -> Contest:
    """Random contests about two resources, with the plugin capacity; queues deserve amounts of both."""
    contest = draw(guaranteed_contests())
    world = [each for each in contest.manifests if each["kind"] not in ("Queue", "Node")]
    names = {each["metadata"]["name"] for each in contest.manifests if each["kind"] == "Node"}
    world += [node(name, draw(st.integers(5, 8)), gpu=draw(st.integers(3, 5))) for name in sorted(names)]
    for each in world:
        if each["kind"] == "Pod":
            each["spec"]["containers"][0]["resources"]["requests"] |= {GPU: "1"} if draw(st.booleans()) else {}
    world += [
        queue(name, None, deserved={"cpu": draw(st.integers(0, 6)), GPU: draw(st.integers(0, 4))}) for name in QUEUES
    ]
    conf = configuration(
        ["priority", draw(st.sampled_from(GANGS)), "conformance"], ["capacity", "predicates"],
        actions=draw(st.sampled_from(ACTIONS)),
    )  # fmt: skip
    return replace(contest, manifests=world, conf=conf)


@examples(15)
@given(two_resource_contests())
def test_evictions_cease_where_queues_use_idle_resources_beyond_what_they_deserve(contest: Contest) -> None:
    """Evicted pods are recreated and wait; after some cycles there are no more evictions."""
    world = world_of(contest)
    evicted = [len(cycle_with_recreated_pods(world, cycle).decisions.evictions) for cycle in range(30)]
    assert not any(evicted[-10:]), f"evictions by cycle: {evicted}"
