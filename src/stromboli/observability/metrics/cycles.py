"""Durations of a cycle and its phases, under Volcano's names in milliseconds and under Stromboli's in seconds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from stromboli.core.session.session import Session
from stromboli.observability.metrics.histograms import ACTION_BOUNDS, CYCLE_BOUNDS, PLUGIN_BOUNDS, SECONDS
from stromboli.observability.metrics.series import PlainCounter

_PLUGIN_PHASES = {"open": "OnSessionOpen", "close": "OnSessionClose"}
_SKIPPED, _TRIED = "skipped", "tried"
_PREEMPTING = ("preempt", "reclaim", "gangpreempt", "gangreclaim")


@dataclass(frozen=True, slots=True)
class CycleSeconds:
    """Durations around a session: snapshot, opening, and passing decisions on. `total` is the whole cycle."""

    snapshot: float
    opening: float
    commit: float
    total: float


class CycleMetrics:
    def __init__(self, registry: CollectorRegistry) -> None:
        def milliseconds(name: str, bounds: Sequence[float], documentation: str, *labels: str) -> Histogram:
            return Histogram(f"volcano_{name}_milliseconds", documentation, labels, buckets=bounds, registry=registry)

        def seconds(name: str, documentation: str, *labels: str) -> Histogram:
            return Histogram(f"stromboli_{name}", documentation, labels, buckets=SECONDS, registry=registry)

        self._whole_ms = milliseconds("e2e_scheduling_latency", CYCLE_BOUNDS, "Time of a scheduling cycle.")
        self._opening_ms = milliseconds(
            "open_session_duration", CYCLE_BOUNDS, "Time to take a snapshot and open a session."
        )
        self._action_ms = milliseconds("action_scheduling_latency", ACTION_BOUNDS, "Time of an action.", "action")
        self._plugin_ms = milliseconds(
            "plugin_scheduling_latency",
            PLUGIN_BOUNDS,
            "Time of a plugin to open or close a session.",
            "plugin",
            "OnSession",
        )
        self._cycle = seconds("cycle_duration_seconds", "Time of a scheduling cycle.")
        self._phase = seconds("cycle_phase_duration_seconds", "Time of a phase of a cycle.", "phase")
        self._action = seconds("action_duration_seconds", "Time of an action.", "action")
        self._plugin = seconds(
            "plugin_duration_seconds", "Time of a plugin to open or close a session.", "plugin", "phase"
        )
        self._cycles = Counter("stromboli_cycles", "Scheduling cycles, by result.", ("result",), registry=registry)
        for result in ("completed", "plugin", "accounting", "error"):
            self._cycles.labels(result)
        self._domains = Counter(
            "stromboli_topology_domains",
            "Topology domains that the search skipped or tried.",
            ("outcome",),
            registry=registry,
        )
        for outcome in (_SKIPPED, _TRIED):
            self._domains.labels(outcome)
        self._victims = Gauge("volcano_pod_preemption_victims", "Pods evicted by the last cycle.", registry=registry)
        self._preemptions = PlainCounter("volcano_total_preemption_attempts", "Cycles that evicted pods.", (), registry)
        self._preemptions.values = {(): 0.0}
        self._eviction_statements = Counter(
            "volcano_eviction_transactions", "Decisions to evict pods, by action.", ("action",), registry=registry
        )
        for action in _PREEMPTING:
            self._eviction_statements.labels(action)

    def observe(self, session: Session, spent: CycleSeconds) -> None:
        self._observe_phases(session, spent)
        for what, seconds in session.measurements.seconds.items():
            if what[0] == "action":
                self._action.labels(what[1]).observe(seconds)
                self._action_ms.labels(what[1]).observe(seconds * 1000)
            elif what[0] == "plugin":
                self._plugin.labels(what[1], what[2]).observe(seconds)
                self._plugin_ms.labels(what[1], _PLUGIN_PHASES.get(what[2], what[2])).observe(seconds * 1000)
        self._cycles.labels("completed").inc()
        self._domains.labels(_SKIPPED).inc(session.measurements.domains_passed_over)
        self._domains.labels(_TRIED).inc(session.measurements.domains_tried)
        self._victims.set(len(session.decisions.evictions))
        if session.decisions.evictions:
            self._observe_evictions(session)

    def _observe_evictions(self, session: Session) -> None:
        self._preemptions.values = {(): self._preemptions.values[()] + 1}
        actions = {action.name for action in session.program.actions}
        for reason, statements in session.decisions.eviction_statements.items():
            self._eviction_statements.labels(reason if reason in actions else "other").inc(statements)

    def _observe_phases(self, session: Session, spent: CycleSeconds) -> None:
        measured = session.measurements.seconds
        phases = {
            "snapshot": spent.snapshot,
            "open": spent.opening,
            "actions": sum(seconds for what, seconds in measured.items() if what[0] == "action"),
            "close": sum(seconds for what, seconds in measured.items() if what[0] == "plugin" and what[2] == "close"),
            "commit": spent.commit,
        }
        for phase, seconds in phases.items():
            self._phase.labels(phase).observe(seconds)
        self._cycle.observe(spent.total)
        self._whole_ms.observe(spent.total * 1000)
        self._opening_ms.observe((spent.snapshot + spent.opening) * 1000)

    def failed(self, reason: str) -> None:
        self._cycles.labels(reason).inc()
