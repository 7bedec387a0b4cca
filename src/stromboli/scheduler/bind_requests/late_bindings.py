"""Bindings that arrive after their request was given up: a binder may have sent them before it heard of that.

What was bound in this way is a part of a gang of which nobody will bind the rest, so it is watched over like every gang
that is half-bound. Pods tell by the mark of their commit which decision bound them.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from stromboli.binding.orders import BindOrder, Commit
from stromboli.binding.recovery import COMMIT
from stromboli.cluster.state.cluster import Cluster

#: How long after its request a binding may arrive, in seconds.
LONGEST = 60.0


class LateBindings:
    """`arrived` is told of a commit that was given up and the uids of members that are bound after all."""

    def __init__(
        self, cluster: Cluster, arrived: Callable[[Commit, list[str]], None], clock: Callable[[], float]
    ) -> None:
        self._cluster = cluster
        self._arrived = arrived
        self._clock = clock
        #: Commits that were given up, the first first, with when that was and the members that wait.
        self._given_up: deque[tuple[float, Commit, dict[str, BindOrder]]] = deque()

    def expect(self, commit: Commit, lost: list[BindOrder]) -> None:
        """These members of a commit were given up."""
        waiting = {order.uid: order for order in lost if COMMIT in order.annotations}
        if waiting:
            self._given_up.append((self._clock(), commit, waiting))

    def look(self) -> None:
        now = self._clock()
        while self._given_up and now - self._given_up[0][0] > LONGEST:
            self._given_up.popleft()
        for _, commit, waiting in self._given_up:
            if found := [uid for uid, order in waiting.items() if self._is_bound(order)]:
                for uid in found:
                    del waiting[uid]
                self._arrived(commit, found)

    def _is_bound(self, order: BindOrder) -> bool:
        """Whether this very decision bound the pod."""
        pod = self._cluster.pods.find(order.uid)
        if pod is None or not pod.spec.node_name:
            return False
        return (pod.metadata.annotations or {}).get(COMMIT) == order.annotations[COMMIT]
