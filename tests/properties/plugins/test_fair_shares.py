"""Shares of the surplus in random clusters: they add up, no queue loses what it deserves, and reclaim ends."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from stromboli.core.plugins.capacity.fair_shares import Demand, fair_shares
from stromboli.planner.plan import SchedulingPlan
from tests.scenarios.kai.situation import Situation, job, nodes, nominated, queue
from tests.testing.cases.case import flattened, key_of
from tests.testing.manifests.builders import GPU, Manifest
from tests.testing.random_clusters.effort import examples

small = st.integers(0, 12)


@st.composite
def demands(draw: st.DrawFn) -> list[Demand]:
    names = draw(st.integers(1, 6))
    return [
        Demand(
            draw(small), draw(small), draw(st.integers(0, 4)), draw(st.integers(0, 2)), (draw(st.floats(0, 1)), str(n))
        )
        for n in range(names)
    ]


@examples(300)
@given(amount=st.integers(0, 40), wanted=demands(), unit=st.sampled_from((1, 2, 5)))
def test_fair_shares_use_the_amount_and_no_more(amount: int, wanted: list[Demand], unit: int) -> None:
    shares = fair_shares(amount, wanted, unit)
    floors = [min(each.deserved, each.usable) for each in wanted]
    assert all(floor <= share <= each.usable for floor, share, each in zip(floors, shares, wanted, strict=True))
    assert sum(shares) <= max(amount, sum(floors))
    satisfied = all(share == each.usable for share, each in zip(shares, wanted, strict=True) if each.weight)
    assert satisfied or sum(shares) >= amount


@examples(200)
@given(amount=st.integers(0, 40), wanted=demands(), unit=st.sampled_from((1, 2, 5)))
def test_higher_priority_gets_surplus_first(amount: int, wanted: list[Demand], unit: int) -> None:
    shares = fair_shares(amount, wanted, unit)
    beyond = [share - min(each.deserved, each.usable) for share, each in zip(shares, wanted, strict=True)]
    for one, share in zip(wanted, shares, strict=True):
        if one.weight and share < one.usable:
            lower = [more for more, other in zip(beyond, wanted, strict=True) if other.priority < one.priority]
            assert not any(lower)


@dataclass(frozen=True, repr=False)
class QuotaWorld:
    """Queues with quotas of GPUs, flat or below two parents, and jobs that run or wait."""

    parts: list[Any]
    deserved: dict[str, int]
    limits: dict[str, int]

    def __repr__(self) -> str:
        return "\n".join(_described(each) for each in flattened(self.parts))

    def situation(self) -> Situation:
        return Situation("random", *self.parts, ends="")


@st.composite
def worlds(draw: st.DrawFn, trees: bool = True) -> QuotaWorld:
    parts: list[Any] = [nodes("a6 b4")]
    is_tree, deserved, limits = trees and draw(st.booleans()), dict[str, int](), dict[str, int]()
    if is_tree:
        parts += [
            queue("d1", draw(st.integers(0, 5)), draw(weights)),
            queue("d2", draw(st.integers(0, 5)), draw(weights)),
        ]
    for number in range(draw(st.integers(2, 4))):
        name, most = f"q{number}", draw(st.sampled_from((None, None, 3, 6)))
        deserved[name] = draw(st.integers(0, 3))
        limits[name] = 99 if most is None else most
        parent = {"parent": draw(st.sampled_from(("d1", "d2")))} if is_tree else {}
        parts.append(queue(name, deserved[name], draw(weights), most=most, priority=draw(st.integers(0, 1)), **parent))
    free = {"a": 6, "b": 4}
    for number in range(draw(st.integers(3, 9))):
        parts.append(draw(jobs(f"j{number}", sorted(deserved), free)))
    return QuotaWorld(parts, deserved, limits)


def _described(each: Manifest) -> str:
    spec, kind = each["spec"], each["kind"]
    if kind == "Queue":
        weight = each["metadata"]["annotations"]
        return f"{each['metadata']['name']} {weight} {spec}"
    if kind == "PodGroup":
        return f"{each['metadata']['name']} {spec}"
    return str((spec.get("nodeName"), spec["containers"][0]["resources"]["limits"])) if kind == "Pod" else ""


weights = st.sampled_from((0, 1, 1, 2, 3))


@st.composite
def jobs(draw: st.DrawFn, name: str, queues: list[str], free: dict[str, int]) -> list[Manifest]:
    size, count = draw(st.sampled_from((1, 1, 2, 3))), draw(st.integers(1, 3))
    places = ""
    for place in draw(st.lists(st.sampled_from("ab--"), min_size=count, max_size=count)):
        fits = place != "-" and free[place] >= size
        places += place if fits else "-"
        if fits:
            free[place] -= size
    minimum = draw(st.integers(1, count))
    if places.count("-") not in (0, count) and count - places.count("-") < minimum:
        minimum = 1
    priority = draw(st.sampled_from(("train", "train", "build-preemptable")))
    return job(name, draw(st.sampled_from(queues)), size, places, minimum=minimum, priority=priority)


def held(manifests: list[Manifest]) -> Counter[str]:
    """GPUs of running pods, by queue."""
    queues = {each["metadata"]["name"]: each["spec"]["queue"] for each in manifests if each["kind"] == "PodGroup"}
    amounts: Counter[str] = Counter()
    for each in manifests:
        if each["kind"] == "Pod" and "nodeName" in each["spec"]:
            gpus = each["spec"]["containers"][0]["resources"]["requests"][GPU]
            amounts[queues[each["metadata"]["annotations"]["scheduling.k8s.io/group-name"]]] += int(gpus)
    return amounts


def losers(plan: SchedulingPlan) -> set[str]:
    """The queues that lose pods to reclaim."""
    session = plan.session
    return {session.jobs[each.task.job].queue for each in session.decisions.evictions if each.reason == "reclaim"}


@examples(60)
@given(world=worlds(trees=False))
def test_queues_keep_what_they_deserve_and_their_limits(world: QuotaWorld) -> None:
    situation = world.situation()
    manifests = situation.manifests
    for _ in range(4):
        plan = situation.plan_of(manifests)
        after = situation.after(manifests, plan)
        most = held(manifests) + held([each for each in after if each["kind"] != "Pod" or key_of(each) in plan.binds])
        for name in losers(plan):
            assert most[name] > world.deserved[name], f"{name} loses what it deserves"
        before = held(manifests)
        assert all(amount <= max(world.limits[name], before[name]) for name, amount in held(after).items())
        manifests = after


@examples(60)
@given(world=worlds())
def test_reclaim_comes_to_an_end(world: QuotaWorld) -> None:
    situation = world.situation()
    manifests, quiet = situation.manifests, 0
    for _ in range(25):
        plan = situation.plan_of(manifests)
        manifests = nominated(situation.after(manifests, plan), plan)
        quiet = 0 if plan.evictions or plan.binds else quiet + 1
        if quiet > 1:
            return
    raise AssertionError("pods are evicted and placed again without an end")
