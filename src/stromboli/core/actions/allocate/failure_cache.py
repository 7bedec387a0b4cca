"""What earlier attempts of the same cycle taught: a class that found too little room need not be tried again.

The room of a class only shrinks until something is freed. So a job that needs more copies of it than were found
the last time can be refused at once, with the same reasons.
"""

from __future__ import annotations

from collections.abc import Sequence

from stromboli.core.actions.allocate.pending_tasks import PendingTasks
from stromboli.core.model.jobs.job import Job
from stromboli.core.model.tasks.task import Task
from stromboli.core.session.refusals import TaskRefusal
from stromboli.core.session.session import Session


def is_known_failure(session: Session, job: Job, pending_tasks: PendingTasks) -> bool:
    """Whether the next class of the job was refused before, nothing was freed since, and this job needs as much."""
    view = session.search.view(pending_tasks.first.task_class)
    room = session.search.known_capacity(view)
    if room is None or view.refusal is None:
        return False
    mark = pending_tasks.mark
    run = pending_tasks.take_run(session.tasks_until_ready(job))
    pending_tasks.return_to(mark)
    if room >= len(run) or not _needs_all(job, run, len(pending_tasks)):
        return False
    if len(run) < len(pending_tasks) and session.job_ready(job):
        return False  # it may run without these, and its other tasks have a turn of their own
    refusal = TaskRefusal(run[0].key, run[0].task_class.number, view.refusal.reason, view.refusal, room)
    session.refusal_of(job).add_task(refusal)
    return True


def _needs_all(job: Job, run: Sequence[Task], left: int) -> bool:
    """Whether the attempt is lost when one task of the run finds no node. A nominated task has a chance of its
    own.
    """
    if run[0].nominated_node or not (len(run) == 1 or job.min_available >= len(job.tasks)):
        return False
    return len(run) == left or not job.can_go_on_without([run[0].role])


def remember_failure(session: Session, job: Job) -> None:
    """Keep what a lone class of tasks met: its room does not depend on what else was placed.

    Rules that look at other pods may accept a node once those are placed, so their refusals are not kept.
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
