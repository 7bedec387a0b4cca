"""Charges pods to accounts from their start to their end, as the cache observes both."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from stromboli import kube
from stromboli.cluster.objects.pods.pods import placed_at
from stromboli.core.model.resources.resources import Request, ResourceAxis
from stromboli.core.model.usage.ledger import OpenRun, UsageLedger
from stromboli.core.model.usage.past_usage import Account
from stromboli.kube.objects.meta import TopLevel
from stromboli.workloads.groups import job_key_of
from stromboli.workloads.queues import queue_name_of

if TYPE_CHECKING:
    from stromboli.cluster.state.cluster import Cluster


class UsageMeter:
    """Keeps the usage ledger of a cluster up to date: a pod counts once, however often it is reported."""

    def __init__(self, cluster: Cluster, *, is_loading: bool = False) -> None:
        """`is_loading` if recorded runs are restored later."""
        self._cluster = cluster
        self._ledger = cluster.past_usage = UsageLedger()
        self._ledger.is_loading = is_loading
        #: The accounts of pods that are being charged, by uid.
        self._charged: dict[str, int] = {}

    def restore(self, ledger: UsageLedger, running: Iterable[OpenRun], now: float) -> None:
        """Continue a ledger of recorded runs. Those whose pods are gone end now."""
        self._ledger = self._cluster.past_usage = ledger
        self._charged = {}
        for run in running:
            ledger.started(run.account, run.started)
            self._charged[run.uid] = run.account
            if self._cluster.pods.find(run.uid) is None:
                self._end(run.uid, now)
        self.observe_all(now)

    def observe_all(self, now: float) -> None:
        """Charge all pods that run, and no others."""
        for record in list(self._cluster.pods.records.values()):
            self.object_changed(record.pod, None, now)

    def object_changed(self, entry: TopLevel, before: TopLevel | None, now: float) -> None:
        """Observe a change; of a removed object, both versions are the same."""
        if not isinstance(entry, kube.Pod):
            return
        uid = entry.metadata.uid
        if entry is before or entry.status.is_finished:
            self._end(uid, now)
        elif entry.spec.node_name and uid not in self._charged:
            account = self._account_of(entry)
            if account is not None:
                number = self._charged[uid] = self._ledger.account(account)
                self._ledger.started(number, min(placed_at(entry) or now, now))

    def _end(self, uid: str, now: float) -> None:
        number = self._charged.pop(uid, None)
        if number is not None:
            self._ledger.ended(number, now)

    def _account_of(self, pod: kube.Pod) -> Account | None:
        """Return the account of a pod, by what is known of its job now; None for pods of others."""
        key = job_key_of(pod)
        group = self._cluster.groups.get(key) if key is not None else None
        record = self._cluster.pods.records.get(pod.metadata.uid)
        if group is None or record is None or record.facts is None or self._cluster.pods.is_foreign(pod):
            return None
        queue = queue_name_of(group, self._cluster.default_queue)
        user = self._cluster.pods.user_of(group)
        return Account(queue, pod.metadata.namespace, user, named_amounts(record.facts.request, self._cluster.axis))


def named_amounts(request: Request, axis: ResourceAxis) -> tuple[tuple[str, int], ...]:
    """Return the amounts of a request by resource name."""
    return tuple((axis.names[dimension], amount) for dimension, amount in request)
