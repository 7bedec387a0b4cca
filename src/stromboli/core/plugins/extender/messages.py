"""The request bodies for an extender, and the validation of its responses: an invalid field is no response."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from stromboli.core.config.external_services import Document, ServiceError
from stromboli.core.model.jobs.job import Job
from stromboli.core.model.queues.queue import Queue
from stromboli.core.model.resources.resources import Request
from stromboli.core.model.tasks.task import Task
from stromboli.core.model.tasks.task_class import TaskClass
from stromboli.core.session.session import Session

Plain = dict[str, Any]


class Documents:
    """Builds the request bodies of one cycle."""

    def __init__(self, session: Session) -> None:
        self._session = session
        #: All nodes, in the order in which masks and scores are.
        self.nodes = list(session.nodes.names)

    def of_session(self) -> Plain:
        session = self._session
        return {
            "now": session.now,
            "nodes": self._all_nodes(),
            "queues": [self.of_queue(queue) for _, queue in sorted(session.queues.items())],
            "jobs": [self.of_job(session.jobs[key]) for key in session.snapshot.waiting],
        }

    def _all_nodes(self) -> list[Plain]:
        session, rows = self._session, self._session.ledger.all_rows
        dimensions = range(session.snapshot.size)
        allocatable = zip(*(rows.allocatable(dimension).tolist() for dimension in dimensions), strict=True)
        idle = zip(*(rows.idle(dimension).tolist() for dimension in dimensions), strict=True)
        return [
            {
                "name": node.name,
                "labels": dict(node.labels),
                "unschedulable": node.unschedulable or not node.ready,
                "allocatable": session.axis.as_quantities(has),
                "idle": session.axis.as_quantities(left),
            }
            for node, has, left in zip(session.nodes.nodes, allocatable, idle, strict=True)
        ]

    def of_queue(self, queue: Queue) -> Plain:
        usage = self._session.ledger.queues[queue.name]
        return {
            "name": queue.name,
            "weight": queue.weight,
            "parent": queue.parent,
            "allocated": self._session.axis.as_quantities(usage.allocated),
        }

    def of_job(self, job: Job) -> Plain:
        return {
            "namespace": job.spec.namespace,
            "name": job.spec.name,
            "uid": job.spec.uid,
            "queue": job.queue,
            "priority": job.priority,
            "phase": job.phase,
            "minAvailable": job.min_available,
            "minResources": self._quantities(job.min_resources or ()),
            "ready": job.ready_count,
            "pending": job.pending_count,
            "pipelined": job.pipelined_count,
        }

    def of_task(self, task: Task) -> Plain:
        return {
            "namespace": task.namespace,
            "name": task.name,
            "uid": task.uid,
            "job": task.job,
            "priority": task.priority,
            "node": self._session.ledger.node_name(task),
            "preemptable": task.preemptable,
            **self.of_class(task.task_class),
        }

    def of_tasks(self, tasks: Iterable[Task]) -> list[Plain]:
        return [self.of_task(task) for task in tasks]

    def of_class(self, task_class: TaskClass) -> Plain:
        """Return what all pods of a class have in common."""
        return {
            "role": task_class.role,
            "request": self._quantities(task_class.request),
            "nodeSelector": dict(task_class.node_selector),
        }

    def _quantities(self, request: Request) -> dict[str, str]:
        axis = self._session.axis
        return {axis.names[dimension]: axis.format(dimension, amount) for dimension, amount in request}


#: The maximum length of a reason.
_MAX_TEXT = 200


def truth(answer: Document, field: str) -> bool:
    value = answer.get(field)
    if not isinstance(value, bool):
        raise ServiceError(f"expected true or false in {field!r}, got {value!r:.60}")
    return value


def vote(answer: Document) -> int:
    """Above 0 permits, 0 abstains, below 0 rejects."""
    value = answer.get("status", 0)
    if isinstance(value, bool) or not isinstance(value, int):
        raise ServiceError(f"expected a whole number in 'status', got {value!r:.60}")
    return value


def message(answer: Document, field: str) -> str:
    return _sanitized(answer.get(field) or "")


def reasons(answer: Document) -> Mapping[str, str]:
    """Return the reasons by rejected node."""
    refused = answer.get("refused") or {}
    if not isinstance(refused, dict):
        raise ServiceError(f"expected reasons by node in 'refused', got {refused!r:.60}")
    return {node: _sanitized(why) for node, why in refused.items()}


def scores(answer: Document) -> Mapping[str, float]:
    scores = answer.get("nodeScore") or {}
    if not isinstance(scores, dict):
        raise ServiceError(f"expected scores by node in 'nodeScore', got {scores!r:.60}")
    for node, score in scores.items():
        if isinstance(score, bool) or not isinstance(score, int | float) or not math.isfinite(score):
            raise ServiceError(f"expected a number as the score of node {node!r:.60}, got {score!r:.60}")
    return scores


def victims(answer: Document) -> Sequence[str]:
    """Return the uids of the candidates that may be evicted."""
    named = answer.get("victims") or []
    if not isinstance(named, list) or not all(isinstance(uid, str) for uid in named):
        raise ServiceError(f"expected a list of uids in 'victims', got {named!r:.60}")
    return named


def _sanitized(text: object) -> str:
    """Return a message of the service on one line, without control characters."""
    text = text if isinstance(text, str) else repr(text)
    return "".join(letter if letter.isprintable() else " " for letter in text[:_MAX_TEXT]).strip()
