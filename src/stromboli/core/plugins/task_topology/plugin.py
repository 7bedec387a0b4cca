"""The plugin: jobs with rules about their roles, the order of their tasks, and the nodes that suit them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from stromboli.core.config.arguments import Argument, Arguments
from stromboli.core.config.plugin import Key, Plugin
from stromboli.core.model.jobs.job import Job
from stromboli.core.model.ledger.ledger import Ledger
from stromboli.core.model.nodes.amounts import Rows
from stromboli.core.model.nodes.table import Mask, Vector
from stromboli.core.model.tasks.task import Task
from stromboli.core.model.tasks.task_class import TaskClass
from stromboli.core.plugins.task_topology.rules import Rules, has_annotations, rules_of
from stromboli.core.plugins.task_topology.task_buckets import NO_BUCKET, TaskBuckets
from stromboli.core.search.node_rules import Locality, NodeScorer
from stromboli.core.session.session import Session

_WEIGHT = "task-topology.weight"


class TaskTopology(Plugin):
    name = "task-topology"
    arguments = (Argument(_WEIGHT, int, 1, "Weight of the score; 0 switches it off.", minimum=0),)

    def __init__(self, given: Arguments, hierarchy: bool = False) -> None:
        super().__init__(given, hierarchy)
        self._task_buckets: dict[str, TaskBuckets] = {}
        self._scorers = (BucketScorer(given[_WEIGHT]),) if given[_WEIGHT] else ()

    def open(self, session: Session) -> None:
        self._task_buckets = {}
        for key in session.snapshot.waiting:
            job = session.jobs[key]
            rules = _rules_of(job, session.warnings) if job.tasks and has_annotations(job.spec.annotations) else None
            if rules is not None:
                self._task_buckets[key] = TaskBuckets(job, rules, session.ledger)
        for scorer in self._scorers:
            scorer.open(session, self._task_buckets)

    def task_order(self, task: Task) -> Key:
        arrangement = self._task_buckets.get(task.job)
        return NO_BUCKET if arrangement is None else arrangement.key(task)

    def node_scorers(self) -> Sequence[NodeScorer]:
        return self._scorers


def _rules_of(job: Job, warnings: list[str]) -> Rules | None:
    """What the job says; None, with a warning, when that makes no sense."""
    roles = {task.role for task in job.tasks.values()}.union(job.spec.min_task_member)
    try:
        return rules_of(job.spec.annotations, roles)
    except ValueError as error:
        warnings.append(f"PodGroup {job.key}: {error}; its rules about roles are left out")
        return None


class BucketScorer(NodeScorer):
    """How well nodes suit the task that is asked about, given where others of its job stand."""

    locality = Locality.CLUSTER

    def __init__(self, weight: int) -> None:
        self._weight = float(weight)

    def open(self, session: Session, arrangements: Mapping[str, TaskBuckets]) -> None:
        self._search = session.search
        self._task_buckets = arrangements
        tasks = (task for key in arrangements for task in session.jobs[key].tasks.values())
        self._classes = {task.task_class for task in tasks if session.ledger.is_pending(task)}

    def applies_to(self, task_class: TaskClass, ledger: Ledger) -> bool:
        return task_class in self._classes

    def scores(self, task_class: TaskClass, rows: Rows, ledger: Ledger, candidates: Mask | None) -> Vector:
        task = self._search.asking
        arrangement = self._task_buckets.get(task.job) if task is not None else None
        scores = arrangement.scores(task, rows) if task is not None and arrangement is not None else None
        return np.zeros(len(rows)) if scores is None else scores * self._weight
