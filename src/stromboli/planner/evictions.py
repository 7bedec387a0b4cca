"""Reports of the evictions and of the failed preemptions of a cycle."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from stromboli.core.model.reasons import Code, Reason
from stromboli.core.preemption.report import basic_eviction_record
from stromboli.core.session.decision_records import EvictionRecord, PreemptionFailure, RuleObjection
from stromboli.core.session.session import Session
from stromboli.core.session.waiting_reasons import counted

#: Maximum number of examples per veto in JSON; `count` has the total.
_MAX_OBJECTS = 10
#: Before the preemptor, in the message of an Evicted condition.
_FAVOUR = " in favour of "


def accounts_of(session: Session) -> dict[str, EvictionRecord]:
    """Return the reports of evictions by pod; actions without their own reports get a generic one."""
    recorded = session.records.evictions if session.records else {}
    evictions = session.decisions.evictions
    records = {each.task.key: recorded.get(each.task.uid) or basic_eviction_record(session, each) for each in evictions}
    return dict(sorted(records.items()))


def refusals_of(session: Session) -> dict[str, list[PreemptionFailure]]:
    """Return the failed preemptions by job, except for jobs that preempted with another action."""
    if session.records is None:
        return {}
    gained = {eviction.preemptor for eviction in session.decisions.evictions}
    return {job: failures for job, failures in sorted(session.records.refusals.items()) if job not in gained}


def loss_of(records: Sequence[EvictionRecord], message: str, missing: int) -> Reason | None:
    """Return why a waiting job has lost pods: its evictions in the plan, else the message of its PodGroup; None if it
    has lost none. `missing` pods must be created before it can start.
    """
    causes = Counter((record.action, record.preemptor, _rule(record)) for record in records)
    evictions = [
        f"{counted(number, 'pod')} evicted by {action}{preemptor and f' for {preemptor}'}{rule and f': {rule}'}"
        for (action, preemptor, rule), number in causes.items()
    ]
    found = evictions or ([message] if message else [])
    if not found:
        return None
    again = [f"{counted(missing, 'pod')} must be created again"] if missing > 0 else []
    preemptors = dict.fromkeys(record.preemptor for record in records if record.preemptor)
    by = ", ".join(preemptors) or message.rpartition(_FAVOUR)[2] * (_FAVOUR in message)
    return Reason(Code.PREEMPTED, "; ".join([*found, *again]), short=f"preempted by {by}" if by else "")


def _rule(record: EvictionRecord) -> str:
    decisive = record.decisive
    return "" if decisive is None else f"{decisive.plugin} ({decisive.right})" if decisive.right else decisive.plugin


def describe_eviction(record: EvictionRecord) -> str:
    """Return the report in one line: action, preemptor, freed amounts and justification."""
    freed = ", ".join(f"{name} {amount}" for name, amount in record.frees.items()) or "nothing"
    parts = [_describe_preemptor(record), f"frees {freed}"]
    if record.allowed_by:
        parts.append(f"allowed by {describe_consents(record)}")
    if record.with_gang:
        parts.append("whole gang")
    if record.note:
        parts.append(record.note)
    return f"{record.action}: {'; '.join(part for part in parts if part)}"


def _describe_preemptor(record: EvictionRecord) -> str:
    if record.preemptor_pod:
        return f"{record.preemptor_pod} is nominated to {record.preemptor_node}"
    return f"for {record.preemptor}" if record.preemptor else ""


def describe_consents(record: EvictionRecord) -> str:
    """Format the plugins that allowed the eviction, the decisive one first: `priority (priority 10 < 100), pdb`."""
    ordered = sorted(record.allowed_by, key=lambda consent: not consent.is_decisive)
    return ", ".join(f"{each.plugin} ({each.right})" if each.right else each.plugin for each in ordered)


def describe_protected(record: EvictionRecord) -> str:
    """Describe the protected pods on the node, and why other nodes were not chosen."""
    parts = [f"{len(each.objects)} ({each.rule}): {each.objects[0]}: {each.why}" for each in record.protected]
    parts += [f"not on {other.node}: {other.why}" for other in record.considered]
    return "; ".join(parts)


# -- JSON ---------------------------------------------------------------------------------------------------------


def account_as_plain(record: EvictionRecord) -> dict[str, Any]:
    return {
        "pod": record.pod,
        "job": record.job,
        "queue": record.queue,
        "action": record.action,
        "node": record.node,
        "frees": dict(record.frees),
        "preemptor": record.preemptor,
        "preemptorQueue": record.preemptor_queue,
        "preemptorPod": record.preemptor_pod,
        "preemptorNode": record.preemptor_node,
        "allowedBy": [
            {"plugin": each.plugin, "justification": each.right, "decisive": each.is_decisive}
            for each in record.allowed_by
        ],
        "withGang": record.with_gang,
        "protected": _objections(record.protected),
        "considered": [{"node": other.node, "why": other.why} for other in record.considered],
        "note": record.note,
    }


def refusals_as_plain(refusals: Mapping[str, Sequence[PreemptionFailure]]) -> list[dict[str, Any]]:
    return [
        {
            "job": job,
            "pod": refusal.pod,
            "action": refusal.action,
            "code": refusal.reason.code.value,
            "message": refusal.reason.detail,
            "rules": _objections(refusal.objections),
        }
        for job, failures in refusals.items()
        for refusal in failures
    ]


def _objections(objections: Sequence[RuleObjection]) -> list[dict[str, Any]]:
    return [
        {"rule": each.rule, "why": each.why, "count": len(each.objects), "objects": list(each.objects[:_MAX_OBJECTS])}
        for each in objections
    ]
