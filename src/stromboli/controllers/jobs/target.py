"""What a restart replaces: the whole Job, or a task, a partition or a pod of it.

The target of a restart that does not replace the whole Job is recorded in the status before the first pod is deleted,
so that a controller that is started in between deletes the same pods, and mistakes none of them for an evicted one.
Pods that were created since have the number of this restart.
"""

from __future__ import annotations

from typing import NamedTuple

from stromboli.controllers.jobs.pods import JobPod

_JOB, _TASK, _PARTITION, _POD = "", "task", "partition", "pod"


class RestartTarget(NamedTuple):
    """The target; the whole Job by default."""

    kind: str = _JOB
    task: str = ""
    #: The partition of the task, or the uid of the pod.
    part: str = ""

    @classmethod
    def of_task(cls, task: str) -> RestartTarget:
        return cls(_TASK, task)

    @classmethod
    def of_partition(cls, task: str, partition: str) -> RestartTarget:
        return cls(_PARTITION, task, partition)

    @classmethod
    def of_pod(cls, task: str, uid: str) -> RestartTarget:
        return cls(_POD, task, uid)

    @classmethod
    def parse(cls, text: str) -> RestartTarget:
        """Parse the recorded form; anything else is the whole Job."""
        kind, _, rest = text.partition("/")
        task, _, part = rest.partition("/")
        return cls(kind, task, part) if kind in (_TASK, _PARTITION, _POD) else cls()

    def __str__(self) -> str:
        return "/".join(each for each in self if each)

    @property
    def is_job(self) -> bool:
        return self.kind == _JOB

    def covers(self, pod: JobPod, version: int, retry: int) -> bool:
        """Report whether the restart with this number, in this generation, replaces the pod."""
        if self.is_job:
            return pod.version < version
        if self.kind == _POD:
            return pod.uid == self.part
        return pod.retry < retry and pod.task == self.task and self.part in ("", pod.partition)
