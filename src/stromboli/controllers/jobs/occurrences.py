"""The events of a Job, read from its present state: a controller that was started later finds the same ones.

Only evictions are changes. A pod is evicted when it is deleted before it has finished, and not by this controller; the
controller collects these pods.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from stromboli.controllers.jobs.pods import FAILED, PENDING, SUCCEEDED, JobPod
from stromboli.controllers.jobs.policies import (
    POD_EVICTED,
    POD_FAILED,
    POD_PENDING,
    TASK_COMPLETED,
    TASK_FAILED,
    UNKNOWN,
    Occurrence,
)
from stromboli.controllers.jobs.specification import JobSpecification
from stromboli.workloads.families.volcano.tasks import VolcanoTask


def occurrences(
    spec: JobSpecification, members: Sequence[JobPod], evicted: Iterable[JobPod], group_phase: str
) -> Iterator[Occurrence]:
    """Yield the events of the pods of the present generation, the most specific first. An eviction is over when the
    pod that replaces the evicted one has started.
    """
    present = [pod for pod in members if not pod.is_terminating]
    started = {(pod.task, pod.task_index) for pod in present if pod.phase != PENDING}
    for pod in evicted:
        if (pod.task, pod.task_index) not in started:
            yield _of_pod(POD_EVICTED, pod)
    for pod in present:
        if pod.phase == FAILED:
            yield _of_pod(POD_FAILED, pod)
    for task in spec.tasks:
        yield from _of_task(spec, task, [pod for pod in present if pod.task == task.name])
    if group_phase == "Unknown":
        yield Occurrence(UNKNOWN)
    for pod in present:
        if pod.phase == PENDING:
            yield _of_pod(POD_PENDING, pod)._replace(since=pod.created)


def _of_pod(event: str, pod: JobPod) -> Occurrence:
    return Occurrence(event, pod.task, pod.name, pod.uid, pod.partition, exit_codes=pod.exit_codes)


def _of_task(spec: JobSpecification, task: VolcanoTask, pods: Sequence[JobPod]) -> Iterator[Occurrence]:
    limit = spec.task_max_retry[task.name]
    if limit is not None and sum(pod.restarts for pod in pods if not pod.is_finished) > limit:
        yield Occurrence(TASK_FAILED, task.name)
    if task.replicas and sum(pod.phase == SUCCEEDED for pod in pods) >= task.replicas:
        yield Occurrence(TASK_COMPLETED, task.name)
