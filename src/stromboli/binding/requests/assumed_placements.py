"""Capacity assumed for members that are being bound, checked with the accounting that schedulers use.

The first request gets the capacity. Members of a request that does not fit assume nothing, so that they block no other
request.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from stromboli.binding.requests.decisions import Decision
from stromboli.cluster.objects.claims.extended_resources import EXTENDED, requests_in, resource_of
from stromboli.cluster.state.cluster import Cluster
from stromboli.core.model.nodes.table import Taint
from stromboli.core.model.nodes.taints import first_untolerated, tolerates
from stromboli.core.model.tasks.placement import Placement

_CORDONED = Taint("node.kubernetes.io/unschedulable", "", "NoSchedule")
_NOT_READY = Taint("node.kubernetes.io/not-ready", "", "NoSchedule")


class AssumedPlacements:
    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        #: By uid, the decision that assumes the placement.
        self._held: dict[str, Decision] = {}
        self._by_decision: dict[Decision, set[str]] = {}

    def __len__(self) -> int:
        return len(self._held)

    def reserve(self, decision: Decision, placements: Sequence[Placement]) -> dict[str, str]:
        """Assume the placements. Returns by uid why some do not fit."""
        holders = {each.uid: self._held.get(each.uid, decision) for each in placements}
        others = {uid: holder for uid, holder in holders.items() if holder is not decision}
        refused = {uid: f"bind request {other.key} is binding the pod to a node" for uid, other in others.items()}
        remaining = [each for each in placements if each.uid not in refused]
        for placement in remaining:
            self._assume(decision, placement)
        if all(not self._shortage(placement) for placement in remaining):
            return refused
        self.release(each.uid for each in remaining)
        for placement in remaining:
            self._assume(decision, placement)
            if reason := self._shortage(placement):
                refused[placement.uid] = reason
                self.release((placement.uid,))
        return refused

    def release(self, uids: Iterable[str]) -> None:
        """Release the capacity of pods that are not bound; a pod that the watches show on its node keeps it."""
        for uid in uids:
            if self._drop(uid):
                self._cluster.assumptions.forget(uid)

    def settle(self, uids: Iterable[str]) -> None:
        """Keep the capacity of bound pods until the watches show them."""
        for uid in uids:
            self._drop(uid)

    def held_by(self, decision: Decision) -> list[str]:
        return list(self._by_decision.get(decision, ()))

    def _drop(self, uid: str) -> bool:
        """Report whether the placement was assumed here."""
        decision = self._held.pop(uid, None)
        if decision is None:
            return False
        uids = self._by_decision[decision]
        uids.discard(uid)
        if not uids:
            del self._by_decision[decision]
        return True

    def node_error(self, placement: Placement) -> str:
        """Return why the node does not accept the pod now: it is cordoned, not ready, or has a taint."""
        name, entry = placement.node, self._cluster.nodes.entries.get(placement.node)
        if entry is None:
            return f"node {name} cannot be used"
        self._cluster.cluster_state()
        counted = self._cluster.accounting.counted.get(placement.uid)
        tolerations = counted.task.task_class.tolerations if counted else ()
        if entry.facts.unschedulable and not tolerates(tolerations, _CORDONED):
            return f"node {name} is cordoned"
        if not entry.facts.ready and not tolerates(tolerations, _NOT_READY):
            return f"node {name} is not ready"
        taint = first_untolerated(tolerations, entry.facts.taints)
        return f"node {name} has taint {taint}, which the pod does not tolerate" if taint else ""

    def _assume(self, decision: Decision, placement: Placement) -> None:
        if placement.uid in self._held:
            return
        self._held[placement.uid] = decision
        self._by_decision.setdefault(decision, set()).add(placement.uid)
        self._cluster.assumptions.assume(placement)

    def _shortage(self, placement: Placement) -> str:
        lacking = self._cluster.shortages(placement.uid)
        if lacking and EXTENDED in placement.allocations:
            lacking = [name for name in lacking if name not in self._from_devices(placement)]
        return f"node {placement.node} has no capacity: Insufficient {', '.join(lacking)}" if lacking else ""

    def _from_devices(self, placement: Placement) -> set[str]:
        """The extended resources for which the pod gets devices; the binder does not account for devices."""
        pod = self._cluster.pods.find(placement.uid)
        names = requests_in(placement.allocations[EXTENDED]) if pod is not None else ()
        return {resource_of(pod, name) for name in names if pod is not None}
