"""Lost members of a gang are replaced, or the rest is evicted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from tests.testing.cases.case import Case, configuration, plugin
from tests.testing.manifests.builders import Manifest, budget, foreign, gang, gang_of, namespace, nodes, pod, queue

GRACE = "scheduling.stromboli.dev/staleness-grace-period"


def at(clock: str) -> str:
    return f"2026-03-01T{clock}Z"


NOON = {**namespace("clock"), "metadata": {"name": "clock", "uid": "clock", "creationTimestamp": at("12:00:00")}}


def on(places: str, cpu: object = 1, **facts: Any) -> list[Manifest]:
    """Remaining members, one for each letter."""
    return [pod(cpu, nodeName=place, **facts) for place in places]


def torn(*members: Sequence[Manifest], minimum: int = 2, since: str = "", status: str = "True", **facts: Any) -> Any:
    """A gang that lost members; optionally with the time since when."""
    every = [member for part in members for member in part]
    head, *rest = gang_of(*every, name="torn", minimum=minimum, **{"phase": "Unknown", **facts})
    if since:
        condition = {"type": "Stale", "status": status, "lastTransitionTime": at(since)}
        head = {**head, "status": {**head["status"], "conditions": [condition]}}
    return [head, *rest]


def looks_after(
    name: str,
    *world: Any,
    binds: str = "",
    releases: str = "",
    given: Mapping[str, object] | None = None,
    by: tuple[Any, ...] = ("gang", "predicates"),
    actions: str = "enqueue, stalegang, allocate",
    **more: Any,
) -> Case:
    """The decision about a gang that lost members, at noon."""
    conf = configuration(*by, actions=actions, arguments={"stalegang": given} if given else None)
    evicts = [f"torn-{member}" for member in releases.split()]
    return Case(name, NOON, world, conf=conf, binds=binds, evicts=evicts, **more)


LONG_AGO, LATELY = "11:58:00", "11:59:01"
AT_ONCE = {"gracePeriod": "0s"}
#: There is no place for any other pod.
FULL = [nodes(1, 2), foreign("b")]
ONE_WAITS = [pod()]
#: Queues have an order and no limits.
UNLIMITED = ("gang", plugin("proportion", enabledAllocatable=False, enabledOverused=False), "predicates")
LEFT = "1 of 2 pods that must run together are left"
UNTIL = f"{LEFT}; the gang is evicted at 2026-03-01T{{}}Z unless the missing pods are placed"
NO_NODE = "0/2 nodes are available: 2 Insufficient cpu."

RELEASED = [
    looks_after("the rest of a gang is evicted after a minute", FULL, torn(on("a"), since=LONG_AGO), releases="task-0"),
    looks_after("not before", FULL, torn(on("a"), since=LATELY)),
    looks_after("to the second", FULL, torn(on("a"), since="11:59:00"), releases="task-0"),
    looks_after("the minute begins when it is first seen", FULL, torn(on("a"))),
    looks_after("a gang with waiting members is evicted, too", FULL, torn(on("a"), ONE_WAITS, since=LONG_AGO),
                binds="-",
                releases="task-0"),
    looks_after("all of it is evicted at once", nodes(2, 1), torn(on("aa"), minimum=3, since=LONG_AGO),
                releases="task-0 task-1"),
    looks_after("wherever its members are", nodes(1, 2), torn(on("ab"), minimum=3, since=LONG_AGO),
                releases="task-0 task-1"),
    looks_after("also those that are bound and do not run yet", nodes(2, 1),
                torn(on("aa", phase="Pending"), minimum=3, since=LONG_AGO), releases="task-0 task-1"),
    looks_after("also pods that others may not preempt", FULL,
                torn(on("a", labels={"volcano.sh/preemptable": "false"}), since=LONG_AGO), releases="task-0"),
    looks_after("members above the minimum of one role do not replace another", nodes(2, 1),
                torn(on("aa", role="ps"), minimums={"ps": 1, "worker": 1}), given=AT_ONCE, releases="ps-0 ps-1"),
    looks_after("broken sub-groups", nodes(2, 1),
                torn(on("a", labels={"part": "x"}), on("a", labels={"part": "y"}),
                     policies=[{"matchLabelKeys": ["part"], "subGroupSize": 2, "minSubGroups": 1}]),
                given=AT_ONCE, releases="task-0 task-1"),
    looks_after("the capacity is free for others at once", nodes(1, 1), torn(on("a"), since=LONG_AGO),
                gang(1, name="next"), binds="A", releases="task-0"),
]  # fmt: skip

STAY = [
    looks_after("a gang that has enough stays", nodes(2, 1), torn(on("aa"), since=LONG_AGO)),
    looks_after("so does one that can do without the others", nodes(2, 1),
                torn(on("aa"), ONE_WAITS, minimum=1, since=LONG_AGO), binds="-"),
    looks_after("a job without a minimum has enough", nodes(1, 1), torn(on("a"), minimum=0, since=LONG_AGO)),
    looks_after("one that never started waits until it is served", FULL, torn([pod(), pod()], since=LONG_AGO),
                binds="--"),
    looks_after("a time that is over does not count", FULL, torn(on("a"), since=LONG_AGO, status="False")),
    looks_after("members that are leaving are not gone yet", nodes(2, 1),
                torn(on("a"), on("a", releasing=True), since=LONG_AGO)),
    looks_after("a gang with a succeeded member is not stale", nodes(2, 1),
                torn(on("a"), on("a", phase="Succeeded"), minimum=3, since=LONG_AGO)),
    looks_after("a member that has failed is lost", nodes(2, 1), torn(on("a"), on("a", phase="Failed"), since=LONG_AGO),
                releases="task-0"),
    looks_after("nothing is ever released, if so configured", FULL, torn(on("a"), since=LONG_AGO),
                given={"gracePeriod": "-1s"}),
    looks_after("without the action nothing happens", FULL, torn(on("a"), since=LONG_AGO), actions="enqueue, allocate"),
]  # fmt: skip

REGROWN = [
    looks_after("a member that waits gets a place", nodes(1, 2), torn(on("a"), ONE_WAITS, since=LONG_AGO), binds="b"),
    looks_after("before all other jobs", nodes(1, 2), gang(1, name="first"),
                torn(on("a"), ONE_WAITS, since=LONG_AGO), binds="- b"),
    looks_after("also before queues that are served earlier", nodes(1, 2), queue("first", priority=9),
                gang(1, queue="first"),
                torn(on("a"), ONE_WAITS, since=LONG_AGO), binds="- b", by=UNLIMITED),
    looks_after("not before them if it requests more than those that are left", nodes(4, 2), queue("first", priority=9),
                gang_of(pod(4), name="first", queue="first"), torn(on("a"), [pod(4)]), binds="b -", by=UNLIMITED),
    looks_after("but after them", nodes(4, 3), queue("first", priority=9),
                gang_of(pod(4), name="first", queue="first"), torn(on("a"), [pod(4)]), binds="b c", by=UNLIMITED),
    looks_after("all that it needs", nodes(1, 3), torn(on("a"), [pod(), pod()], minimum=3, since=LONG_AGO), binds="bc"),
    looks_after("or none", nodes(1, 2), torn(on("a"), [pod(), pod()], minimum=3, since=LONG_AGO), binds="--",
                releases="task-0"),
    looks_after("members above the minimum are placed later", nodes(1, 3),
                torn(on("a"), [pod(), pod()], since=LONG_AGO),
                binds="bc"),
    looks_after("capacity that is being released suffices", nodes(1, 2),
                gang_of(pod(nodeName="b", releasing=True), name="gone", minimum=0, phase="Running"),
                torn(on("a"), ONE_WAITS, since=LONG_AGO), binds="B"),
    looks_after("node filters apply", [nodes(1, 2, labels={"disk": "hdd"})],
                torn(on("a"), [pod(nodeSelector={"disk": "ssd"})], since=LONG_AGO), binds="-", releases="task-0"),
    looks_after("queue limits apply", nodes(1, 2), queue("small", capability={"cpu": 1}),
                torn(on("a"), ONE_WAITS, since=LONG_AGO, queue="small"), binds="-", releases="task-0",
                by=("gang", "proportion", "predicates")),
    looks_after("a gate holds it back", nodes(1, 2), torn(on("a"), [pod(gated=True)], since=LONG_AGO), binds="-",
                releases="task-0"),
    looks_after("allocate may have found the place before", nodes(1, 2), torn(on("a"), ONE_WAITS, since=LONG_AGO),
                binds="b", actions="enqueue, allocate, stalegang"),
    looks_after("or not", FULL, torn(on("a"), ONE_WAITS, since=LONG_AGO), binds="-", releases="task-0",
                actions="enqueue, allocate, stalegang"),
]  # fmt: skip

GUARDED = [
    looks_after("critical pods stay, and the gang with them", nodes(2, 1),
                torn(on("a"), on("a", priorityClassName="system-node-critical"), minimum=3, since=LONG_AGO),
                by=("gang", "conformance"), codes={"torn": ["NoPreemptablePods"]}),
    looks_after("a disruption budget applies", nodes(2, 1), budget("one", 1, {"app": "x"}),
                torn(on("aa", labels={"app": "x"}), minimum=3, since=LONG_AGO),
                codes={"torn": ["DisruptionBudgetSpent"]}),
    looks_after("if it allows it, the gang is evicted", nodes(2, 1), budget("two", 2, {"app": "x"}),
                torn(on("aa", labels={"app": "x"}), minimum=3, since=LONG_AGO), releases="task-0 task-1"),
    looks_after("minimum run time is for whole gangs", FULL,
                torn(on("a", placed=at("11:57:00")), since=LONG_AGO), releases="task-0",
                by=("gang", plugin("minruntime", {"defaultPreemptMinRuntime": "1h"}), "predicates")),
]  # fmt: skip

REPORTED = [
    looks_after("it reports when it will be evicted", FULL, torn(on("a"), ONE_WAITS, since="11:59:30"), binds="-",
                reasons={"torn": [NO_NODE, UNTIL.format("12:00:30")]},
                codes={"torn": ["InsufficientResource", "GangStale"]}),
    looks_after("by its own time", FULL, torn(on("a"), ONE_WAITS, since="11:59:30", notes={GRACE: "2m"}), binds="-",
                reasons={"torn": [NO_NODE, UNTIL.format("12:01:30")]}),
    looks_after("which may be shorter", FULL, torn(on("a"), since="11:59:30", notes={GRACE: "10s"}), releases="task-0"),
    looks_after("or nothing", FULL, torn(on("a"), notes={GRACE: "0s"}), releases="task-0"),
    looks_after("or indefinitely", FULL, torn(on("a"), ONE_WAITS, since=LONG_AGO, notes={GRACE: "-1s"}), binds="-",
                reasons={"torn": [NO_NODE, LEFT]}),
    looks_after("its members come before others for the usual time", nodes(1, 2), queue("first", priority=9),
                gang(1, queue="first"), torn(on("a"), ONE_WAITS, since=LATELY, notes={GRACE: "-1s"}),
                binds="- b", by=UNLIMITED),
    looks_after("and no longer", nodes(1, 2), queue("first", priority=9), gang(1, queue="first"),
                torn(on("a"), ONE_WAITS, since=LONG_AGO, notes={GRACE: "-1s"}), binds="b -", by=UNLIMITED),
    looks_after("they are still placed in their turn", nodes(1, 2),
                torn(on("a"), ONE_WAITS, since=LONG_AGO, notes={GRACE: "-1s"}), binds="b"),
    looks_after("an invalid annotation is ignored", FULL, torn(on("a"), since=LONG_AGO, notes={GRACE: "a while"}),
                releases="task-0",
                warnings=[f"PodGroup default/torn: annotation {GRACE}: 'a while' is not a duration; write one such as "
                          "90s, 30m or 1h30m; it is ignored"]),
]  # fmt: skip


@pytest.mark.parametrize("case", [*RELEASED, *STAY], ids=str)
def test_gang_is_released(case: Case) -> None:
    case.check()


@pytest.mark.parametrize("case", REGROWN, ids=str)
def test_members_are_replaced(case: Case) -> None:
    case.check()


@pytest.mark.parametrize("case", GUARDED, ids=str)
def test_protected_gangs(case: Case) -> None:
    case.check()


@pytest.mark.parametrize("case", REPORTED, ids=str)
def test_stale_gang_is_reported(case: Case) -> None:
    case.check()
