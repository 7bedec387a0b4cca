"""Results of a Job's pods, each counted once, including pods that were deleted since.

A record starts with the counts in the status beyond the existing pods; from then on it observes the end of every pod.
Pods that the controller deletes itself have neither succeeded nor failed.
"""

from __future__ import annotations

from collections.abc import Iterable

from stromboli.kube.objects.pod import Pod
from stromboli.kube.objects.workloads import BatchJob
from stromboli.local.fakes.workloads.job_rules import Counts, index_of, index_set, is_indexed
from stromboli.local.fakes.workloads.pod_states import is_active, is_finished, is_ready


class JobRecord:
    def __init__(self) -> None:
        self._succeeded: dict[str, int | None] = {}
        self._failed: set[str] = set()
        self._dismissed: set[str] = set()
        self._earlier: tuple[int, int] | None = None
        self._failures_in_a_row = 0
        self._failed_at = 0.0

    def note(self, pod: Pod, is_gone: bool, now: float) -> None:
        """Record a change of a pod. An active pod that is deleted has failed."""
        uid = pod.metadata.uid
        if uid in self._succeeded or uid in self._failed:
            return
        if pod.status.phase == "Succeeded":
            self._succeeded[uid] = index_of(pod)
            self._failures_in_a_row = 0
        elif (pod.status.phase == "Failed" or is_gone) and uid not in self._dismissed:
            self._failed.add(uid)
            self._failures_in_a_row += 1
            self._failed_at = now

    def dismiss(self, uid: str) -> None:
        self._dismissed.add(uid)

    def counts(self, job: BatchJob, pods: Iterable[Pod]) -> Counts:
        present = list(pods)
        earlier_succeeded, earlier_failed = self._begin(job)
        active = [pod for pod in present if is_active(pod)]
        indexes = self._indexes(job) if is_indexed(job) else frozenset()
        return Counts(
            active=len(active),
            ready=sum(map(is_ready, active)),
            terminating=sum(1 for pod in present if pod.metadata.deletion_timestamp and not is_finished(pod)),
            succeeded=len(indexes) if is_indexed(job) else earlier_succeeded + len(self._succeeded),
            failed=earlier_failed + len(self._failed),
            indexes=indexes,
        )

    def _begin(self, job: BatchJob) -> tuple[int, int]:
        if self._earlier is None:
            succeeded = max(0, (job.status.succeeded or 0) - len(self._succeeded))
            self._earlier = succeeded, max(0, (job.status.failed or 0) - len(self._failed))
        return self._earlier

    def _indexes(self, job: BatchJob) -> frozenset[int]:
        done = {index for index in self._succeeded.values() if index is not None}
        return frozenset(
            index for index in done | index_set(job.status.completed_indexes) if index < (job.spec.completions or 0)
        )

    def retry_at(self, first_pause: float, longest_pause: float) -> float:
        """The time before which failed pods are not replaced: exponential backoff, reset by a success."""
        if not self._failures_in_a_row:
            return 0.0
        return self._failed_at + min(first_pause * 2.0 ** min(self._failures_in_a_row - 1, 30), longest_pause)
