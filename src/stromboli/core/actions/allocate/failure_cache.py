"""The failure cache of a cycle: a class that did not fit is not tried again.

The capacity for a class only shrinks until something is released. So a job that needs more copies of it than fitted the
last time is rejected at once, with the same reasons.
"""

from __future__ import annotations

from collections.abc import Sequence

from stromboli.core.actions.allocate.pending_tasks import PendingTasks
from stromboli.core.model.jobs.job import Job
from stromboli.core.model.tasks.task import Task
from stromboli.core.session.refusals import TaskRefusal
from stromboli.core.session.session import Session


def is_known_failure(session: Session, job: Job, pending_tasks: PendingTasks) -> bool:
    """Report whether the next class was rejected before, nothing was released since, and the job needs as much."""
    first = pending_tasks.first
    view = session.search.view(first.task_class)
    capacity = session.search.known_capacity(view)
    if capacity is None or first.nominated_node:  # a nominated task has a node of its own
        return False
    is_whole = job.min_available >= len(job.tasks)
    if capacity or not is_whole or session.job_ready(job):
        mark = pending_tasks.mark
        run = pending_tasks.take_run(session.tasks_until_ready(job))
        pending_tasks.return_to(mark)
        if capacity >= len(run) or not _needs_all(job, run, len(pending_tasks)):
            return False
        if len(run) < len(pending_tasks) and session.job_ready(job):
            return False  # the job is ready without these, and its other tasks are served separately
    refusal = TaskRefusal(first.key, first.task_class.number, None, session.search.known_refusal(view), capacity)
    session.refusals.of(job).add_task(refusal)
    return True


def _needs_all(job: Job, run: Sequence[Task], left: int) -> bool:
    """Report whether one task of the run without a node fails the attempt."""
    if len(run) > 1 and job.min_available < len(job.tasks):
        return False
    return len(run) == left or not job.can_go_on_without([run[0].role])


def remember_failure(session: Session, job: Job) -> None:
    """Keep the failure of a job with one class: its capacity does not depend on other placements.

    Filters that depend on other pods may accept a node once those are placed, so their rejections are not kept.
    """
    refused = session.refusals.get(job.key)
    if refused is None or len(refused.tasks) != 1 or session.kept:
        return
    refusal = next(iter(refused.tasks.values()))
    if refusal.nodes is None:
        return
    classes = {task.task_class for task in job.tasks.values() if session.ledger.is_pending(task)}
    task_class = next((one for one in classes if one.number == refusal.class_number), None)
    if task_class is None or len(classes) != 1:
        return
    view = session.search.view(task_class)
    if not view.row_filters and not view.cluster_filters:
        view.refusal = refusal.nodes
        session.search.remember_capacity(view, refusal.placed)
