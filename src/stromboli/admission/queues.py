"""Rules for Queues: their place in the tree, what they promise each other, and which of them must stay."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

from stromboli import kube
from stromboli.admission.facts import PRIORITY_CLASSES, AdmissionPolicy, Facts
from stromboli.admission.tenancy import classes_of
from stromboli.admission.verdict import GOOD, AdmissionVerdict, Violation, invalid, refused
from stromboli.cluster.objects.queues import misplaced, queue_of
from stromboli.core.model.queues.queue import HIERARCHY, HIERARCHY_WEIGHTS, ROOT, Queue
from stromboli.core.model.resources.resources import Request, ResourceAxis

#: Deeper than any organisation.
MAX_LEVELS = 64
_PARENT, _NAME = "spec.parent", "metadata.name"
#: What is promised, and what bounds it: the field, its attribute, and the same of the bound.
_BOUNDS = (
    ("spec.guarantee.resource", "guarantee", "spec.deserved", "deserved"),
    ("spec.guarantee.resource", "guarantee", "spec.capability", "capability"),
    ("spec.deserved", "deserved", "spec.capability", "capability"),
)


def review_queue(queue: kube.KubeQueue, facts: Facts) -> AdmissionVerdict:
    """A queue that is to be stored, among all the others."""
    axis = ResourceAxis()
    try:
        entry = queue_of(queue, axis)
    except ValueError as error:
        return refused(Violation(str(error)))
    others = _readable(facts, axis) | {entry.name: entry}
    return GOOD.plus(
        _place(entry, others),
        *_promises(entry, axis),
        _below(entry, others, axis),
        _below(others.get(entry.parent or ROOT), others, axis),
        _hierarchy(queue),
        _classes(queue),
    )


def review_deletion(name: str, facts: Facts, terms: AdmissionPolicy) -> AdmissionVerdict:
    if name in (ROOT, terms.default_queue):
        return invalid(_NAME, f"queue {name!r} is needed by everybody", "close it if it shall take no work")
    children = sorted(other for other, queue in facts.queues.items() if queue.spec.parent == name and other != name)
    if children:
        shown = ", ".join(children[:3]) + (f" and {len(children) - 3} more" if len(children) > 3 else "")
        remedy = "delete them first, or give them another parent"
        return refused(
            *(Violation(f"{_NAME}: queues lie below it: {shown}; {remedy}", queue=child) for child in children[:3])
        )
    return GOOD


def _readable(facts: Facts, axis: ResourceAxis) -> dict[str, Queue]:
    """Queues that make no sense were there before; they are nobody else's fault."""
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
        return invalid(_PARENT, "there is nothing above the root", "leave it empty")
    if entry.parent == entry.name:
        return invalid(_PARENT, "a queue cannot lie below itself", "name another, or leave it empty")
    fault = misplaced(queues).get(entry.name)
    if fault is None:
        return _depth(entry, queues)
    return refused(Violation(f"{fault}; name another, or leave it empty", queue=entry.parent))


def _depth(entry: Queue, queues: Mapping[str, Queue]) -> AdmissionVerdict:
    """Every cycle walks from each queue up to the root."""
    above, levels = queues.get(entry.parent), 1
    while above is not None and levels <= MAX_LEVELS:
        above, levels = queues.get(above.parent), levels + 1
    if levels <= MAX_LEVELS:
        return GOOD
    return invalid(_PARENT, f"the queue would lie more than {MAX_LEVELS} levels deep", "name one nearer to the root")


def _promises(entry: Queue, axis: ResourceAxis) -> Iterator[AdmissionVerdict]:
    for field, promise, bound_field, bound in _BOUNDS:
        promised, most = getattr(entry, promise), dict(getattr(entry, bound))
        for dimension, amount in promised:
            if amount > most.get(dimension, amount):
                name = axis.names[dimension]
                amounts = [axis.format(dimension, each) for each in (amount, most[dimension])]
                words = f"{amounts[0]} is more than {bound_field}, {amounts[1]}"
                yield invalid(f"{field}.{name}", words, "lower it, or raise the other")


def _below(parent: Queue | None, queues: Mapping[str, Queue], axis: ResourceAxis) -> AdmissionVerdict:
    """Queues cannot all be guaranteed more than the queue above them may ever use."""
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
            words = f"the queues below {parent.name!r} are guaranteed {total} of {name}, and it may use {most}"
            return invalid("spec.guarantee.resource", words, "lower guarantees, or raise its capability")
    return GOOD


def _sum(amounts: Iterator[Request]) -> dict[int, int]:
    sums: dict[int, int] = {}
    for request in amounts:
        for dimension, amount in request:
            sums[dimension] = sums.get(dimension, 0) + amount
    return sums


def _hierarchy(queue: kube.KubeQueue) -> AdmissionVerdict:
    """Where a queue stands for hierarchical shares, and what each level weighs, have one part per level."""
    annotations = queue.metadata.annotations or {}
    path, weights = annotations.get(HIERARCHY, ""), annotations.get(HIERARCHY_WEIGHTS, "")
    if not path and not weights:
        return GOOD
    field, levels = f"metadata.annotations[{HIERARCHY}]", path.split("/")
    if levels[0] != ROOT or not all(levels):
        return invalid(field, f"{path!r} is no path from the root", "write one like root/science/physics")
    field, parts = f"metadata.annotations[{HIERARCHY_WEIGHTS}]", weights.split("/")
    if len(parts) != len(levels):
        return invalid(field, f"{weights!r} has not one weight per level of {path!r}", "write one like 1/2/4")
    if not all(_is_weight(part) for part in parts):
        return invalid(field, f"{weights!r} holds what is no weight", "write numbers above 0, like 1/2/4")
    return GOOD


def _is_weight(text: str) -> bool:
    try:
        return len(text) < 32 and 0 < float(text) < math.inf
    except ValueError:
        return False


def _classes(queue: kube.KubeQueue) -> AdmissionVerdict:
    if any(" " in name for name in classes_of(queue) or ()):
        field = f"metadata.annotations[{PRIORITY_CLASSES}]"
        return invalid(field, "names of priority classes have no blanks", "put commas between them")
    return GOOD
