"""The queue that objects name, in every spelling that is honoured.

A plain pod's own annotations and labels come before the annotations that it inherits from its owner. A group's
`spec.queue` comes before its annotations and labels.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from stromboli import kube

DEFAULT_QUEUE = "default"
#: Annotations or labels with which controllers that cannot set `spec.queue` name the queue; the first one counts.
QUEUE_NAMES = ("scheduling.volcano.sh/queue-name", "volcano.sh/queue-name")


class NamedQueue(NamedTuple):
    """A queue and the field that names it; both empty if none is named."""

    name: str = ""
    field: str = ""
    #: Whether the owner of the pod names it.
    is_inherited: bool = False


def queues_in(annotations: Mapping[str, str], labels: Mapping[str, str]) -> Iterator[NamedQueue]:
    """All queues that annotations and labels name, with their fields; the first one counts."""
    for part, entries in (("annotations", annotations), ("labels", labels)):
        for key in QUEUE_NAMES:
            if name := entries.get(key):
                yield NamedQueue(name, f"metadata.{part}[{key}]")


def queue_in(annotations: Mapping[str, str], labels: Mapping[str, str]) -> NamedQueue:
    """The queue that annotations or labels name."""
    if not annotations and not labels:
        return NamedQueue()
    return next(queues_in(annotations, labels), NamedQueue())


def named_queue(annotations: Mapping[str, str], labels: Mapping[str, str]) -> str:
    """The queue that annotations or labels name; empty for none."""
    return queue_in(annotations, labels).name


def queue_of_pod(pod: kube.Pod, inherited: Mapping[str, str]) -> NamedQueue:
    """The queue of a plain pod; `inherited` are the annotations of its owner."""
    own = queue_in(pod.metadata.annotations or {}, pod.metadata.labels or {})
    return own if own.name else queue_in(inherited, {})._replace(is_inherited=True)


def queue_of_group(queue: str | None, annotations: Mapping[str, str], labels: Mapping[str, str]) -> NamedQueue:
    """The queue of a group. The CRD defaults `spec.queue` to `default`, so that value does not override an annotation
    or label.
    """
    if queue not in (None, "", DEFAULT_QUEUE):
        return NamedQueue(queue or "", "spec.queue")
    named = queue_in(annotations, labels)
    return named if named.name else NamedQueue(queue or "", "spec.queue")


def queue_name_of(group: kube.PodGroup, default_queue: str = DEFAULT_QUEUE) -> str:
    metadata = group.metadata
    return queue_of_group(group.spec.queue, metadata.annotations or {}, metadata.labels or {}).name or default_queue
