"""Bindings that succeed after their request was given up: the binder may have sent them before.

Pods bound in this way are a part of a gang whose other members stay unbound, so the gang is recovered like every
half-bound gang. The commit annotation of a pod shows which decision bound it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from stromboli.binding.orders import Commit
from stromboli.binding.recovery import COMMIT
from stromboli.cluster.state.cluster import Cluster
from stromboli.core.model.tasks.placement import Placement

#: Seconds after the end of its request in which a binding may succeed.
MAX_DELAY = 60.0


class LateBindings:
    """`arrived` is called with a commit that was given up and the uids of members that were bound late."""

    def __init__(
        self, cluster: Cluster, arrived: Callable[[Commit, list[str]], None], clock: Callable[[], float]
    ) -> None:
        self._cluster = cluster
        self._arrived = arrived
        self._clock = clock
        #: Commits that were given up, in order, with the time and their unbound members.
        self._given_up: deque[tuple[float, Commit, dict[str, Placement]]] = deque()

    def expect(self, commit: Commit, lost: list[Placement]) -> None:
        """Watch members of a commit that were given up."""
        waiting = {placement.uid: placement for placement in lost if COMMIT in placement.annotations}
        if waiting:
            self._given_up.append((self._clock(), commit, waiting))

    def check(self) -> None:
        now = self._clock()
        while self._given_up and now - self._given_up[0][0] > MAX_DELAY:
            self._given_up.popleft()
        for _, commit, waiting in self._given_up:
            if found := [uid for uid, placement in waiting.items() if self._is_bound(placement)]:
                for uid in found:
                    del waiting[uid]
                self._arrived(commit, found)

    def _is_bound(self, placement: Placement) -> bool:
        """Report whether exactly this decision bound the pod."""
        pod = self._cluster.pods.find(placement.uid)
        if pod is None or not pod.spec.node_name:
            return False
        return (pod.metadata.annotations or {}).get(COMMIT) == placement.annotations[COMMIT]
