"""The scheduler: everything that lives between the watches and the writes, put together.

It runs on one event loop. A cycle is one uninterrupted piece of work on it, so nothing changes under its hands; the
watches, the binds and the writes go on before and after.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Mapping, Sequence

from stromboli import kube
from stromboli.binding.direct.workers import BindWorkers
from stromboli.binding.evictions import Evictor, EvictWorkers
from stromboli.binding.orders import EvictOrder
from stromboli.binding.pod_binding import PodBinder
from stromboli.binding.recovery import UNWOUND, GangRecovery, left_behind, term_of, with_followers
from stromboli.binding.steps.claims.step import ClaimStep
from stromboli.binding.steps.node_lock import NodeLock
from stromboli.binding.steps.step import BindStep
from stromboli.binding.steps.volumes.step import VolumeStep
from stromboli.cluster.audit.auditor import Auditor
from stromboli.cluster.ingest.ingest import Mirror, Quarantined
from stromboli.cluster.ingest.relevance import confirms_binding, is_relevant
from stromboli.cluster.state.cluster import Cluster
from stromboli.core.config.bind_options import DIRECT, REQUEST
from stromboli.core.config.plugin import PluginFailure
from stromboli.core.model.ledger.ledger import LedgerInconsistency
from stromboli.core.model.nodes.usage import Usage
from stromboli.external.usage_feed import UsageFeed
from stromboli.kube.client.client import Client
from stromboli.kube.events.recorder import EventRecorder
from stromboli.kube.objects.bind_requests import BindRequest
from stromboli.kube.objects.catalogue import BIND_REQUESTS
from stromboli.kube.objects.meta import TopLevel
from stromboli.kube.work.status_writer import StatusWriter
from stromboli.observability.metrics.scheduler import SchedulerMetrics
from stromboli.scheduler.bind_requests.service import Requests
from stromboli.scheduler.bind_tracker import BindTracker
from stromboli.scheduler.cache_health import CacheHealth
from stromboli.scheduler.cycle import CycleResult, CycleRunner, PlacementExecutor
from stromboli.scheduler.options import Options
from stromboli.scheduler.policy import Policy
from stromboli.scheduler.reporting.announcer import EventAnnouncer
from stromboli.scheduler.reporting.gauges import GaugeUpdater
from stromboli.scheduler.reporting.reporter import StatusReporter
from stromboli.scheduler.resync import Resync
from stromboli.scheduler.sharding.coordinator import ShardCoordinator
from stromboli.scheduler.sharding.settings import ShardSettings
from stromboli.scheduler.shared_gpus import SharedGpus
from stromboli.scheduler.trigger import CycleTrigger
from stromboli.scheduler.watches import Watches

#: A cycle is followed by a rest so many times as long as itself, in which binds, watches and writes have their turn.
REST_PER_CYCLE = 10.0
#: Memories of what is gone are cleared this often, in seconds.
CLEANUP_INTERVAL = 60.0

log = logging.getLogger("stromboli.scheduler")


class Scheduler:
    def __init__(
        self,
        client: Client,
        policy: Policy,
        options: Options | None = None,
        *,
        metrics: SchedulerMetrics | None = None,
        steps: Sequence[BindStep] = (),
        is_leader: Callable[[], bool] = lambda: True,
        epoch: Callable[[], int] = lambda: 0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.options = options or Options()
        self.client = client
        self.policy = policy
        self.metrics = metrics or SchedulerMetrics()
        self._clock = clock
        self._is_leader = is_leader
        options = self.options
        program = policy.program
        self.cluster = Cluster(
            options.scheduler_names, program.class_labels, program.class_annotations,
            seed=options.seed, default_queue=options.default_queue, node_selector=options.node_selector,
            shard=options.shard.choice if options.shard else None,
        )  # fmt: skip
        self.mirror = Mirror(self.cluster, self._changed, self._refused)
        self.alarm = CycleTrigger(clock, debounce=options.debounce)
        self.feed = Watches(client, self.mirror, program.config_maps)
        self.usage = UsageFeed(client, lambda: self.policy.program, self._measured, clock=clock)
        self.recorder = EventRecorder(
            client, options.scheduler_names[0], rate=options.event_rate, yields=self._is_binding
        )
        self.announcer = EventAnnouncer(self.recorder)
        self.writer = StatusWriter(
            client, self.mirror, is_leader, self._status_not_written,
            workers=options.status_workers, yields=self._is_binding, clock=clock,
        )  # fmt: skip
        self.reporting = StatusReporter(
            self.cluster, self.writer, self.announcer, refresh=options.status_refresh, clock=clock
        )
        self.healing = GangRecovery(
            self.cluster.has_minimum_bound, self.cluster.has_minimum_placed, clock, patience=options.heal
        )
        self.resync = Resync(client)
        self.bind_mode = options.bind_mode or program.configuration.bind.mode or DIRECT
        self.outcomes = BindTracker(
            self.mirror, self.resync, self.healing, self.reporting, self.announcer, self.metrics,
            is_leader=is_leader, clock=clock, ring=self.alarm.ring, reports_binds=self.bind_mode == DIRECT,
        )  # fmt: skip
        self.requests = Requests(
            client, self.mirror, self.outcomes, self.reporting, self.metrics,
            scheduler=options.scheduler_names[0], is_leader=is_leader, clock=clock, ring=self.alarm.ring,
        )  # fmt: skip
        self.gpus = SharedGpus(client, self.mirror, policy, self.feed, self.recorder, self.outcomes.obstacle, is_leader)
        self.binders = self._binders(steps, epoch)
        self.evictors = EvictWorkers(
            Evictor(client, delete=options.evict_by_delete, is_leader=is_leader),
            self.outcomes,
            workers=options.evict_workers,
        )
        self.cycles = CycleRunner(
            self.cluster, self.outcomes, self.binders, self.evictors, self.reporting, self.metrics,
            seed=options.seed, epoch=epoch,
        )  # fmt: skip
        self.shard = self._shard_coordinator(options.shard, epoch) if options.shard else None
        self.auditor = Auditor(self.cluster)
        self.confidence = CacheHealth(self._rebuild_cache, clock)
        self._gauges = GaugeUpdater(self.metrics)
        #: Told of every cycle that ran.
        self.observers: list[Callable[[CycleResult], None]] = []
        #: Told every time the loop comes round.
        self.turned: Callable[[], None] = lambda: None
        #: Told the term of the leader that bound a pod, whenever one is heard of.
        self.observe_term: Callable[[int], None] = lambda term: None
        #: Keeps the state for those who look for the cause of something.
        self.dump: Callable[[], None] = lambda: None
        self._has_changes = True
        self._last_cycle = -options.flush
        self._last_audit = self._last_clean_up = clock()
        self._stopping = asyncio.Event()
        self._others = self.cluster.external_changes
        self._has_recovered = False

    def _binders(self, steps: Sequence[BindStep], epoch: Callable[[], int]) -> PlacementExecutor:
        """Those who bind pods, or who write down for a binder which ones are to be bound."""
        options, client, outcomes = self.options, self.client, self.outcomes
        if self.bind_mode == REQUEST:
            self.feed.require(BIND_REQUESTS)
            return self.requests.writers(
                outcomes, epoch=epoch, options=lambda: self.policy.program.configuration.bind,
                workers=options.bind_workers,
            )  # fmt: skip
        in_charge, at_a_time = self._is_leader, options.bind_workers
        return BindWorkers(
            PodBinder(client, (*steps, NodeLock(client)), is_leader=in_charge, at_a_time=at_a_time),
            outcomes,
            workers=options.bind_workers,
            batch=options.bind_batch,
            early=(VolumeStep(client, self.mirror, outcomes.obstacle), ClaimStep(client, self.mirror), self.gpus.step),
        )

    def _shard_coordinator(self, settings: ShardSettings, epoch: Callable[[], int]) -> ShardCoordinator:
        settings.check(self.bind_mode)
        keeper = ShardCoordinator(
            self.client, self.mirror, settings, self.options.scheduler_names, changed=self._shard_changed,
            nodes_are_synced=lambda: self.feed.is_synced, is_leader=self._is_leader, epoch=epoch, clock=self._clock,
        )  # fmt: skip
        self.feed.follow(keeper.reflector)
        return keeper

    def _shard_changed(self) -> None:
        self._has_changes = True
        self.alarm.ring()

    def _is_binding(self) -> bool:
        """Whether pods are on their way to their nodes; what is told about it comes after them."""
        return self.binders.waiting > self.binders.preparing

    # -- life ---------------------------------------------------------------------------------------------------

    async def run(self) -> None:
        """Schedule until `stop`, then finish what is under way."""
        services = [
            self.feed.run(), self.binders.run(), self.evictors.run(), self.resync.run(), self.writer.run(),
            self.recorder.run(), self.usage.run(), self.requests.run(),
        ]  # fmt: skip
        if self.bind_mode == DIRECT:
            services.append(self.gpus.run())
        if self.shard is not None:
            services.append(self.shard.run())
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(service) for service in services]
            await self._decide()
            await self._finish()
            for task in tasks:
                task.cancel()

    @property
    def watches(self) -> Watches:
        return self.feed

    def lead(self) -> None:
        """We are in charge now: look at everything."""
        self.alarm.ring()

    def stop(self) -> None:
        """Decide nothing more."""
        self._stopping.set()
        self.alarm.ring()

    def reload_policy(self) -> None:
        """Read the policy's file now, changed or not."""
        self.policy.force_reload()
        self.alarm.ring()

    async def _finish(self) -> None:
        """Leave no bind behind of which nobody knows what became of it."""
        grace = self.options.grace
        left = await self.binders.drain(grace)
        if left:
            log.warning("binds are still under way after the grace period", extra={"binds": left, "seconds": grace})
        unknown = await self.evictors.drain(grace) + await self.resync.settle(grace)
        if unknown:
            log.warning("nobody knows what became of some binds and evictions", extra={"pods": unknown})
        await self.writer.flush(min(grace, 2.0))
        await self.recorder.flush(min(grace, 2.0))

    async def _decide(self) -> None:
        await self._wait_for_initial_lists()
        while not self._stopping.is_set():
            rung = await self.alarm.wait(self._next_wait())
            self.turned()
            self._look_after()
            if not self._stopping.is_set() and self._may_run_cycle() and (rung or self._is_due()):
                result = self.run_cycle()
                self.alarm.rest(result.seconds * REST_PER_CYCLE if result else 0.0)
                await asyncio.sleep(0)

    async def _wait_for_initial_lists(self) -> None:
        waits = {asyncio.ensure_future(self._stopping.wait()), asyncio.ensure_future(self.feed.wait_until_synced())}
        while not any(wait.done() for wait in waits):
            await asyncio.wait(waits, timeout=self.options.period, return_when=asyncio.FIRST_COMPLETED)
            self.turned()
            self._update_metrics()
        for wait in waits:
            wait.cancel()

    def _next_wait(self) -> float:
        return min(self.options.period, self.healing.next_due() or self.options.period)

    def _may_run_cycle(self) -> bool:
        """Whether we are the one to decide, and know enough to do so."""
        if not self._is_leader():
            self._has_recovered = False
            return False
        if not self.feed.is_up_to_date or not (self.shard is None or self.shard.may_decide):
            return False
        if not self._has_recovered:
            self._adopt()
        return True

    def _is_due(self) -> bool:
        """Without news the next cycle would decide what the last one did; but nothing is relied upon for ever."""
        return self._has_changes or self._clock() - self._last_cycle >= self.options.flush

    def _adopt(self) -> None:
        """Take over what a predecessor left half done."""
        self._has_recovered = True
        for quarantined in self.mirror.quarantine.values():
            self.announcer.object_invalid(quarantined)
        for key in (key for key in self.cluster.groups if not self.cluster.is_foreign(key)):
            if not self.cluster.has_minimum_placed(key) and (uids := left_behind(self.cluster.members(key))):
                log.warning("a gang was left half-bound; it gets the rest, or is unwound", extra={"job": key})
                self.healing.begin(key, uids)

    # -- cycles -------------------------------------------------------------------------------------------------

    def run_cycle(self) -> CycleResult | None:
        """One cycle. A plugin that breaks costs this cycle; broken books cost confidence as well."""
        self._has_changes, self._last_cycle = False, self._clock()
        try:
            result = self.cycles.run(self.policy.program)
        except LedgerInconsistency as error:
            self.metrics.cycle_failed("books")
            self.confidence.lose([str(error)])
            return None
        except PluginFailure as error:
            self.metrics.cycle_failed("plugin")
            log.error("the cycle was broken off", extra={"problem": str(error)})
            self._has_changes = True
            return None
        except Exception:
            self.metrics.cycle_failed("error")
            log.exception("the cycle was broken off")
            self._has_changes = True
            return None
        if result.binds or result.evictions:
            self._has_changes = True
            extra = {"binds": result.binds, "evictions": result.evictions, "seconds": round(result.seconds, 4)}
            log.info("cycle %d", self.cycles.number, extra=extra)
        for observer in self.observers:
            observer(result)
        return result

    # -- news ---------------------------------------------------------------------------------------------------

    def _changed(self, entry: TopLevel, before: TopLevel | None) -> None:
        if isinstance(entry, BindRequest):
            self._heard_of_request(entry, before)
            return
        self._has_changes = True
        self.gpus.object_changed(entry, before)
        if (
            isinstance(entry, kube.Pod)
            and (term := term_of(entry)) is not None
            and not self._is_of_another_shard(entry)
        ):
            self.observe_term(term)
        others, self._others = self._others, self.cluster.external_changes
        if is_relevant(entry, before) and (others != self._others or not confirms_binding(entry, before)):
            self.alarm.ring()

    def _heard_of_request(self, request: BindRequest, before: TopLevel | None) -> None:
        """Our own requests say what we know, until they come to an end."""
        if request.spec.scheduler == self.options.scheduler_names[0]:
            self.observe_term(request.spec.epoch)
        if self.requests.heard(request, before if isinstance(before, BindRequest) else None):
            self._has_changes = True
            self.alarm.ring()

    def _is_of_another_shard(self, pod: kube.Pod) -> bool:
        """Whether a pod was bound by a scheduler of another shard, which counts its terms by a lease of its own."""
        return self.shard is not None and (pod.spec.scheduler_name or "") not in self.cluster.scheduler_names

    def _measured(self, figures: Mapping[str, Usage]) -> int:
        """Other nodes may be the right ones now; whoever waits is looked at again at the next look. Answers how many
        nodes are known by these names.
        """
        self.cluster.usage.report(figures)
        self._has_changes = True
        return sum(1 for name in figures if self.cluster.structure.find_node(name) is not None)

    def _refused(self, quarantined: Quarantined) -> None:
        self.metrics.unreadable(quarantined.kind)
        log.warning("%s %s cannot be used: %s", quarantined.kind, quarantined.key, quarantined.problem)
        if self._is_leader():
            self.announcer.object_invalid(quarantined)

    def _status_not_written(self, what: str, problem: str) -> None:
        log.warning("%s: %s", what, problem)

    # -- between cycles -----------------------------------------------------------------------------------------

    def _look_after(self) -> None:
        """Everything that is due now and is no cycle."""
        if self.policy.reload():
            program = self.policy.program
            self.cluster.use_class_keys(program.class_labels, program.class_annotations)
            self.feed.watch_config_maps(program.config_maps)
            self._warn_on_bind_mode_change(program.configuration.bind.mode)
            self._has_changes = True
            self.alarm.ring()
        if self.feed.is_up_to_date and self._is_leader():
            self.requests.look()
            self._unwind_overdue_gangs()
        self._has_changes = self.reporting.requeue_due() or self._has_changes
        self._audit_if_due()
        self._clean_up_if_due()
        self._update_metrics()

    def _warn_on_bind_mode_change(self, mode: str) -> None:
        """Who binds pods is settled when the process starts."""
        if not self.options.bind_mode and (mode or DIRECT) != self.bind_mode:
            log.warning("bind.mode is %s from the next start on; until then %s", mode or DIRECT, self.bind_mode)

    def _update_metrics(self) -> None:
        self.requests.show()
        self._gauges.show(self)
        self.feed.tell()

    def _unwind_overdue_gangs(self) -> None:
        for half in self.healing.due():
            log.warning("a gang stayed half-bound and is unwound", extra={"job": half.job, "pods": len(half.uids)})
            for uid in with_followers(half.uids, self.cluster.members(half.job)):
                pod = self.cluster.find_pod(uid)
                if pod is not None and (pod.spec.node_name or uid in self.cluster.assumed):
                    order = EvictOrder(uid, pod.metadata.namespace, pod.metadata.name, half.job, UNWOUND)
                    if self.outcomes.start_eviction(order):
                        self.evictors.submit(order)
                    else:
                        self.healing.begin(half.job, [uid])

    def _audit_if_due(self) -> None:
        now = self._clock()
        if not self.options.audit or now - self._last_audit < self.options.audit or not self.feed.is_synced:
            return
        self._last_audit = now
        began = time.perf_counter()
        found = self.auditor.sample()
        self.metrics.audited("sample", time.perf_counter() - began, len(found))
        if found:
            self.confidence.lose([str(difference) for difference in found])

    def _rebuild_cache(self, findings: Sequence[str]) -> None:
        """The books are wrong: say so, keep the objects for those who will look for the cause, and begin anew."""
        log.error("the books are wrong and are made anew", extra={"findings": list(findings)[:10]})
        self.dump()
        self.cluster.rebuild()
        self._has_changes = True
        self.alarm.ring()

    def _clean_up_if_due(self) -> None:
        now = self._clock()
        if now - self._last_clean_up < CLEANUP_INTERVAL:
            return
        self._last_clean_up = now
        self.cluster.cluster_state()
        self.metrics.cleaned_up("job", self.reporting.forget_gone())
        self.metrics.cleaned_up("pod", self.outcomes.forget_gone())
        self.requests.forget_gone()
        self.metrics.cleaned_up("class", self.cluster.forget_classes())
        if self.cluster.needs_compaction:
            self.cluster.compact()
            self.metrics.cleaned_up("cluster")
