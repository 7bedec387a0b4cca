"""Rearrangement: placements of this cycle move to other nodes, so that a gang fits that found no nodes.

A placement of the present cycle is not executed yet, so that moving it costs nothing: no pod is evicted, and no job
loses anything but the score of its nodes. Running pods are left to `consolidate`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property

import msgspec
import numpy as np

from stromboli.core.model.jobs.job import Job
from stromboli.core.model.nodes.table import Index, Vector
from stromboli.core.model.tasks.task import Task
from stromboli.core.model.tasks.task_class import TaskClass
from stromboli.core.search.packing import PackingItem, TaskPacking
from stromboli.core.session.job_order import JobOrder
from stromboli.core.session.session import Session

#: The steps of the search for one gang, and for all of a cycle; every attempt counts as some.
_STEPS_PER_JOB, _STEPS_PER_CYCLE, _STEPS_PER_ATTEMPT = 5_000, 30_000, 500
#: The nodes of an arrangement, and the tasks on them.
_MAX_NODES, _MAX_TASKS = 32, 128


class Rearrangement:
    """Serves gangs that wait after all others have been placed."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._ledger = session.ledger
        self._steps_left = _STEPS_PER_CYCLE
        #: By the number of a class, whether its tasks may be moved.
        self._plain: dict[int, bool] = {}
        #: Plugins with accounting of their own, or with annotations, would have to follow every move; where some nodes
        #: come before others, or capacity is nominated, placements stay.
        handlers = session.on_allocate or session.on_deallocate or session.bind_contexts
        has_order = len(session.search.groups(None)) > 1
        self._is_possible = not (handlers or has_order or session.nominations or session.kept)

    def serve(self, jobs: Iterable[Job]) -> None:
        """Serve waiting gangs in their order, as long as steps are left."""
        session = self._session
        if not self._is_possible or not session.decisions.binds:
            return
        job_order = JobOrder(session, [job for job in jobs if not session.job_ready(job) and _is_plain_job(job)])
        while self._steps_left > 0 and (queue := job_order.next_queue()) is not None:
            job = None if session.is_overused(queue) else job_order.next_job(queue)
            if job is not None:
                with session.refusals.isolate_errors(job):
                    self._serve_job(job)
                job_order.return_queue(queue)

    def _serve_job(self, job: Job) -> None:
        pending = self._session.pending(job)
        wanted = pending[: self._session.tasks_until_ready(job)]
        if not wanted or not all(self._is_plain(task.task_class) for task in wanted) or not self._is_allowed(wanted):
            return
        self._steps_left -= _STEPS_PER_ATTEMPT
        nodes = self._nodes(wanted)
        movable = [task for row in nodes for task in self._movable.get(row, ())]
        if not movable or len(movable) > _MAX_TASKS:
            return
        rows = self._arrangement(nodes, [*movable, *wanted])
        if rows is not None:
            self._carry_out(job, movable, wanted, rows)

    def _is_allowed(self, tasks: Sequence[Task]) -> bool:
        return all(self._session.pre_predicate(task.task_class) is None for task in tasks)

    # -- what may move ------------------------------------------------------------------------------------------

    @cached_property
    def _movable(self) -> dict[int, list[Task]]:
        """By node, the tasks placed in this cycle that have nothing there but amounts."""
        movable: dict[int, list[Task]] = {}
        jobs, row_of = self._session.jobs, self._ledger.row_of
        for placements in self._session.decisions.binds:
            job = jobs[placements[0].job]
            for task in [job.tasks[each.uid] for each in placements] if _is_plain_job(job) else ():
                if self._is_plain(task.task_class):
                    movable.setdefault(row_of(task), []).append(task)
        return movable

    def _is_plain(self, task_class: TaskClass) -> bool:
        """Report whether a node that admits the class and has the capacity takes its tasks, and no rule counts them."""
        known = self._plain.get(task_class.number)
        if known is None:
            view = self._session.search.view(task_class)
            on_node = task_class.volumes or task_class.claims or task_class.devices or task_class.feeds
            known = self._plain[task_class.number] = not (on_node or view.row_filters or view.cluster_filters)
        return known

    def _nodes(self, tasks: Sequence[Task]) -> list[int]:
        """The nodes that lack least for one of the tasks."""
        lacks = np.full(len(self._session.nodes), np.inf)
        for task_class in {task.task_class.number: task.task_class for task in tasks}.values():
            lacks = np.minimum(lacks, self._lack(task_class))
        order: Index = np.argsort(lacks, kind="stable")[:_MAX_NODES]
        nodes: list[int] = order[np.isfinite(lacks[order])].tolist()
        return nodes

    def _lack(self, task_class: TaskClass) -> Vector:
        """The largest part of the request that each node lacks."""
        admitted = self._session.search.view(task_class).static.admitted
        lack: Vector = np.where(admitted, 0.0, np.inf)
        for dimension, amount in task_class.request:
            lack = np.maximum(lack, 1.0 - self._ledger.all_rows.idle(dimension) / amount)
        return lack

    # -- the arrangement ----------------------------------------------------------------------------------------

    def _arrangement(self, nodes: Sequence[int], tasks: Sequence[Task]) -> list[int] | None:
        """Return a node for each of the tasks, those that may move included."""
        dimensions = sorted({dimension for task in tasks for dimension, _ in task.task_class.request})
        free = [[int(self._ledger.all_rows.idle(d)[row]) for d in dimensions] for row in nodes]
        place_of = {row: place for place, row in enumerate(nodes)}
        items, allowed = [], dict[int, list[int]]()
        for task in tasks:
            number, held = task.task_class.number, dict(task.task_class.request)
            if number not in allowed:
                admitted = self._session.search.view(task.task_class).static.admitted
                allowed[number] = [place for place, row in enumerate(nodes) if admitted[row]]
            request = tuple(held.get(dimension, 0) for dimension in dimensions)
            items.append(PackingItem(request, allowed[number]))
            if not self._ledger.is_pending(task):
                at = free[place_of[self._ledger.row_of(task)]]
                at[:] = [left + amount for left, amount in zip(at, request, strict=True)]
        steps = min(_STEPS_PER_JOB, max(self._steps_left, 1))
        packing = TaskPacking(free, items, steps)
        places = packing.find()
        self._steps_left -= steps - max(packing.steps_left, 0)
        return None if places is None else [nodes[place] for place in places]

    def _carry_out(self, job: Job, movable: Sequence[Task], wanted: Sequence[Task], rows: Sequence[int]) -> None:
        """Move the placements and place the gang; if its queue may not take it, move them back."""
        before = [self._ledger.row_of(task) for task in movable]
        self._ledger.move(movable, rows[: len(movable)])
        placed = False
        try:
            placed = self._place(job, wanted, rows[len(movable) :])
        finally:
            if placed:
                self._rewrite_binds({task.uid for task in movable})
                del self._movable
            else:
                self._ledger.move(movable, before)

    def _place(self, job: Job, tasks: Sequence[Task], rows: Sequence[int]) -> bool:
        session, queue = self._session, self._session.queue_of(job)
        with session.serving(job), session.statement() as statement:
            for task, row in zip(tasks, rows, strict=True):
                if session.allocatable(queue, task.task_class, 1) is not None:
                    return False
                statement.allocate([task], [row])
            ready = session.job_ready(job)
            if ready:
                statement.commit()
        return ready

    def _rewrite_binds(self, moved: set[str]) -> None:
        """Write the new nodes into the decisions."""
        jobs, node_name = self._session.jobs, self._ledger.node_name
        for placements in self._session.decisions.binds:
            for number, each in enumerate(placements):
                if each.uid in moved:
                    node = node_name(jobs[each.job].tasks[each.uid])
                    placements[number] = msgspec.structs.replace(each, node=node)


def _is_plain_job(job: Job) -> bool:
    return not job.spec.policies and not job.spec.topology
