"""The part of a plan that is about some jobs: a cluster has thousands of others."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from stromboli.planner.plan import CyclePlan, SchedulingPlan

V = TypeVar("V")


def limited_to(plan: SchedulingPlan, jobs: Sequence[str]) -> SchedulingPlan:
    """Return the plan with these jobs, their pods and queues, and the evictions that they cause or suffer. The session
    stays whole, so that explanations compare with all jobs.
    """
    chosen = set(jobs)
    groups = {key: group for key, group in plan.groups.items() if key in chosen}
    pods = {task.key for key in groups for task in plan.session.jobs[key].tasks.values()}
    queues = {group.queue for group in groups.values()}
    return replace(
        plan,
        cycles=[_cycle(cycle, chosen, pods) for cycle in plan.cycles],
        groups=groups,
        queues=_only(plan.queues, queues),
        pods=_only(plan.pods, pods),
        whole=plan,
    )


def _cycle(cycle: CyclePlan, jobs: Collection[str], pods: Collection[str]) -> CyclePlan:
    return CyclePlan(
        _only(cycle.binds, pods),
        _only(cycle.pipelined, pods),
        {pod: each for pod, each in cycle.records.items() if each.job in jobs or each.preemptor in jobs},
        _only(cycle.refusals, jobs),
        _only(cycle.searches, jobs),
        _only(cycle.devices, pods),
    )


def _only(entries: Mapping[str, V], keys: Collection[str]) -> dict[str, V]:
    return {key: value for key, value in entries.items() if key in keys}
