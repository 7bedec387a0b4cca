"""Plugins that answer one extension point each, for those that no built-in plugin answers alone."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from stromboli.core.config.plugin import Domain, Event, Plugin
from stromboli.core.model.jobs.job import Job, SubJob
from stromboli.core.model.nodes.amounts import Rows
from stromboli.core.model.nodes.table import Mask, Vector
from stromboli.core.model.reasons import Code, Reason
from stromboli.core.model.tasks.task import Task
from stromboli.core.model.tasks.task_class import TaskClass
from stromboli.core.search.node_rules import Locality
from stromboli.core.session.session import Session

NO = Reason(Code.PLUGIN_REFUSED, "the probe refuses")


def probe(**answers: Callable[..., Any]) -> type[Plugin]:
    """A plugin with these answers, by the name of the extension point."""
    return type("Probe", (Plugin,), {"name": "probe", **answers})


def by_letter(rows: Rows) -> Vector:
    """A score per node: later letters are better."""
    index = range(len(rows.nodes)) if rows.index is None else rows.index.tolist()
    return np.array([ord(rows.nodes.names[row]) - ord("a") for row in index], dtype=np.float64)


class NotifiedPlugin(Plugin):
    """Accepts every pod until it is notified; then none."""

    name = "probe"
    locality = Locality.CLUSTER

    def open(self, session: Session) -> None:
        self.is_notified = False

    def predicate(self, task_class: TaskClass, rows: Rows) -> Mask:
        return np.full(len(rows), not self.is_notified)


class NotifiedOfEnqueue(NotifiedPlugin):
    def job_enqueued(self, job: Job) -> None:
        self.is_notified = True


class NotifiedOfAllocation(NotifiedPlugin):
    def on_allocate(self, event: Event) -> None:
        self.is_notified = True


class NotifiedOfDeallocation(NotifiedPlugin):
    def on_deallocate(self, event: Event) -> None:
        self.is_notified = True


class Racks(Plugin):
    """Every node is a domain of its own, named after it."""

    name = "probe"

    def open(self, session: Session) -> None:
        names = session.nodes.names
        self.racks = [Domain(f"rack-{name}", 1, np.array([each == name for each in names])) for name in names]

    def last_first(self) -> list[list[Domain]]:
        return [[rack] for rack in reversed(self.racks)]


class RacksForJobs(Racks):
    def hyper_node_gradient_for_job(self, job: Job, root: Domain) -> Sequence[Sequence[Domain]] | None:
        return self.last_first()


class RacksForSubJobs(Racks):
    def hyper_node_gradient_for_sub_job(self, sub_job: SubJob, root: Domain) -> Sequence[Sequence[Domain]] | None:
        return self.last_first()


class RacksInOrder(Racks):
    """All racks in one group; the later letter is the better rack."""

    def hyper_node_gradient_for_job(self, job: Job, root: Domain) -> Sequence[Sequence[Domain]] | None:
        return [self.racks]

    def hyper_node_order(self, sub_job: Job | SubJob, domains: Sequence[Domain]) -> Mapping[str, float]:
        return {domain.name: float(ord(domain.name[-1])) for domain in domains}


class Pairs(Plugin):
    """A job is always ready, but is placed two by two."""

    name = "probe"

    def job_ready(self, job: Job) -> bool:
        return True

    def tasks_until_ready(self, job: Job) -> int:
        return 2


class MapAndReduce(Plugin):
    """Scores nodes by their letters, and then prefers `b`."""

    name = "probe"

    def node_map(self, task_class: TaskClass, rows: Rows) -> Vector:
        return by_letter(rows)

    def node_reduce(self, task_class: TaskClass, scores: Vector, candidates: Mask) -> Vector:
        return -np.abs(scores - 1.0)


class Annotating(Plugin):
    name = "probe"

    def bind_context(self, task: Task, context: dict[str, str]) -> None:
        context["example.com/for"] = task.name


class HalvesPlugin(Plugin):
    """The first half of the nodes and the second are close together. Jobs with a hard topology stay in one of them,
    with their running members.
    """

    name = "probe"

    def open(self, session: Session) -> None:
        number = len(session.nodes)
        first = np.arange(number) < number // 2
        self.halves = [Domain("left", 1, first), Domain("right", 1, ~first)]
        self.row_of = session.ledger.row_of

    def around(self, tasks: Iterable[Task]) -> list[Domain]:
        rows = [row for task in tasks if (row := self.row_of(task)) >= 0]
        return [half for half in self.halves if half.inside is not None and half.inside[rows].all()]

    def hyper_node_gradient_for_job(self, job: Job, root: Domain) -> Sequence[Sequence[Domain]] | None:
        hard = job.spec.topology is not None and job.spec.topology.hard
        return [self.around(job.tasks.values())] if hard else [self.halves, [root]]


class SubJobHalvesPlugin(HalvesPlugin):
    """A job may use any node, and each of its sub-jobs one half."""

    def hyper_node_gradient_for_job(self, job: Job, root: Domain) -> Sequence[Sequence[Domain]] | None:
        return [[root]]

    def hyper_node_gradient_for_sub_job(self, sub_job: SubJob, root: Domain) -> Sequence[Sequence[Domain]] | None:
        return [self.around(sub_job.tasks)]


class NoDomainPlugin(Plugin):
    """Defines domains, but allows none."""

    name = "probe"

    def hyper_node_gradient_for_job(self, job: Job, root: Domain) -> Sequence[Sequence[Domain]] | None:
        return []
