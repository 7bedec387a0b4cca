"""The evictions of a cycle and the claims it refused, accounted for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from stromboli.core.preemption.report import basic_eviction_record
from stromboli.core.session.decision_records import EvictionRecord, PreemptionFailure, RuleObjection
from stromboli.core.session.session import Session

#: So many examples of an objection are given to programs; the count says how many there are.
_MAX_OBJECTS = 10


def accounts_of(session: Session) -> dict[str, EvictionRecord]:
    """By pod, why each had to go; those of actions that tell nothing by themselves with what is known of any."""
    told = session.accounts.evictions if session.accounts else {}
    evictions = session.decisions.evictions
    accounts = {each.task.key: told.get(each.task.uid) or basic_eviction_record(session, each) for each in evictions}
    return dict(sorted(accounts.items()))


def refusals_of(session: Session) -> dict[str, list[PreemptionFailure]]:
    """By job, the claims that were refused. A job that got its room by another action was not refused."""
    if session.accounts is None:
        return {}
    gained = {eviction.preemptor for eviction in session.decisions.evictions}
    return {job: told for job, told in sorted(session.accounts.refusals.items()) if job not in gained}


def sentence(account: EvictionRecord) -> str:
    """The account in one line: the action, who gets the room, what is freed, and the right to it."""
    parts = [describe_preemptor(account), f"frees {describe_freed(account)}"]
    if account.allowed_by:
        parts.append(f"allowed by {describe_consents(account)}")
    if account.with_gang:
        parts.append("its gang goes whole")
    if account.note:
        parts.append(account.note)
    return f"{account.action}: {'; '.join(part for part in parts if part)}"


def describe_preemptor(account: EvictionRecord) -> str:
    if account.preemptor_pod:
        return f"{account.preemptor_pod} gets its room on {account.preemptor_node}"
    return f"in favour of {account.preemptor}" if account.preemptor else ""


def describe_freed(account: EvictionRecord) -> str:
    return ", ".join(f"{name} {amount}" for name, amount in account.frees.items()) or "nothing"


def describe_consents(account: EvictionRecord) -> str:
    """`priority (priority 10 < 100), conformance`: the decisive rule first."""
    ordered = sorted(account.allowed_by, key=lambda consent: not consent.is_decisive)
    return ", ".join(f"{each.plugin} ({each.right})" if each.right else each.plugin for each in ordered)


def describe_protected(account: EvictionRecord) -> str:
    """Who could stay on the node, and why other nodes were not chosen."""
    parts = [f"{len(each.objects)} ({each.rule}): {each.objects[0]}: {each.why}" for each in account.protected]
    parts += [f"not on {other.node}: {other.why}" for other in account.considered]
    return "; ".join(parts)


# -- for programs -------------------------------------------------------------------------------------------------


def account_as_plain(account: EvictionRecord) -> dict[str, Any]:
    return {
        "pod": account.pod,
        "job": account.job,
        "queue": account.queue,
        "action": account.action,
        "node": account.node,
        "frees": dict(account.frees),
        "claimant": account.preemptor,
        "claimantQueue": account.preemptor_queue,
        "claimantPod": account.preemptor_pod,
        "claimantNode": account.preemptor_node,
        "allowedBy": [
            {"plugin": each.plugin, "right": each.right, "decisive": each.is_decisive} for each in account.allowed_by
        ],
        "withGang": account.with_gang,
        "spared": _objections(account.protected),
        "considered": [{"node": other.node, "why": other.why} for other in account.considered],
        "note": account.note,
    }


def refusals_as_plain(refusals: Mapping[str, Sequence[PreemptionFailure]]) -> list[dict[str, Any]]:
    return [
        {
            "job": job,
            "pod": refusal.pod,
            "action": refusal.action,
            "code": refusal.reason.code.value,
            "sentence": refusal.reason.detail,
            "rules": _objections(refusal.objections),
        }
        for job, told in refusals.items()
        for refusal in told
    ]


def _objections(objections: Sequence[RuleObjection]) -> list[dict[str, Any]]:
    return [
        {
            "rule": each.rule,
            "why": each.why,
            "count": len(each.objects),
            "objects": list(each.objects[:_MAX_OBJECTS]),
        }
        for each in objections
    ]
