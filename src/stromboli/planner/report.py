"""A plan as plain values for JSON: the keys are stable, and keys may be added."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from stromboli.core.session.status import JobCondition
from stromboli.planner.evictions import account_as_plain, refusals_as_plain
from stromboli.planner.plan import CyclePlan, GroupPlan, QueuePlan, SchedulingPlan


def report_of(plan: SchedulingPlan, warnings: Sequence[str] = ()) -> dict[str, Any]:
    """Return the plan. `warnings` are those of reading the objects; the plan's own follow them."""
    return {
        "cycles": [_cycle(cycle) for cycle in plan.cycles],
        "binds": plan.binds,
        "devices": plan.devices,
        "pipelined": plan.pipelined,
        "evictions": plan.evictions,
        "evictionDetails": [
            {"cycle": number, **account_as_plain(account)}
            for number, cycle in enumerate(plan.cycles, start=1)
            for account in cycle.accounts.values()
        ],
        "refusedPreemptions": refusals_as_plain(plan.refusals),
        "podGroups": {key: _group(group) for key, group in plan.groups.items()},
        "pods": {key: {"reason": reason, "message": message} for key, (reason, message) in plan.pods.items()},
        "queues": {name: _queue(queue) for name, queue in plan.queues.items()},
        "warnings": [*warnings, *plan.warnings],
    }


def _cycle(cycle: CyclePlan) -> dict[str, Any]:
    return {"binds": cycle.binds, "pipelined": cycle.pipelined, "evictions": cycle.evictions}


def _group(group: GroupPlan) -> dict[str, Any]:
    return {
        "phase": group.phase,
        "queue": group.queue,
        "minMember": group.min_member,
        "ready": group.ready,
        "pods": group.pods,
        "nodes": group.nodes,
        "waiting": group.waiting,
        "conditions": [condition_as_plain(condition) for condition in group.conditions],
        "reasons": list(group.reasons),
        "codes": list(group.codes),
    }


def condition_as_plain(condition: JobCondition) -> dict[str, str]:
    return {
        "type": condition.type,
        "status": condition.status,
        "reason": condition.reason,
        "message": condition.message,
        "transitionID": condition.transition_id,
    }


def _queue(queue: QueuePlan) -> dict[str, Any]:
    return {"allocated": queue.allocated, "deserved": queue.deserved, "share": queue.share}
