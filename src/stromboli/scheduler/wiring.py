"""The components of a scheduler, built and connected: everything between the watches and the writes."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from stromboli.binding.direct.workers import BindWorkers
from stromboli.binding.evictions import Evictor, EvictWorkers
from stromboli.binding.plugins.plugin import BinderPlugin
from stromboli.binding.pod_binding import PodBinder
from stromboli.binding.recovery import GangRecovery
from stromboli.binding.steps.node_lock import NodeLock
from stromboli.cluster.ingest.ingest import Ingest
from stromboli.cluster.state.cluster import Cluster
from stromboli.core.config.bind_options import DIRECT, REQUEST
from stromboli.external.usage_feed import UsageFeed
from stromboli.history.writer import HistoryWriter
from stromboli.kube.client.client import Client
from stromboli.kube.events.recorder import EventRecorder
from stromboli.kube.objects.catalogue import BIND_REQUESTS
from stromboli.kube.work.status_writer import StatusWriter
from stromboli.observability.metrics.scheduler import SchedulerMetrics
from stromboli.scheduler.bind_requests.service import BindRequestService
from stromboli.scheduler.bind_tracker import BindTracker
from stromboli.scheduler.binder_plugins import BinderPluginHost, built_in_plugins
from stromboli.scheduler.changes import ChangeHandler
from stromboli.scheduler.cycle import CycleRunner, PlacementExecutor
from stromboli.scheduler.default_queues import DefaultQueues
from stromboli.scheduler.forecaster import Forecaster
from stromboli.scheduler.maintenance import CacheHealth, Maintenance
from stromboli.scheduler.options import SchedulerOptions
from stromboli.scheduler.past_usage import PastUsageFeed
from stromboli.scheduler.policy import ActivePolicy
from stromboli.scheduler.reporting.announcer import EventAnnouncer
from stromboli.scheduler.reporting.groupless_pods import GrouplessPods
from stromboli.scheduler.reporting.history_feed import HistoryFeed
from stromboli.scheduler.reporting.overcommitted_nodes import OvercommittedNodes
from stromboli.scheduler.reporting.reporter import StatusReporter
from stromboli.scheduler.resync import Resync
from stromboli.scheduler.set_aside import SetAsideJobs
from stromboli.scheduler.sharding.coordinator import ShardCoordinator
from stromboli.scheduler.sharding.settings import ShardSettings
from stromboli.scheduler.trigger import CycleTrigger
from stromboli.scheduler.watches import Watches


class Components:
    """All components of a scheduler on one event loop. `epoch` is the term in which this process leads;
    `binder_plugins` are further plugins of direct binding."""

    def __init__(
        self,
        client: Client,
        policy: ActivePolicy,
        options: SchedulerOptions | None = None,
        *,
        metrics: SchedulerMetrics | None = None,
        binder_plugins: Sequence[BinderPlugin] = (),
        is_leader: Callable[[], bool] = lambda: True,
        epoch: Callable[[], int] = lambda: 0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.client, self.policy = client, policy
        self.options = options or SchedulerOptions()
        self.metrics = metrics or SchedulerMetrics()
        self.is_leader, self.epoch, self.clock = is_leader, epoch, clock
        self.trigger = CycleTrigger(clock, debounce=self.options.debounce)
        #: Called with the epoch of the leader that bound a pod, whenever one is observed.
        self.observe_term: Callable[[int], None] = lambda term: None
        self._build_cluster()
        self._build_reporting()
        self._build_binding(binder_plugins)
        self.cycles = CycleRunner(
            self.cluster, self.tracker, self.executor, self.evictors, self.reporter, self.metrics,
            seed=self.options.seed, evicts_by_delete=self.options.evict_by_delete, epoch=epoch,
        )  # fmt: skip
        self.set_aside = SetAsideJobs(self.cluster, self.metrics, self.announcer, self.options)
        self.history = self._history_feed() if self.options.history else None
        if self.history is not None:
            self.tracker.on_evicted = self.history.evicted
            self.reporter.budget_events.history = self.history.writer
        self.past_usage = PastUsageFeed(self)
        self.forecaster = Forecaster(self) if self.options.forecast else None
        self.shard = self._shard_coordinator(self.options.shard) if self.options.shard else None
        self.health = CacheHealth(self)
        self.maintenance = Maintenance(self)
        self.initialize()

    def initialize(self) -> None:
        """Called when all components exist."""

    def _build_cluster(self) -> None:
        options, program = self.options, self.policy.program
        self.cluster = Cluster(
            options.scheduler_names, program.class_labels, program.class_annotations,
            seed=options.seed, default_queue=options.default_queue, node_selector=options.node_selector,
            shard=options.shard.choice if options.shard else None,
        )  # fmt: skip
        self.default_queues = DefaultQueues(self.client, self.cluster, options.default_queue, self.is_leader)
        self.changes = ChangeHandler(self)
        self.ingest = Ingest(self.cluster, self.changes.object_changed, self.changes.object_rejected, self.clock)
        self.watches = Watches(self.client, self.ingest, program.config_maps)
        self.usage = UsageFeed(self.client, lambda: self.policy.program, self.changes.usage_reported, clock=self.clock)

    def _build_reporting(self) -> None:
        options = self.options
        self.recorder = EventRecorder(
            self.client, options.scheduler_names[0], rate=options.event_rate, yields=self.is_binding, clock=self.clock
        )
        self.announcer = EventAnnouncer(self.recorder)
        self.writer = StatusWriter(
            self.client, self.ingest, self.is_leader,
            workers=options.status_workers, yields=self.is_binding, clock=self.clock,
        )  # fmt: skip
        self.reporter = StatusReporter(
            self.cluster, self.writer, self.announcer, refresh=options.status_refresh, clock=self.clock
        )
        self.overcommitted_nodes = OvercommittedNodes(self.cluster.assumptions, self.metrics, self.announcer)
        self.groupless_pods = GrouplessPods(
            self.cluster.pods, self.reporter.report_groupless_pod, delay=options.status_refresh, clock=self.clock
        )

    def _build_binding(self, plugins: Sequence[BinderPlugin]) -> None:
        options, cluster = self.options, self.cluster
        notify, is_leader, clock = self.trigger.notify, self.is_leader, self.clock
        self.bind_mode = options.bind_mode or self.policy.program.configuration.bind.mode or DIRECT
        self.recovery = GangRecovery(cluster.has_minimum_bound, cluster.has_minimum_placed, clock, timeout=options.heal)
        self.resync = Resync(self.client)
        self.tracker = BindTracker(
            self.ingest, self.resync, self.recovery, self.reporter, self.announcer, self.metrics,
            is_leader=is_leader, clock=clock, notify=notify, reports_binds=self.bind_mode == DIRECT,
        )  # fmt: skip
        self.requests = BindRequestService(
            self.client, self.ingest, self.tracker, self.reporter, self.metrics,
            scheduler=options.scheduler_names[0], is_leader=is_leader, clock=clock, notify=notify,
        )  # fmt: skip
        self.plugins = BinderPluginHost(
            self.client, self.ingest, self.watches, self.recorder,
            [*built_in_plugins(self.policy), *plugins] if self.bind_mode == DIRECT else (),
            precondition_error=self.tracker.precondition_error, is_leader=is_leader,
        )  # fmt: skip
        evictor = Evictor(self.client, delete=options.evict_by_delete, is_leader=is_leader)
        self.evictors = EvictWorkers(evictor, self.tracker, workers=options.evict_workers)
        self.executor = self._request_writers() if self.bind_mode == REQUEST else self._bind_workers()

    def _request_writers(self) -> PlacementExecutor:
        """Build the writers of bind requests for a binder."""
        self.watches.require(BIND_REQUESTS)
        return self.requests.writers(
            self.tracker, epoch=self.epoch, options=lambda: self.policy.program.configuration.bind,
            workers=self.options.bind_workers,
        )  # fmt: skip

    def _bind_workers(self) -> PlacementExecutor:
        """The scheduler binds pods itself."""
        client, workers = self.client, self.options.bind_workers
        return BindWorkers(
            PodBinder(client, (NodeLock(client),), is_leader=self.is_leader, max_parallel=workers),
            self.tracker,
            workers=workers,
            batch=self.options.bind_batch,
            plugins=self.plugins.plugins,
        )

    def _shard_coordinator(self, settings: ShardSettings) -> ShardCoordinator:
        settings.check(self.bind_mode)
        coordinator = ShardCoordinator(
            self.client, self.ingest, settings, self.options.scheduler_names, changed=self.trigger.notify,
            nodes_are_synced=lambda: self.watches.is_synced, is_leader=self.is_leader, epoch=self.epoch,
            clock=self.clock,
        )  # fmt: skip
        self.watches.follow(coordinator.reflector)
        return coordinator

    def _history_feed(self) -> HistoryFeed:
        options = self.options
        return HistoryFeed(
            self.cluster, HistoryWriter(options.history, options.history_bounds), options.scheduler_names[0],
            is_leader=self.is_leader,
        )  # fmt: skip

    def is_binding(self) -> bool:
        """Report whether pods are being bound, or many evicted: statuses and events yield to that."""
        is_evicting = self.evictors.waiting > self.options.evict_workers
        return is_evicting or self.executor.waiting > self.executor.preparing
