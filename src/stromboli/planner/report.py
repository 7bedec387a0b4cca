"""Plans and advice as plain values for JSON: the keys are stable, and keys may be added."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from stromboli.core.session.status import JobCondition
from stromboli.planner.advice import Advice
from stromboli.planner.class_explanation import ClassExplanation, NodeRefusal
from stromboli.planner.domain_searches import search_as_plain
from stromboli.planner.evictions import account_as_plain, refusals_as_plain
from stromboli.planner.explanation import Explanation, Finding, QueueShareReport
from stromboli.planner.plan import GroupPlan, SchedulingPlan
from stromboli.planner.remedies import Remedies


def report_of(plan: SchedulingPlan, warnings: Sequence[str] = ()) -> dict[str, Any]:
    """Return the plan. `warnings` are those of reading the objects; the plan's own follow them."""
    return {
        "cycles": [
            {"binds": cycle.binds, "pipelined": cycle.pipelined, "evictions": cycle.evictions} for cycle in plan.cycles
        ],
        "binds": plan.binds,
        "devices": plan.devices,
        "pipelined": plan.pipelined,
        "evictions": plan.evictions,
        "evictionDetails": [
            {"cycle": number, **account_as_plain(record)}
            for number, cycle in enumerate(plan.cycles, start=1)
            for record in cycle.records.values()
        ],
        "refusedPreemptions": refusals_as_plain(plan.refusals),
        "podGroups": {key: _group(group) for key, group in plan.groups.items()},
        "pods": {key: {"reason": reason, "message": message} for key, (reason, message) in plan.pods.items()},
        "queues": {name: asdict(queue) for name, queue in plan.queues.items()},
        "warnings": [*warnings, *plan.warnings],
    }


def _group(group: GroupPlan) -> dict[str, Any]:
    return {
        "phase": group.phase,
        "queue": group.queue,
        "minMember": group.min_member,
        "ready": group.ready,
        "pods": group.pods,
        "nodes": group.nodes,
        "waiting": group.waiting,
        "summary": group.summary,
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


def advice_as_plain(advice: Advice) -> dict[str, Any]:
    return {**_explanation(advice.explanation), **_remedies(advice.remedies)}


def _explanation(explanation: Explanation) -> dict[str, Any]:
    group = explanation.group
    return {
        "job": explanation.job,
        "waiting": group.waiting,
        "summary": group.summary,
        "phase": group.phase,
        "priority": explanation.priority,
        "minMember": group.min_member,
        "ready": group.ready,
        "pods": group.pods,
        "nodes": group.nodes,
        "reasons": [_finding(finding) for finding in explanation.findings],
        "domains": [search_as_plain(search) for search in explanation.searches],
        "classes": [_class(entry) for entry in explanation.classes],
        "queue": _queue_share(explanation.queue),
        "ahead": [asdict(entry) for entry in explanation.ahead],
        "evictions": {
            "lost": [account_as_plain(record) for record in explanation.lost],
            "gained": [account_as_plain(record) for record in explanation.gained],
            "refused": refusals_as_plain({explanation.job: explanation.refused}),
        },
    }


def _finding(finding: Finding) -> dict[str, Any]:
    facts = finding.facts
    return {
        "code": finding.code.value,
        "messages": list(finding.messages),
        "meaning": facts.meaning,
        "remedy": facts.remedy.value,
        "advice": facts.advice,
        "retryEvents": [event.value for event in facts.retry_events],
    }


def _class(entry: ClassExplanation) -> dict[str, Any]:
    return {
        "role": entry.role,
        "pods": list(entry.pods),
        "gated": entry.gated,
        "request": entry.request,
        "reason": entry.reason,
        "placed": entry.placed,
        "foundNoNode": entry.found_no_node,
        "nodes": entry.nodes,
        "openNodes": entry.open_nodes,
        "refusals": [_refusal(refusal) for refusal in entry.refusals],
    }


def _refusal(refusal: NodeRefusal) -> dict[str, Any]:
    plain: dict[str, Any] = {
        "code": refusal.code.value,
        "reason": refusal.reason,
        "count": len(refusal.nodes),
        "nodes": list(refusal.nodes),
    }
    if refusal.largest_free is not None:
        resource, amount, node = refusal.largest_free
        plain["largestFree"] = {"resource": resource, "amount": amount, "node": node}
    return plain


def _queue_share(queue: QueueShareReport) -> dict[str, Any]:
    amounts = {amount.resource: asdict(amount) for amount in queue.amounts}
    for plain in amounts.values():
        del plain["resource"]
    return {
        "name": queue.name,
        "exists": queue.exists,
        "state": queue.state,
        "weight": queue.weight,
        "admitted": queue.admitted,
        "resources": amounts,
    }


def _remedies(remedies: Remedies) -> dict[str, Any]:
    return {
        "smallestChange": remedies.smallest.as_plain() if remedies.smallest else None,
        "alternatives": [change.as_plain() for change in remedies.alternatives],
        "search": {
            "trials": remedies.trials,
            "stoppedEarly": remedies.stopped_early,
            "startsByItself": remedies.starts_by_itself,
        },
    }
