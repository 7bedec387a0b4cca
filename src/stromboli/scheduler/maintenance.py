"""Maintenance between cycles: policy reloads, overdue gangs, audits of the cache, clean-ups, metrics."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from stromboli.binding.gangs import UNWIND_REASON
from stromboli.binding.orders import EvictOrder
from stromboli.binding.recovery import with_followers
from stromboli.cluster.audit.auditor import Auditor
from stromboli.core.config.bind_options import DIRECT
from stromboli.scheduler.reporting.gauges import GaugeUpdater
from stromboli.scheduler.reporting.policy_events import PolicyEvents

if TYPE_CHECKING:
    from stromboli.scheduler.wiring import Components

#: Records of objects that are gone are removed this often, in seconds.
CLEANUP_INTERVAL = 60.0
#: While pods are being bound, the interval of audits is multiplied by this.
AUDIT_YIELD = 10
#: An inconsistency that returns within this time is not cured by a rebuild.
REBUILD_WINDOW = 600.0

log = logging.getLogger("stromboli.scheduler")


class CacheUnrecoverable(RuntimeError):
    """The cache was inconsistent, was rebuilt, and is inconsistent again: the process has to end."""


class CacheHealth:
    """Rebuilds a cache that is found inconsistent, after a dump of its state."""

    def __init__(self, components: Components) -> None:
        self._components = components
        self._auditor = Auditor(components.cluster)
        self._last_audit = components.clock()
        self._last_rebuild: float | None = None
        #: Writes the state for later analysis.
        self.dump: Callable[[], None] = lambda: None
        #: The number of times the cache was found inconsistent.
        self.inconsistencies = 0

    def audit_if_due(self) -> None:
        """Compare a sample of the accounting with the objects. Raises CacheUnrecoverable."""
        components, now = self._components, self._components.clock()
        interval = components.options.audit * (AUDIT_YIELD if components.is_binding() else 1)
        if not interval or now - self._last_audit < interval or not components.watches.is_synced:
            return
        self._last_audit = now
        began = time.perf_counter()
        found = self._auditor.sample()
        components.metrics.audited("sample", time.perf_counter() - began, len(found))
        if found:
            self.rebuild([str(difference) for difference in found])

    def rebuild(self, findings: Sequence[str]) -> None:
        """Rebuild the cache from its objects. Raises CacheUnrecoverable if it was rebuilt a short while ago."""
        self.inconsistencies += 1
        log.error("accounting inconsistent; rebuilding the cache", extra={"findings": list(findings)[:10]})
        self.dump()
        self._components.cluster.rebuild()
        self._components.trigger.notify()
        now, last = self._components.clock(), self._last_rebuild
        if last is not None and now - last < REBUILD_WINDOW:
            raise CacheUnrecoverable(f"accounting inconsistent {now - last:.0f} s after a rebuild: {findings[0]}")
        self._last_rebuild = now


class Maintenance:
    def __init__(self, components: Components) -> None:
        self._components = components
        self._gauges = GaugeUpdater(components.metrics)
        self._policy_events = PolicyEvents(components.policy, components.cluster.pods, components.announcer)
        self._last_cleanup = components.clock()

    def run(self) -> None:
        """Do everything that is due. Raises CacheUnrecoverable."""
        components = self._components
        self._reload_policy()
        if components.watches.is_up_to_date and components.is_leader():
            self._policy_events.announce_changes()
            components.groupless_pods.report_due()
            components.requests.reconcile()
            self._unwind_overdue_gangs()
        if components.history is not None:
            components.history.maintain()
            components.reporter.budget_events.announce_claimed()
        components.past_usage.maintain()
        if components.reporter.requeue_due():
            components.trigger.mark()
        components.health.audit_if_due()
        self._clean_up_if_due()
        self.update_metrics()

    def update_metrics(self) -> None:
        self._components.requests.update_metrics()
        self._gauges.update(self._components)
        self._components.watches.log_problems()

    def _reload_policy(self) -> None:
        components = self._components
        if not components.policy.reload():
            return
        program = components.policy.program
        components.cluster.use_class_keys(program.class_labels, program.class_annotations)
        components.watches.watch_config_maps(program.config_maps)
        mode = program.configuration.bind.mode or DIRECT
        if not components.options.bind_mode and mode != components.bind_mode:
            facts = {"configured": mode, "active": components.bind_mode}
            log.warning("bind mode changed; restart the process to apply it", extra=facts)
        components.trigger.notify()

    def _unwind_overdue_gangs(self) -> None:
        for half in self._components.recovery.due():
            log.warning("gang stayed half-bound; unwinding it", extra={"job": half.job, "pods": len(half.uids)})
            for uid in with_followers(half.uids, self._components.cluster.pods.of_job(half.job)):
                self._evict(half.job, uid)

    def _evict(self, job: str, uid: str) -> None:
        components = self._components
        pod = components.cluster.pods.find(uid)
        if pod is None or not (pod.spec.node_name or uid in components.cluster.assumptions.placements):
            return
        order = EvictOrder(uid, pod.metadata.namespace, pod.metadata.name, job, UNWIND_REASON)
        if components.tracker.start_eviction(order):
            components.evictors.submit(order)
        else:
            components.recovery.begin(job, [uid])

    def _clean_up_if_due(self) -> None:
        components, now = self._components, self._components.clock()
        if now - self._last_cleanup < CLEANUP_INTERVAL:
            return
        self._last_cleanup = now
        cluster, cleaned_up = components.cluster, components.metrics.cleaned_up
        cluster.cluster_state()
        cleaned_up("job", components.reporter.forget_gone())
        cleaned_up("pod", components.tracker.forget_gone())
        components.requests.forget_gone()
        cleaned_up("class", cluster.forget_classes())
        if cluster.needs_compaction:
            cluster.compact()
            cleaned_up("cluster")
