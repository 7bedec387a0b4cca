"""The order of a queue as a breakdown: the sort keys of every plugin, for its jobs and among the queues."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from stromboli import kube
from stromboli.core.config.combining import Answer
from stromboli.core.model.jobs.job import Job
from stromboli.core.session.session import Session
from stromboli.workloads.groups import title_of

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Ranked(Generic[T]):
    """A job or a queue in its order, with the keys that decide it: smaller keys come first."""

    subject: T
    name: str
    #: Its place, from 1.
    place: int
    #: By plugin, in the order of the configuration: the first key that differs decides.
    keys: Mapping[str, Any]

    def as_plain(self) -> dict[str, Any]:
        """Return the entry for JSON and YAML."""
        return {
            "name": self.name,
            "position": self.place,
            "keys": {name: plain_key(key) for name, key in self.keys.items()},
        }


@dataclass(frozen=True, slots=True)
class QueueOrder:
    """The order in which the next cycle considers the waiting jobs of a queue, and the queues with waiting jobs."""

    queue: str
    jobs: Sequence[Ranked[Job]]
    queues: Sequence[Ranked[str]]
    job_plugins: Sequence[str]
    queue_plugins: Sequence[str]

    def as_plain(self) -> dict[str, Any]:
        """Return the order for JSON and YAML."""
        jobs = [
            {**each.as_plain(), "podGroup": each.subject.key, "created": each.subject.spec.created}
            for each in self.jobs
        ]
        return {
            "queue": self.queue,
            "plugins": list(self.job_plugins),
            "jobs": jobs,
            "queuePlugins": list(self.queue_plugins),
            "queues": [each.as_plain() for each in self.queues],
        }


def queue_order(session: Session, groups: Mapping[str, kube.PodGroup], queue: str) -> QueueOrder:
    """Return the order of a queue in an open session."""
    of_jobs, of_queues = session.program.named("job_order"), session.program.named("queue_order")
    waiting = [job for job in map(session.jobs.__getitem__, session.snapshot.waiting) if _waits(job)]
    jobs = sorted((job for job in waiting if job.queue == queue), key=session.job_order_key)
    names = {job.queue for job in waiting} & session.queues.keys()
    queues = sorted((session.queues[name] for name in names), key=session.queue_order_key)
    return QueueOrder(
        queue=queue,
        jobs=[Ranked(job, _title(groups, job), place, _keys(of_jobs, job)) for place, job in enumerate(jobs, start=1)],
        queues=[
            Ranked(each.name, each.name, place, _keys(of_queues, each)) for place, each in enumerate(queues, start=1)
        ],
        job_plugins=[name for name, _ in of_jobs],
        queue_plugins=[name for name, _ in of_queues],
    )


def _waits(job: Job) -> bool:
    """Report whether pods of the job wait, or do not exist yet."""
    return bool(job.pending_count) or not job.is_ready


def _title(groups: Mapping[str, kube.PodGroup], job: Job) -> str:
    group = groups.get(job.key)
    return f"{job.spec.namespace}/{job.spec.name if group is None else title_of(group)}"


def _keys(answers: Iterable[tuple[str, Answer]], subject: object) -> dict[str, Any]:
    return {name: answer(subject) for name, answer in answers}


def plain_key(key: Any) -> Any:
    """Return a sort key as a number, a text or a list of these. JSON has no infinity, so that is a text."""
    if isinstance(key, tuple | list):
        return [plain_key(part) for part in key]
    if isinstance(key, bool):
        return int(key)
    if isinstance(key, int):
        return key
    if isinstance(key, float):
        return round(key, 6) if key - key == 0 else str(key)
    return str(key)
