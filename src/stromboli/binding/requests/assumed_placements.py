"""Rooms that are held for members on their way: checked with the cache's own books, by which schedulers decide too.

Who comes first holds. Members of a request that finds its rooms taken hold nothing, so that they are in nobody's way.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from stromboli.binding.orders import BindOrder
from stromboli.binding.requests.decisions import Decision
from stromboli.cluster.state.cluster import Cluster
from stromboli.core.model.nodes.table import Taint
from stromboli.core.model.nodes.taints import first_untolerated, tolerates
from stromboli.core.model.tasks.placement import Placement

_CORDONED = Taint("node.kubernetes.io/unschedulable", "", "NoSchedule")
_NOT_READY = Taint("node.kubernetes.io/not-ready", "", "NoSchedule")


class AssumedPlacements:
    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        #: By uid, the decision for which a room is held.
        self._held: dict[str, Decision] = {}
        self._by_decision: dict[Decision, set[str]] = {}

    def __len__(self) -> int:
        return len(self._held)

    def reserve(self, decision: Decision, orders: Sequence[BindOrder]) -> dict[str, str]:
        """Hold a room for each of them; by uid, why there is none."""
        refused = {order.uid: self._held_elsewhere(decision, order) for order in orders}
        refused = {uid: words for uid, words in refused.items() if words}
        open_orders = [order for order in orders if order.uid not in refused]
        for order in open_orders:
            self._hold(decision, order)
        if all(not self._shortage(order) for order in open_orders):
            return refused
        self.release(order.uid for order in open_orders)
        for order in open_orders:
            self._hold(decision, order)
            if words := self._shortage(order):
                refused[order.uid] = words
                self.release((order.uid,))
        return refused

    def release(self, uids: Iterable[str]) -> None:
        """Give up the rooms of those who are not bound after all; who has been seen on its node keeps it."""
        for uid in uids:
            if self._let_go(uid):
                self._cluster.assumptions.forget(uid)

    def settle(self, uids: Iterable[str]) -> None:
        """These are bound: they take their room until the watches show them, and then for good."""
        for uid in uids:
            self._let_go(uid)

    def held_by(self, decision: Decision) -> list[str]:
        return list(self._by_decision.get(decision, ()))

    def _let_go(self, uid: str) -> bool:
        """Whether a room was held."""
        decision = self._held.pop(uid, None)
        if decision is None:
            return False
        uids = self._by_decision[decision]
        uids.discard(uid)
        if not uids:
            del self._by_decision[decision]
        return True

    def closed(self, order: BindOrder) -> str:
        """Why the node takes no such pod just now, in words: it is cordoned, not ready, or repels it."""
        entry = self._cluster.nodes.entries.get(order.node)
        if entry is None:
            return f"node {order.node} cannot be used"
        self._cluster.cluster_state()
        counted = self._cluster.accounting.counted.get(order.uid)
        tolerations = counted.task.task_class.tolerations if counted else ()
        if entry.facts.unschedulable and not tolerates(tolerations, _CORDONED):
            return f"node {order.node} is cordoned"
        if not entry.facts.ready and not tolerates(tolerations, _NOT_READY):
            return f"node {order.node} is not ready"
        taint = first_untolerated(tolerations, entry.facts.taints)
        return f"node {order.node} has taint {taint}, which the pod does not tolerate" if taint else ""

    def _held_elsewhere(self, decision: Decision, order: BindOrder) -> str:
        holder = self._held.get(order.uid, decision)
        return "" if holder is decision else f"bind request {holder.key} is binding the pod to a node"

    def _hold(self, decision: Decision, order: BindOrder) -> None:
        if order.uid in self._held:
            return
        self._held[order.uid] = decision
        self._by_decision.setdefault(decision, set()).add(order.uid)
        self._cluster.assumptions.assume(
            Placement(
                order.uid,
                order.namespace,
                order.name,
                "",
                order.node,
                annotations=order.annotations,
                volumes=order.volumes,
            )
        )

    def _shortage(self, order: BindOrder) -> str:
        lacking = self._cluster.shortages(order.uid)
        return f"node {order.node} has no room: Insufficient {', '.join(lacking)}" if lacking else ""
