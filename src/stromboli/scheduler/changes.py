"""Changes of the cluster as the watches report them, and whether they start a cycle."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING

from stromboli import kube
from stromboli.binding.recovery import term_of
from stromboli.cluster.ingest.ingest import Quarantined
from stromboli.cluster.ingest.kinds import is_relevant
from stromboli.cluster.objects.pods.pods import confirms_binding
from stromboli.core.model.nodes.usage import Usage
from stromboli.kube.objects.bind_requests import BindRequest
from stromboli.kube.objects.meta import TopLevel

if TYPE_CHECKING:
    from stromboli.scheduler.wiring import Components

log = logging.getLogger("stromboli.scheduler")


class ChangeHandler:
    def __init__(self, components: Components) -> None:
        self._components = components
        self._cluster = components.cluster
        self._external_changes = components.cluster.external_changes

    def object_changed(self, entry: TopLevel, before: TopLevel | None) -> None:
        """Start a cycle if the change matters to decisions and does not merely confirm one."""
        components = self._components
        components.plugins.object_changed(entry, before)
        if components.history is not None:
            components.history.object_changed(entry, before)
        components.past_usage.object_changed(entry, before)
        if isinstance(entry, BindRequest):
            self._bind_request_changed(entry, before)
            return
        components.trigger.mark()
        if isinstance(entry, kube.Pod):
            self._observe_term(entry)
            components.groupless_pods.pod_changed(entry)
        earlier, self._external_changes = self._external_changes, self._cluster.external_changes
        if is_relevant(entry, before) and (earlier != self._external_changes or not confirms_binding(entry, before)):
            components.trigger.notify()

    def _observe_term(self, pod: kube.Pod) -> None:
        """Observe the term of a pod. Pods of other shards are ignored: their terms belong to other leases."""
        components = self._components
        is_foreign = components.shard is not None and self._cluster.pods.is_foreign(pod)
        if not is_foreign and (term := term_of(pod)) is not None:
            components.observe_term(term)

    def _bind_request_changed(self, request: BindRequest, before: TopLevel | None) -> None:
        """Trigger a cycle; this scheduler's own requests trigger one only once they have an outcome."""
        components = self._components
        if request.spec.scheduler == components.options.scheduler_names[0]:
            components.observe_term(request.spec.epoch)
        if components.requests.request_changed(request, before if isinstance(before, BindRequest) else None):
            components.trigger.notify()

    def usage_reported(self, usages: Mapping[str, Usage]) -> int:
        """Use new usage metrics from the next periodic cycle on; return how many of the nodes exist."""
        self._cluster.usage.report(usages)
        self._components.trigger.mark()
        return sum(1 for name in usages if self._cluster.nodes.find(name) is not None)

    def object_rejected(self, quarantined: Quarantined) -> None:
        """Report an object that cannot be used."""
        kind, key, problem = quarantined.kind, quarantined.key, quarantined.problem
        self._components.metrics.invalid_object(kind)
        log.warning("invalid object ignored", extra={"kind": kind, "key": key, "problem": problem})
        if self._components.is_leader():
            self._components.announcer.object_invalid(quarantined)
