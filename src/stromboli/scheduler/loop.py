"""The scheduler: its loop on one event loop, from the first lists to an orderly end.

A cycle is one uninterrupted piece of work, so nothing changes while it runs; watches, binds and writes run before and
after it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from stromboli.binding.recovery import left_behind
from stromboli.core.config.bind_options import DIRECT
from stromboli.core.config.plugin import PluginFailure
from stromboli.core.model.ledger.entry import LedgerInconsistency
from stromboli.scheduler.cycle import CycleResult
from stromboli.scheduler.trigger import shortest_pause
from stromboli.scheduler.wiring import Components

#: The pause after a cycle, as a multiple of its duration, in which binds, watches and writes run.
PAUSE_PER_CYCLE = 10.0

log = logging.getLogger("stromboli.scheduler")


class Scheduler(Components):
    def initialize(self) -> None:
        #: Called with the result of every cycle.
        self.observers: list[Callable[[CycleResult], None]] = []
        #: Called in every iteration of the loop.
        self.on_iteration: Callable[[], None] = lambda: None
        self._last_cycle = -self.options.flush
        self._stopping = asyncio.Event()
        self._has_recovered = False

    # -- lifecycle ----------------------------------------------------------------------------------------------

    async def run(self) -> None:
        """Schedule until `stop`, then finish binds and evictions that have started."""
        services = [
            self.watches.run(), self.executor.run(), self.evictors.run(), self.resync.run(), self.writer.run(),
            self.recorder.run(), self.usage.run(), self.requests.run(), self.default_queues.run(),
        ]  # fmt: skip
        if self.bind_mode == DIRECT:
            services.append(self.plugins.run())
        if self.shard is not None:
            services.append(self.shard.run())
        if self.forecaster is not None:
            services.append(self.forecaster.run())
        if self.history is not None:
            self.history.writer.start()
        try:
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(service) for service in services]
                await self._loop()
                await self._finish()
                for task in tasks:
                    task.cancel()
        finally:
            if self.history is not None:
                self.history.writer.stop(0.0)

    def lead(self) -> None:
        """Start to work as the leader: run a cycle."""
        self.trigger.notify()

    def stop(self) -> None:
        """Start no further cycle."""
        self._stopping.set()
        self.trigger.notify()

    def reload_policy(self) -> None:
        """Read the configuration file now, even if it looks unchanged."""
        self.policy.force_reload()
        self.trigger.notify()

    async def _finish(self) -> None:
        """Wait for the outcome of binds and evictions, within the grace period."""
        grace = self.options.grace
        left = await self.executor.drain(grace)
        if left:
            log.warning("grace period over; binds not finished", extra={"binds": left, "seconds": grace})
        unknown = await self.evictors.drain(grace) + await self.resync.settle(grace)
        if unknown:
            log.warning("grace period over; outcome of calls unknown", extra={"pods": unknown, "seconds": grace})
        await self.writer.flush(min(grace, 2.0))
        await self.recorder.flush(min(grace, 2.0))
        if self.history is not None:
            await asyncio.to_thread(self.history.writer.stop, min(grace, 2.0))

    # -- cycles -------------------------------------------------------------------------------------------------

    async def _loop(self) -> None:
        await self._wait_for_initial_lists()
        while not self._stopping.is_set():
            notified = await self.trigger.wait(self._next_wait())
            self.on_iteration()
            self.maintenance.run()
            if not self._stopping.is_set() and self._may_run_cycle() and (notified or self._is_due()):
                result = self.run_cycle()
                seconds = (result.seconds if result else 0.0) + self._try_alone()
                writes = self.executor.waiting + self.evictors.waiting
                self.trigger.pause(seconds * PAUSE_PER_CYCLE, at_least=shortest_pause(seconds, writes=writes))
                await asyncio.sleep(0)

    async def _wait_for_initial_lists(self) -> None:
        waits = {asyncio.ensure_future(self._stopping.wait()), asyncio.ensure_future(self.watches.wait_until_synced())}
        while not any(wait.done() for wait in waits):
            await asyncio.wait(waits, timeout=self.options.period, return_when=asyncio.FIRST_COMPLETED)
            self.on_iteration()
            self.maintenance.update_metrics()
        for wait in waits:
            wait.cancel()

    def _next_wait(self) -> float:
        return min(self.options.period, self.recovery.next_due() or self.options.period)

    def _try_alone(self) -> float:
        """Try a job that was set aside, if one is due, in a cycle of its own; return the seconds it took."""
        only = self.set_aside.due(is_binding=self.is_binding())
        if only is None:
            return 0.0
        began = self.clock()
        result = self.run_cycle(only)
        seconds = self.clock() - began
        self.set_aside.attempted(only, result.session if result else None, seconds)
        return seconds

    def _may_run_cycle(self) -> bool:
        """Report whether this process leads and its cache and shard are up to date."""
        if not self.is_leader():
            self._has_recovered = False
            return False
        if not self.watches.is_up_to_date or not (self.shard is None or self.shard.is_ready):
            return False
        if not self._has_recovered:
            self._recover()
        return True

    def _is_due(self) -> bool:
        """Report whether a cycle is due: after changes, and periodically without any."""
        is_attempt_due = self.set_aside.due(is_binding=self.is_binding()) is not None
        return self.trigger.has_changes or is_attempt_due or self.clock() - self._last_cycle >= self.options.flush

    def _recover(self) -> None:
        """Take over half-bound gangs and invalid objects from the previous leader, and create missing queues."""
        self._has_recovered = True
        self.set_aside.load()
        self.default_queues.create_missing()
        if self.history is not None:
            self.history.report_all()
        for quarantined in self.ingest.quarantine.values():
            self.announcer.object_invalid(quarantined)
        for key in (key for key in self.cluster.groups if not self.cluster.pods.is_foreign_job(key)):
            if not self.cluster.has_minimum_placed(key) and (uids := left_behind(self.cluster.pods.of_job(key))):
                log.warning("half-bound gang found; completing or unwinding it", extra={"job": key})
                self.recovery.begin(key, uids)

    def run_cycle(self, only: str = "") -> CycleResult | None:
        """Run one cycle, of all jobs or of one; None if it was aborted. Raises CacheUnrecoverable."""
        self.trigger.has_changes, self._last_cycle = False, self.clock()
        try:
            result = self.cycles.run(self.policy.program, self.set_aside.budget(only), only)
        except LedgerInconsistency as error:
            self.metrics.cycle_failed("accounting")
            self.health.rebuild([str(error)])
            return None
        except PluginFailure as error:
            self._cycle_aborted("plugin", {"error": str(error)})
            return None
        except Exception:
            self._cycle_aborted("error", exc_info=True)
            return None
        self.set_aside.update(result.session)
        self.overcommitted_nodes.report(result.session)
        if result.session.time_budget.is_spent:
            self.trigger.notify()
        if result.binds or result.evictions:
            self.trigger.mark()
            seconds = round(result.seconds, 4)
            facts = {"cycle": self.cycles.number, "binds": result.binds, "evictions": result.evictions}
            log.info("cycle completed", extra={**facts, "seconds": seconds})
        for observer in self.observers:
            observer(result)
        return result

    def _cycle_aborted(self, reason: str, facts: dict[str, str] | None = None, *, exc_info: bool = False) -> None:
        self.metrics.cycle_failed(reason)
        log.error("scheduling cycle aborted", extra={"reason": reason, **(facts or {})}, exc_info=exc_info)
        self.trigger.mark()
