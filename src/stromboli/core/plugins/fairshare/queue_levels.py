"""Queues in their tree: what each has used, with its descendants, in relation to its weight."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from stromboli.core.model.queues.queue import ROOT, Queue, QueueUsage
from stromboli.core.model.usage.past_usage import UsageVector
from stromboli.core.plugins.fairshare.measure import UsageMeasure
from stromboli.core.session.session import Session


class QueueLevels:
    def __init__(self, session: Session, measure: UsageMeasure) -> None:
        self._usage = session.ledger.queues
        self._measure = measure
        #: By queue, what its key is made of.
        self._steps: dict[str, list[tuple[Callable[[Sequence[int]], float], QueueUsage]]] = {}
        self._paths = {queue.name: _path(session.queues, queue) for queue in session.queues.values()}
        self.has_tree = any(len(path) > 1 for path in self._paths.values())
        nothing = np.zeros(session.snapshot.size)
        self._past: dict[str, UsageVector] = dict.fromkeys(self._paths, nothing)
        for name in measure.past.queues:
            used = measure.past.queue(name)
            for queue in self._paths.get(name, ()):
                self._past[queue.name] = self._past[queue.name] + used
        self._fractions = {name: measure.fractions(used) for name, used in self._past.items()}

    def key(self, queue: Queue) -> tuple[float, ...]:
        """Return the priority of the queue, and the usage of its ancestors and its own divided by their weights, from
        the top of the tree down.
        """
        steps = self._steps.get(queue.name)
        if steps is None:
            steps = self._steps[queue.name] = [
                (self._measure.level(self._fractions[each.name], self.weight(each)).at, self._usage[each.name])
                for each in self._paths[queue.name]
            ]
        if len(steps) == 1:
            at, usage = steps[0]
            return -queue.priority, at(usage.allocated)
        return -queue.priority, *[at(usage.allocated) for at, usage in steps]

    @staticmethod
    def weight(queue: Queue) -> int:
        return max(queue.weight, 1)

    def path(self, name: str) -> Sequence[Queue]:
        """Return a queue with its ancestors below the root, the highest first."""
        return self._paths[name]

    def past(self, name: str) -> UsageVector:
        """Return what a queue with its descendants has used."""
        return self._past[name]

    def used(self, name: str) -> UsageVector:
        """Return the fraction that a queue has used: of the cluster at the top, below of what its parent has used."""
        path = self._paths[name]
        if len(path) == 1:
            return self._fractions[name]
        of_parent = self._fractions[path[-2].name]
        return self._fractions[name] / np.where(of_parent > 0, of_parent, np.inf)


def _path(queues: Mapping[str, Queue], queue: Queue) -> tuple[Queue, ...]:
    """Return the queue with its ancestors, the highest first. A circle ends where it begins."""
    path = [queue]
    while (parent := queues.get(path[-1].parent)) is not None and parent not in path and parent.name != ROOT:
        path.append(parent)
    return tuple(reversed(path))
