"""Builds the parts of a binder and connects them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from stromboli.binding.evictions import Evictor
from stromboli.binding.plugins.plugin import BinderContext, BinderPlugin
from stromboli.binding.plugins.preparations import Preparations
from stromboli.binding.pod_binding import ParallelBinds, PodBinder
from stromboli.binding.requests.assumed_placements import AssumedPlacements
from stromboli.binding.requests.cluster_view import BinderClusterView
from stromboli.binding.requests.events import BindEvents
from stromboli.binding.requests.finalizer import GangFinalizer
from stromboli.binding.requests.metrics import BinderMetrics
from stromboli.binding.requests.orphans import OrphanedPreparations
from stromboli.binding.requests.outcome_lookup import OutcomeLookup
from stromboli.binding.requests.pod_conditions import PodConditions
from stromboli.binding.requests.reconciler import GangReconciler
from stromboli.binding.requests.reports import Reports
from stromboli.binding.requests.rollback import GangRollback
from stromboli.binding.requests.status import RequestStatuses
from stromboli.binding.steps.node_lock import NodeLock
from stromboli.kube.client.client import Client
from stromboli.kube.events.recorder import EventRecorder
from stromboli.kube.work.retry import RetryPolicy
from stromboli.kube.work.status_writer import StatusWriter

#: The name of the reporting controller in events.
NAME = "stromboli-binder"
#: A bind is retried a few times at once; a server that stays busy is left to the next attempt of the gang.
BIND_RETRIES = RetryPolicy(attempts=3, min_delay=0.1, max_delay=1.0, limit=10.0)
EVICT_RETRIES = RetryPolicy(attempts=1)
CONDITION_RETRIES = RetryPolicy(attempts=4, min_delay=0.2, max_delay=5.0)


@dataclass(frozen=True, slots=True)
class BinderOptions:
    """Times are in seconds."""

    #: Bind requests processed at a time; those that wait for volumes or for their next attempt do not count.
    request_workers: int = 16
    #: Bindings in flight, in total and for one node.
    bind_workers: int = 64
    binds_per_node: int = 16
    #: The delay after the first failed attempt, which doubles with every other one, and its maximum.
    min_retry_delay: float = 0.5
    max_retry_delay: float = 30.0
    #: Events per second; 0 for no limit.
    event_rate: float = 50.0
    #: The time limit for binds in flight when the process stops.
    grace: float = 10.0


@dataclass(frozen=True, slots=True)
class BinderProcessFacts:
    """The state that the components share: the connection, leadership, and time."""

    client: Client
    is_leader: Callable[[], bool]
    epoch: Callable[[], int]
    clock: Callable[[], float]


@dataclass(frozen=True, slots=True)
class BinderParts:
    assumed: AssumedPlacements
    recorder: EventRecorder
    conditions: StatusWriter
    binds: ParallelBinds
    orphans: OrphanedPreparations
    reconciler: GangReconciler


def build_parts(
    facts: BinderProcessFacts,
    view: BinderClusterView,
    plugins: Sequence[BinderPlugin],
    options: BinderOptions,
    metrics: BinderMetrics,
    *,
    notify: Callable[[str], None],
    reconcile_pod: Callable[[str], None],
) -> BinderParts:
    """`notify` schedules a run for the decision with this key, `reconcile_pod` for those that name the pod."""
    client, is_leader, clock = facts.client, facts.is_leader, facts.clock
    pod_binder = PodBinder(client, (NodeLock(client),), BIND_RETRIES, is_leader, options.bind_workers)
    binds = ParallelBinds(pod_binder, per_node=options.binds_per_node)

    def is_binding() -> bool:
        return binds.in_flight > 0

    recorder = EventRecorder(client, NAME, rate=options.event_rate, yields=is_binding, clock=clock)
    writer = StatusWriter(client, view, is_leader, retry=CONDITION_RETRIES, yields=is_binding, clock=clock)
    events, assumed = BindEvents(recorder), AssumedPlacements(view.cluster)
    statuses, conditions = RequestStatuses(client, view, facts.epoch), PodConditions(writer, view.pod)
    reports = Reports(statuses, conditions, events, metrics)
    preparations, lookup = Preparations(plugins), OutcomeLookup(client, view)
    evictor = Evictor(client, retry=EVICT_RETRIES, is_leader=is_leader)
    rollback = GangRollback(evictor, preparations, view, reports)
    orphans = OrphanedPreparations(view, assumed, lookup, preparations)
    retry = RetryPolicy(min_delay=options.min_retry_delay, max_delay=options.max_retry_delay, factor=2.0, jitter=False)
    finalizer = GangFinalizer(view, assumed, preparations, rollback, orphans, reports, retry=retry, clock=clock)
    reconciler = GangReconciler(
        view, assumed, lookup, preparations, binds, finalizer, orphans, reports,
        epoch=facts.epoch, notify=notify, clock=clock,
    )  # fmt: skip
    context = BinderContext(client, view, reconciler.precondition_error, reconcile_pod, events.record, is_leader)
    for plugin in plugins:
        plugin.open(context)
    return BinderParts(assumed, recorder, writer, binds, orphans, reconciler)
