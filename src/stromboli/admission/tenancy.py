"""Rules for tenants: which queues and priority classes they may use.

A queue that lists priority classes in an annotation accepts no others; the default class is always allowed.
"""

from __future__ import annotations

from stromboli import kube
from stromboli.admission.facts import AUTHORISATION, PRIORITIES, AdmissionPolicy, Facts
from stromboli.admission.requests import User
from stromboli.admission.verdict import GOOD, AdmissionVerdict, QueueUse, forbidden, invalid
from stromboli.cluster.objects.priority_classes import allowed_classes
from stromboli.controllers.queue_state import OPEN, state_of
from stromboli.core.model.queues.queue import ROOT


def check_queue(queue: str, field: str, facts: Facts) -> AdmissionVerdict:
    """Require that the queue of new work exists and is open."""
    found = facts.queues.get(queue)
    if found is None:
        return invalid(field, f"queue {queue!r} does not exist", "create it, or name another", queue=queue)
    state = state_of(found).state
    if state != OPEN:
        return invalid(
            field, f"queue {queue!r} is {state}", "name a queue that is Open, or have it opened", queue=queue
        )
    return GOOD


def check_leaf(queue: str, field: str, facts: Facts) -> AdmissionVerdict:
    """Reject jobs in queues that have queues below them, as Volcano does."""
    if queue == ROOT:
        return invalid(field, "can not submit job to root queue", "name a queue below it")
    children = sorted(name for name, each in facts.queues.items() if each.spec.parent == queue and name != queue)
    if not children:
        return GOOD
    message = f"can only submit job to leaf queue, queue {queue!r} has {len(children)} child queues"
    return invalid(field, message, f"name one of them, such as {children[0]}", queue=children[0])


def check_access(queue: str, field: str, user: User, policy: AdmissionPolicy) -> AdmissionVerdict:
    """Require an access review for the queue, unless it is public."""
    if queue in policy.public_queues or not policy.checks(AUTHORISATION, user):
        return GOOD
    return AdmissionVerdict(uses=(QueueUse(queue, field),))


def check_priority_class(
    name: str, field: str, queue: str, user: User, facts: Facts, policy: AdmissionPolicy
) -> AdmissionVerdict:
    """Check whether the priority class is allowed in the queue."""
    if not name or not policy.checks(PRIORITIES, user) or _is_default(facts.priority_classes.get(name)):
        return GOOD
    found = facts.queues.get(queue)
    allowed = allowed_classes(found.metadata.annotations) if found is not None else None
    if allowed is None or name in allowed:
        return GOOD
    listed = f"use one of {', '.join(allowed)}" if allowed else "name none"
    return forbidden(field, f"priority class {name!r} is not allowed in queue {queue!r}", listed, queue=queue)


def _is_default(found: kube.PriorityClass | None) -> bool:
    return found is not None and bool(found.global_default)
