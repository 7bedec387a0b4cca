"""Rules for Queues: position in the tree, guarantees and limits, and protection from deletion."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

from stromboli import kube
from stromboli.admission.facts import AdmissionPolicy, Facts
from stromboli.admission.verdict import GOOD, AdmissionVerdict, Violation, invalid, refused
from stromboli.cluster.objects.priority_classes import ALLOWED_CLASSES, allowed_classes
from stromboli.cluster.objects.queues import misplaced, queue_of
from stromboli.core.model.queues.queue import HIERARCHY, HIERARCHY_WEIGHTS, ROOT, Queue
from stromboli.core.model.resources.resources import Request, ResourceAxis
from stromboli.core.model.usage.budgets import BUDGETS, budgets_of
from stromboli.core.model.usage.queue_annotations import HALF_LIFE, USER_LIMITS, USER_WEIGHTS, annotation_problems

#: Maximum depth of the tree.
MAX_LEVELS = 64
_PARENT, _NAME = "spec.parent", "metadata.name"
#: A field that must not exceed another: name and attribute of both.
_BOUNDS = (
    ("spec.guarantee.resource", "guarantee", "spec.deserved", "deserved"),
    ("spec.guarantee.resource", "guarantee", "spec.capability", "capability"),
    ("spec.deserved", "deserved", "spec.capability", "capability"),
)


def review_queue(queue: kube.KubeQueue, facts: Facts) -> AdmissionVerdict:
    """Validate a queue in the context of all other queues."""
    axis = ResourceAxis()
    try:
        entry = queue_of(queue, axis)
    except ValueError as error:
        return refused(Violation(str(error)))
    others = _decode_all(facts, axis) | {entry.name: entry}
    return GOOD.plus(
        _place(entry, others),
        *_promises(entry, axis),
        _below(entry, others, axis),
        _below(others.get(entry.parent or ROOT), others, axis),
        _hierarchy(queue),
        _classes(queue),
        _budgets(queue),
        _users(entry),
    )


def _budgets(queue: kube.KubeQueue) -> AdmissionVerdict:
    try:
        budgets_of((queue.metadata.annotations or {}).get(BUDGETS) or "[]")
    except ValueError as error:
        return refused(Violation(f"metadata.annotations: {error}"))
    return GOOD


_EXAMPLES = {
    HALF_LIFE: "write a duration such as 72h, or 0s for no decay, on a queue below the root",
    USER_WEIGHTS: "write weights such as ana=3,ben=1",
    USER_LIMITS: "write limits such as ana: cpu=8, nvidia.com/gpu=4; *: cpu=2",
}


def _users(entry: Queue) -> AdmissionVerdict:
    """Annotations about users and past usage: the scheduler ignores invalid ones, and limits would have no effect."""
    problems = annotation_problems(entry.annotations, entry.name == ROOT or entry.parent in ("", ROOT))
    return GOOD.plus(*(invalid(f"metadata.annotations[{key}]", problem, _EXAMPLES[key]) for key, problem in problems))


def review_deletion(name: str, facts: Facts, policy: AdmissionPolicy) -> AdmissionVerdict:
    if name in (ROOT, policy.default_queue):
        return invalid(_NAME, f"queue {name!r} is protected", "close it to stop accepting work")
    children = sorted(other for other, queue in facts.queues.items() if queue.spec.parent == name and other != name)
    if children:
        shown = ", ".join(children[:3]) + (f" and {len(children) - 3} more" if len(children) > 3 else "")
        remedy = "delete them first, or give them another parent"
        return refused(
            *(Violation(f"{_NAME}: the queue has children: {shown}; {remedy}", queue=child) for child in children[:3])
        )
    return GOOD


def _decode_all(facts: Facts, axis: ResourceAxis) -> dict[str, Queue]:
    """Decode the known queues; existing invalid queues do not affect the result."""
    entries = {}
    for name, queue in facts.queues.items():
        try:
            entries[name] = queue_of(queue, axis)
        except ValueError:
            entries[name] = Queue(name, name, parent=queue.spec.parent or "")
    return entries


def _place(entry: Queue, queues: Mapping[str, Queue]) -> AdmissionVerdict:
    if entry.name == ROOT:
        if entry.parent in ("", ROOT):
            return GOOD
        return invalid(_PARENT, "the root queue has no parent", "leave it empty")
    if entry.parent == entry.name:
        return invalid(_PARENT, "a queue cannot be its own ancestor", "name another, or leave it empty")
    violation = misplaced(queues).get(entry.name)
    if violation is None:
        return _depth(entry, queues)
    return refused(Violation(f"{violation}; name another, or leave it empty", queue=entry.parent))


def _depth(entry: Queue, queues: Mapping[str, Queue]) -> AdmissionVerdict:
    """Limit the depth: every cycle walks from each queue to the root."""
    above, levels = queues.get(entry.parent), 1
    while above is not None and levels <= MAX_LEVELS:
        above, levels = queues.get(above.parent), levels + 1
    if levels <= MAX_LEVELS:
        return GOOD
    return invalid(_PARENT, f"the queue would be more than {MAX_LEVELS} levels deep", "name a queue closer to the root")


def _promises(entry: Queue, axis: ResourceAxis) -> Iterator[AdmissionVerdict]:
    for field, promise, bound_field, bound in _BOUNDS:
        promised, most = getattr(entry, promise), dict(getattr(entry, bound))
        for dimension, amount in promised:
            if amount > most.get(dimension, amount):
                name = axis.names[dimension]
                amounts = [axis.format(dimension, each) for each in (amount, most[dimension])]
                message = f"{amounts[0]} exceeds {bound_field}, {amounts[1]}"
                yield invalid(f"{field}.{name}", message, "lower it, or raise the other")


def _below(parent: Queue | None, queues: Mapping[str, Queue], axis: ResourceAxis) -> AdmissionVerdict:
    """The sum of the guarantees of child queues must not exceed the capability of their parent."""
    if parent is None or not parent.capability:
        return GOOD
    children = [
        queue for queue in queues.values() if (queue.parent or ROOT) == parent.name and queue.name != parent.name
    ]
    sums = _sum(child.guarantee for child in children)
    for dimension, ceiling in parent.capability:
        if sums.get(dimension, 0) > ceiling:
            total, most = (axis.format(dimension, amount) for amount in (sums[dimension], ceiling))
            name = axis.names[dimension]
            message = (
                f"the children of {parent.name!r} are guaranteed {total} of {name}, more than its capability {most}"
            )
            return invalid("spec.guarantee.resource", message, "lower guarantees, or raise the capability")
    return GOOD


def _sum(amounts: Iterator[Request]) -> dict[int, int]:
    sums: dict[int, int] = {}
    for request in amounts:
        for dimension, amount in request:
            sums[dimension] = sums.get(dimension, 0) + amount
    return sums


def _hierarchy(queue: kube.KubeQueue) -> AdmissionVerdict:
    """The hierarchy annotations must have one part and one weight per level."""
    annotations = queue.metadata.annotations or {}
    path, weights = annotations.get(HIERARCHY, ""), annotations.get(HIERARCHY_WEIGHTS, "")
    if not path and not weights:
        return GOOD
    field, levels = f"metadata.annotations[{HIERARCHY}]", path.split("/")
    if levels[0] != ROOT or not all(levels):
        return invalid(field, f"{path!r} is not a path from the root", "write one like root/science/physics")
    field, parts = f"metadata.annotations[{HIERARCHY_WEIGHTS}]", weights.split("/")
    if len(parts) != len(levels):
        return invalid(field, f"{weights!r} does not have one weight per level of {path!r}", "write one like 1/2/4")
    if not all(_is_weight(part) for part in parts):
        return invalid(field, f"{weights!r} contains an invalid weight", "write numbers above 0, like 1/2/4")
    return GOOD


def _is_weight(text: str) -> bool:
    try:
        return len(text) < 32 and 0 < float(text) < math.inf
    except ValueError:
        return False


def _classes(queue: kube.KubeQueue) -> AdmissionVerdict:
    if any(" " in name for name in allowed_classes(queue.metadata.annotations) or ()):
        field = f"metadata.annotations[{ALLOWED_CLASSES}]"
        return invalid(field, "names of priority classes cannot contain spaces", "separate them with commas")
    return GOOD
