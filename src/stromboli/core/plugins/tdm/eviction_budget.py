"""The number of pods of a job that may be evicted at once: set by annotation, 1 by default."""

from __future__ import annotations

from collections.abc import Mapping

from stromboli.core.config.spelling import quoted
from stromboli.core.model.jobs.job import Job
from stromboli.core.model.tasks.task import TaskStatus

MAX_UNAVAILABLE = "volcano.sh/jdb-max-unavailable"
MIN_AVAILABLE = "volcano.sh/jdb-min-available"

_USUAL = 1
_FINISHED = (TaskStatus.SUCCEEDED, TaskStatus.FAILED)


def evictions_allowed(job: Job, warnings: list[str]) -> int:
    """Return how many pods may be evicted now, by the first valid annotation of both; an invalid one is reported."""
    running = job.counts[TaskStatus.RUNNING]
    most = _amount(job, MAX_UNAVAILABLE, warnings)
    if most is not None:
        unavailable = len(job.tasks) - running - sum(job.counts[status] for status in _FINISHED)
        return max(most - unavailable, 0)
    least = _amount(job, MIN_AVAILABLE, warnings)
    return _USUAL if least is None else max(running - least, 0)


def _amount(job: Job, key: str, warnings: list[str]) -> int | None:
    """A number of pods, or a percentage of all pods of the job, rounded up."""
    annotations: Mapping[str, str] = job.spec.annotations
    text = annotations.get(key)
    if text is None:
        return None
    number = text.removesuffix("%")
    if not (number.isdecimal() and number.isascii() and len(number) < 7):
        fault = f"annotation {key}: write a number or a percentage, not {quoted(text)}; it is left out"
        words = f"PodGroup {job.key}: {fault}"
        if words not in warnings:  # asked once per preemptor
            warnings.append(words)
        return None
    return -(-len(job.tasks) * int(number) // 100) if text.endswith("%") else int(number)
