"""Resources of queues, under the names that Volcano's dashboards use.

The queue `root` has no series: it uses what the other queues use, which would count twice in sums.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from prometheus_client import CollectorRegistry, Gauge

from stromboli.core.config.plugin import PluginFailure, QueueFacts
from stromboli.core.model.queues.queue import ROOT, Queue, real_capability
from stromboli.core.model.resources.resources import CPU, MEMORY, UNLIMITED, exceeding
from stromboli.core.session.session import Session
from stromboli.observability.metrics.series import Labels, PrunedGauge

#: Metrics of a queue per resource.
_AMOUNTS = {
    "allocated": "Allocated to the tasks of the queue and its children.",
    "request": "Allocated and requested.",
    "deserved": "The queue's fair share.",
    "capacity": "The capability of the queue; no series without one.",
    "real_capacity": "The most that the queue may use: its capability, without the guarantees of others.",
    "inqueue": "Reserved for admitted jobs that are not allocated yet.",
}
_SINGLE = {
    "share": "The largest ratio of allocated to deserved over the queue's resources.",
    "weight": "The queue's weight.",
    "overused": "1 while the queue has all that it deserves, else 0.",
}

Amounts = Iterable[tuple[int, int]]


class QueueMetrics:
    def __init__(self, registry: CollectorRegistry, max_series: int) -> None:
        def pruned(name: str, documentation: str, *labels: str) -> PrunedGauge:
            return PrunedGauge(Gauge(f"volcano_queue_{name}", documentation, labels, registry=registry), max_series)

        self._cpu = {kind: pruned(f"{kind}_milli_cpu", text, "queue_name") for kind, text in _AMOUNTS.items()}
        self._memory = {kind: pruned(f"{kind}_memory_bytes", text, "queue_name") for kind, text in _AMOUNTS.items()}
        self._scalars = {
            kind: pruned(f"{kind}_scalar_resources", text, "queue_name", "resource") for kind, text in _AMOUNTS.items()
        }
        self._single = {kind: pruned(kind, text, "queue_name") for kind, text in _SINGLE.items()}

    def update(self, session: Session) -> int:
        """Expose the queues of a cycle; return the number of omitted series."""
        queues = [queue for queue in session.queues.values() if queue.name != ROOT]
        facts = {queue.name: _facts(session, queue) for queue in queues}
        omitted = self._update_scalars(session, queues, facts)
        for kind in _AMOUNTS:
            amounts = {queue.name: _amounts(session, queue, kind, facts[queue.name]) for queue in queues}
            omitted += self._update_amounts(session.axis.names, kind, amounts)
        return omitted

    def _update_scalars(self, session: Session, queues: Sequence[Queue], facts: Mapping[str, QueueFacts | None]) -> int:
        values: dict[str, dict[Labels, float]] = {
            "share": {(name,): share for name in facts if (share := _share(session, name, facts[name])) is not None},
            "weight": {(queue.name,): queue.weight for queue in queues},
            "overused": {(queue.name,): _is_overused(session, queue, facts[queue.name]) for queue in queues},
        }
        return sum(self._single[kind].update(series) for kind, series in values.items())

    def _update_amounts(self, names: Sequence[str], kind: str, amounts: Mapping[str, Amounts]) -> int:
        by_kind: tuple[dict[Labels, float], ...] = ({}, {}, {})
        for queue, entries in amounts.items():
            for dimension, amount in entries:
                if dimension == CPU:
                    by_kind[0][queue,] = amount
                elif dimension == MEMORY:
                    by_kind[1][queue,] = amount
                else:
                    by_kind[2][queue, names[dimension]] = amount
        gauges = (self._cpu[kind], self._memory[kind], self._scalars[kind])
        return sum(gauge.update(series) for gauge, series in zip(gauges, by_kind, strict=True))


def _amounts(session: Session, queue: Queue, kind: str, facts: QueueFacts | None) -> Amounts:
    usage = session.ledger.queues[queue.name]
    if kind == "capacity":
        return queue.capability
    if kind == "deserved":
        dense: Sequence[int] = facts.deserved if facts else ()
    elif kind == "real_capacity":
        known = facts.limit if facts else ()
        dense = known or real_capability(queue, exceeding(session.shareable, session.total_guarantee))
    else:
        dense = {"allocated": usage.allocated, "request": usage.request, "inqueue": usage.inqueue}[kind]
    return ((dimension, amount) for dimension, amount in enumerate(dense) if amount < UNLIMITED)


def _share(session: Session, name: str, facts: QueueFacts | None) -> float | None:
    """Return a queue's share; 0 without jobs, so that dashboards find all queues."""
    if facts is not None:
        return facts.share
    return None if session.ledger.queues[name].jobs else 0.0


def _facts(session: Session, queue: Queue) -> QueueFacts | None:
    """Return a queue's facts; a plugin failure was reported by the cycle and omits the queue here."""
    try:
        return session.queue_facts(queue)
    except PluginFailure:
        return None


def _is_overused(session: Session, queue: Queue, facts: QueueFacts | None) -> bool:
    """Report whether a plugin calls the queue overused, or its allocation reaches what it deserves."""
    try:
        if session.overused(queue) is not None:
            return True
    except Exception:
        return False
    allocated = session.ledger.queues[queue.name].allocated
    parts = [(dimension, amount) for dimension, amount in enumerate(facts.deserved if facts else ()) if amount]
    return bool(parts) and all(allocated[dimension] >= amount for dimension, amount in parts)
