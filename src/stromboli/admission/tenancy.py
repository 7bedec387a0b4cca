"""Rules about tenants: which queues and priorities they may use.

A queue that lists priority classes in an annotation takes no others; objects that name no class have the default one,
which is always allowed.
"""

from __future__ import annotations

from stromboli import kube
from stromboli.admission.facts import AUTHORISATION, PRIORITIES, PRIORITY_CLASSES, AdmissionPolicy, Facts
from stromboli.admission.requests import User
from stromboli.admission.verdict import GOOD, AdmissionVerdict, QueueUse, forbidden, invalid
from stromboli.controllers.queue_state import OPEN, state_of


def entering(queue: str, field: str, facts: Facts) -> AdmissionVerdict:
    """New work goes into queues that exist and are open."""
    found = facts.queues.get(queue)
    if found is None:
        return invalid(field, f"queue {queue!r} does not exist", "create it, or name another", queue=queue)
    state = state_of(found).state
    if state != OPEN:
        return invalid(
            field, f"queue {queue!r} is {state}", "name one that is Open, or ask for it to be opened", queue=queue
        )
    return GOOD


def using(queue: str, field: str, user: User, terms: AdmissionPolicy) -> AdmissionVerdict:
    """Whether this tenant may use the queue has to be asked, unless everybody may."""
    if queue in terms.public_queues or not terms.checks(AUTHORISATION, user):
        return GOOD
    return AdmissionVerdict(uses=(QueueUse(queue, field),))


def prioritised(
    name: str, field: str, queue: str, user: User, facts: Facts, terms: AdmissionPolicy
) -> AdmissionVerdict:
    """Whether this class may be used in the queue."""
    if not name or not terms.checks(PRIORITIES, user) or _is_default(facts.priority_classes.get(name)):
        return GOOD
    allowed = classes_of(facts.queues.get(queue))
    if allowed is None or name in allowed:
        return GOOD
    listed = f"use one of {', '.join(allowed)}" if allowed else "name none"
    return forbidden(field, f"priority class {name!r} is not for queue {queue!r}", listed, queue=queue)


def classes_of(queue: kube.KubeQueue | None) -> list[str] | None:
    """The priority classes that a queue lists; None for one that lists none, and takes all."""
    listed = (queue.metadata.annotations or {}).get(PRIORITY_CLASSES) if queue else None
    return None if listed is None else [name for part in listed.split(",") if (name := part.strip())]


def _is_default(found: kube.PriorityClass | None) -> bool:
    return found is not None and bool(found.global_default)
