"""Queues in their tree: what each has used, with its descendants, in relation to its weight."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from stromboli.core.model.queues.queue import Queue
from stromboli.core.model.usage.past_usage import UsageVector
from stromboli.core.plugins.fairshare.measure import UsageMeasure
from stromboli.core.session.session import Session

_Key = Callable[[], tuple[float, ...]]


class _Keys(dict[str, _Key]):
    """Functions that return keys, made when they are first needed."""

    def __init__(self, make: Callable[[str], _Key]) -> None:
        self._make = make

    def __missing__(self, name: str) -> _Key:
        key = self[name] = self._make(name)
        return key


class QueueLevels:
    def __init__(self, session: Session, measure: UsageMeasure) -> None:
        self._usage = session.ledger.queues
        self._measure = measure
        #: By queue, the function that returns its key, which is asked for at every turn.
        self.keys = _Keys(self._key_of)
        self._paths = measure.paths
        self.has_tree = any(len(path) > 1 for path in self._paths.values())
        nothing = np.zeros(session.snapshot.size)
        self._past: dict[str, UsageVector] = dict.fromkeys(self._paths, nothing)
        for name, path in self._paths.items():
            used = measure.of_queue(name)
            for queue in path if used.any() else ():
                self._past[queue.name] = self._past[queue.name] + used
        self._fractions = {name: measure.fractions(name, used) for name, used in self._past.items()}
        #: By queue, the weight of one of its children that has the usage and the weight of all of them.
        self._units = self._units_of_children() if self.has_tree else {}

    def _units_of_children(self) -> dict[str, float]:
        """Relate the usage of children to that of their siblings: children of different parents of equal rank compare.
        Sums are those at the beginning of the cycle, so that placements change the rank of the queue alone.
        """
        used, weights = dict[str, float](), dict[str, int]()
        for name, path in self._paths.items():
            if len(path) > 1:
                parent, level = path[-2].name, self._measure.level(self._fractions[name])
                used[parent] = used.get(parent, 0.0) + level.at(self._usage[name].allocated)
                weights[parent] = weights.get(parent, 0) + path[-1].weight
        return {parent: (amount or 1.0) / weights[parent] for parent, amount in used.items()}

    def key(self, queue: Queue) -> tuple[float, ...]:
        """Return the priority of the queue, and the usage of its ancestors and its own divided by their weights, from
        the top of the tree down; below the top, both are parts of the sums over all siblings.
        """
        return self.keys[queue.name]()

    def _key_of(self, name: str) -> _Key:
        path = self._paths[name]
        units = (1.0, *[self._units[parent.name] for parent in path[:-1]])
        steps = [
            (self._measure.level(self._fractions[each.name], each.weight * unit).at, self._usage[each.name])
            for each, unit in zip(path, units, strict=True)
        ]
        first, (at, usage) = -path[-1].priority, steps[0]
        if len(steps) == 1:
            return lambda: (first, at(usage.allocated))
        return lambda: (first, *[at(usage.allocated) for at, usage in steps])

    def path(self, name: str) -> Sequence[Queue]:
        """Return a queue with its ancestors below the root, the highest first."""
        return self._paths[name]

    def past(self, name: str) -> UsageVector:
        """Return what a queue with its descendants has used."""
        return self._past[name]

    def used_of_cluster(self, name: str) -> UsageVector:
        """Return the fraction of the cluster that a queue with its descendants has used."""
        return self._fractions[name]

    def used(self, name: str) -> UsageVector:
        """Return the fraction that a queue has used: of the cluster at the top, below of what its parent has used."""
        path = self._paths[name]
        if len(path) == 1:
            return self._fractions[name]
        of_parent = self._fractions[path[-2].name]
        return self._fractions[name] / np.where(of_parent > 0, of_parent, np.inf)
