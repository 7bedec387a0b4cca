"""The task-topology plugin: jobs with rules about their roles, their task order and their node scores."""

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


class TaskTopologyArguments(Arguments):
    weight: int = Argument("task-topology.weight", 1, "Weight of the score; 0 switches it off.", minimum=0)


class TaskTopology(Plugin):
    name = "task-topology"
    arguments = TaskTopologyArguments()

    def __init__(self, arguments: TaskTopologyArguments, hierarchy: bool = False) -> None:
        super().__init__(arguments, hierarchy)
        self._task_buckets: dict[str, TaskBuckets] = {}
        self._scorers = (BucketScorer(arguments.weight),) if arguments.weight else ()

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
    """Return the rules of a job; None, with a warning, if they are invalid."""
    roles = {task.role for task in job.tasks.values()}.union(job.spec.min_task_member)
    try:
        return rules_of(job.spec.annotations, roles)
    except ValueError as error:
        warnings.append(f"PodGroup {job.key}: {error}; its task topology is ignored")
        return None


class BucketScorer(NodeScorer):
    """Scores nodes for the current task, by where other tasks of its job are."""

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
        task = self._search.current_task
        arrangement = self._task_buckets.get(task.job) if task is not None else None
        scores = arrangement.scores(task, rows) if task is not None and arrangement is not None else None
        return np.zeros(len(rows)) if scores is None else scores * self._weight
