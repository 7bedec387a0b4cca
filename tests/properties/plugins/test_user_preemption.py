"""Users of a queue who preempt each other: evictions end, and leave each user a fair part."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from stromboli.planner.plan import SchedulingPlan
from stromboli.workloads.users import USER
from tests.scenarios.kai.situation import Situation, job, nodes, nominated
from tests.testing.cases.case import configuration, flattened, key_of, plugin
from tests.testing.manifests.builders import Manifest, queue
from tests.testing.random_clusters.effort import examples

CONF = configuration(
    ["priority", plugin("gang", enablePreemptable=False)],
    [plugin("fairshare", {"perUser": True, "preemptUsers": True}), "predicates"],
    actions="allocate, preempt",
)
_USERS = ("ana", "ben", "eve")


@dataclass(frozen=True)
class OneQueue:
    parts: list[Any]

    def runs(self) -> tuple[list[Manifest], list[SchedulingPlan]]:
        """Return the objects and plans of the cycles until nothing changes any more."""
        situation = Situation("random", *self.parts, ends="", conf=CONF)
        manifests, plans = situation.manifests, list[SchedulingPlan]()
        for _ in range(25):
            plan = situation.plan_of(manifests)
            plans.append(plan)
            manifests = nominated(situation.after(manifests, plan), plan)
            if len(plans) > 1 and not any(each.evictions or each.binds for each in plans[-2:]):
                return manifests, plans
        raise AssertionError(f"pods are evicted and placed again without an end: {flattened(self.parts)}")


def held(manifests: list[Manifest]) -> Counter[str]:
    return Counter(
        key_of(each).split("/")[1][:3] for each in manifests if each["kind"] == "Pod" and "nodeName" in each["spec"]
    )


@st.composite
def worlds(draw: st.DrawFn, gangs: bool) -> OneQueue:
    parts: list[Any] = [nodes("a4 b2"), queue("all")]
    free = {"a": 4, "b": 2}
    for number in range(draw(st.integers(2, 14))):
        user, count = draw(st.sampled_from(_USERS)), draw(st.integers(1, 3)) if gangs else 1
        place = draw(st.sampled_from("ab-"))
        running = place != "-" and free[place] >= count
        if running:
            free[place] -= count
        minimum = draw(st.integers(1, count))
        priority = draw(st.sampled_from(("train", "train", "build"))) if gangs else "train"
        on = (place if running else "-") * count
        name = f"{user}-{number}"
        parts.append(job(name, "all", 1, on, minimum=minimum, priority=priority, notes={USER: user}))
    return OneQueue(parts)


@examples(60)
@given(world=worlds(gangs=True))
def test_evictions_between_users_end(world: OneQueue) -> None:
    _, plans = world.runs()
    evicted = Counter(key for plan in plans for key in plan.evictions)
    assert max(evicted.values(), default=0) <= 2


@examples(60)
@given(world=worlds(gangs=False))
def test_users_with_equal_jobs_hold_equal_parts(world: OneQueue) -> None:
    manifests, _ = world.runs()
    pods = Counter(key_of(each).split("/")[1][:3] for each in manifests if each["kind"] == "Pod")
    holds = held(manifests)
    for user in pods:
        if holds[user] < pods[user]:
            assert all(holds[other] <= holds[user] + 1 for other in pods), holds
