"""Pods of this scheduler that name no group: it schedules groups, so they wait until a controller creates theirs.

Controllers do that within moments. Where none does, a pod gets a condition and an event with the remedy after a delay.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

from stromboli import kube
from stromboli.cluster.state.pods import Pods
from stromboli.workloads.groups import job_key_of

log = logging.getLogger("stromboli.scheduler")

VOLCANO = "volcano"


class GrouplessPods:
    """Waiting pods without a group, and when to report each of them."""

    def __init__(
        self, pods: Pods, report: Callable[[kube.Pod, str], None], *, delay: float, clock: Callable[[], float]
    ) -> None:
        self._pods = pods
        self._report = report
        self._delay = delay
        self._clock = clock
        #: By uid, the due time.
        self._due: dict[str, float] = {}

    def pod_changed(self, pod: kube.Pod) -> None:
        """Follow a pod until it has a group."""
        if job_key_of(pod) is None and self._is_waiting(pod):
            self._due.setdefault(pod.metadata.uid, self._clock() + self._delay)
        else:
            self._due.pop(pod.metadata.uid, None)

    def report_due(self) -> None:
        """Report every pod that still waits without a group after the delay, once."""
        now = self._clock()
        due = [uid for uid, due_at in self._due.items() if now >= due_at]
        pods = [pod for uid in due if (pod := self._pods.find(uid)) is not None]
        for uid in due:
            del self._due[uid]
        for pod in pods:
            self._report(pod, message_for(pod.spec.scheduler_name or ""))
        if pods:
            log.warning("pods wait without a PodGroup", extra={"pods": len(pods), "example": pods[0].key})

    def _is_waiting(self, pod: kube.Pod) -> bool:
        """Report whether only the group is missing. Scheduling gates come first, with their own condition."""
        is_done = pod.spec.node_name or pod.status.is_finished or pod.metadata.deletion_timestamp
        return not (is_done or pod.spec.scheduling_gates or self._pods.is_foreign(pod))


def message_for(scheduler: str) -> str:
    """Return the message with the remedy, for pods with this scheduler name."""
    volcano = "Volcano's controllers"
    if scheduler != VOLCANO:
        volcano += f" with --scheduler-name={scheduler}, or use schedulerName {VOLCANO} with them"
    missing = f"the pod has no PodGroup, and no controller creates one for schedulerName {scheduler}"
    return f"{missing}; start `stromboli controller`, or {volcano}"
