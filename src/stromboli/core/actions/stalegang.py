"""stalegang: replace the lost members of a gang, or evict the rest of it.

The rest of a gang holds its nodes without making progress. Its waiting members are placed before all other jobs; if
that is impossible for a while, the rest is evicted, so that the gang can start again as a whole elsewhere. A gang may
keep its rest for longer, but its members do not precede other jobs for longer than those of other gangs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from stromboli.core.config.action import Action
from stromboli.core.config.arguments import Argument, Arguments
from stromboli.core.config.plugin import EvictionContext
from stromboli.core.model.jobs.job import Counts, Job, ready_in, role_pipelined
from stromboli.core.model.reasons import Code, Reason
from stromboli.core.model.tasks.task import ALLOCATED_STATUSES, Task, TaskStatus
from stromboli.core.model.values.times import duration_or_nothing, format_timestamp, parse_duration
from stromboli.core.preemption import ON_NODE
from stromboli.core.search.fixed_filters import is_in_excluded_shard
from stromboli.core.session.session import Session
from stromboli.core.session.statement import Statement
from stromboli.core.session.waiting_reasons import counted

GRACE_ANNOTATION = "scheduling.stromboli.dev/staleness-grace-period"
_RELEASING, _SUCCEEDED = TaskStatus.RELEASING.value, TaskStatus.SUCCEEDED.value
_HOLDING = tuple(status.value for status in ALLOCATED_STATUSES)
_NEVER = float("inf")


def _grace(text: str) -> float:
    """Seconds of the grace period; a negative time means indefinitely."""
    return _NEVER if text.startswith("-") and parse_duration(text[1:]) else duration_or_nothing(text)


class StaleGangArguments(Arguments):
    grace_period: float = Argument("gracePeriod", "60s", "Time below the minimum; negative for any.", parse=_grace)


class StaleGang(Action):
    name = "stalegang"
    arguments = StaleGangArguments()

    def execute(self, session: Session) -> None:
        grace = self.arguments.grace_period
        foreign = session.snapshot.foreign
        stale = [job for job in session.jobs.values() if job.key not in foreign and _is_stale(session, job)]
        waiting = {job.key for job in session.waiting} if stale else ()
        for job in sorted(stale, key=lambda job: (_since(session, job), job.key)):
            with session.refusals.isolate_errors(job):
                own = _own_grace(session, job, grace)
                is_served = job.key in waiting and (own <= grace or session.now <= _since(session, job) + grace)
                if not (is_served and _replace_members(session, job)):
                    self._handle_stale(session, job, own)
        for job in session.jobs.values():
            if job.spec.stale_since and job.key not in session.stale and job.key not in foreign:
                session.stale[job.key] = ""

    def _handle_stale(self, session: Session, job: Job, grace: float) -> None:
        """Record that a gang is stale, and evict it after the grace period."""
        due = _since(session, job) + grace
        session.stale[job.key] = _message(job, due)
        session.dirty_jobs.add(job.key)
        if session.now < due:
            session.refusals.add(job, Reason(Code.GANG_STALE, _message(job, due), short=_short_message(job, due)))
        else:
            _release(session, job)


def _present(counts: Counts) -> int:
    """Members that are placed, pipelined, finished or still terminating."""
    return role_pipelined(counts) + counts[_RELEASING]


def _is_stale(session: Session, job: Job) -> bool:
    """Report whether some members are placed, fewer than must run together, and none has succeeded."""
    counts, spec = job.counts, job.spec
    if _present(counts) >= spec.min_available and not (spec.min_task_member or spec.policies):
        return False  # the usual case, for every job in every cycle
    if counts[_SUCCEEDED] or not any(counts[status] for status in _HOLDING) or job.has_minimum(_present):
        return False
    return not spec.fault and spec.queue in session.queues


def _since(session: Session, job: Job) -> float:
    return job.spec.stale_since or session.now


def _own_grace(session: Session, job: Job, usual: float) -> float:
    text = job.spec.annotations.get(GRACE_ANNOTATION)
    if text is None:
        return usual
    try:
        return _grace(text)
    except ValueError as error:
        session.warnings.append(f"PodGroup {job.key}: annotation {GRACE_ANNOTATION}: {error}; it is ignored")
        return usual


def _message(job: Job, due: float) -> str:
    until = (
        "" if due == _NEVER else f"; the gang is evicted at {format_timestamp(due)} unless the missing pods are placed"
    )
    return f"{ready_in(job.counts)} of {job.min_available} pods that must run together are left{until}"


def _short_message(job: Job, due: float) -> str:
    until = "" if due == _NEVER else f", evicted at {format_timestamp(due)}"
    return f"{ready_in(job.counts)} of {job.min_available} pods left{until}"


# -- replacement ------------------------------------------------------------------------------------------------------


def _replace_members(session: Session, job: Job) -> bool:
    """Place the waiting members; report whether the gang then has its minimum. Topologies are left to allocate."""
    if job.phase == "Pending" or job.spec.policies or job.spec.topology:
        return False
    if session.is_overused(session.queue_of(job)):
        return False
    with session.serving(job), session.statement() as statement:
        largest = _largest_requests(session, job)
        for task in session.pending(job):
            if any(amount > largest[dimension] for dimension, amount in task.task_class.request):
                continue
            if _place(session, statement, task) and session.job_ready(job):
                statement.commit()
                return True
        if statement.operations and session.job_pipelined(job):
            statement.keep()
            return True
    return False


def _largest_requests(session: Session, job: Job) -> Counter[int]:
    """Return what a member on a node requests at most, by dimension: a larger one does not replace a lost one."""
    largest: Counter[int] = Counter()
    for task in job.tasks.values():
        if session.ledger.status_of(task) in ON_NODE:
            largest |= Counter(dict(task.task_class.request))
    return largest


def _place(session: Session, statement: Statement, task: Task) -> bool:
    queue = session.queue_of(session.jobs[task.job])
    if session.allocatable(queue, task.task_class, 1) is not None or session.pre_predicate(task.task_class) is not None:
        return False
    rows = session.search.find_nodes(task, 1)
    if rows:
        statement.allocate([task], rows)
        session.search.settle(task.task_class, rows)
        return True
    row = session.search.find_future_node(task)
    if row >= 0:
        statement.pipeline(task, row)
    return row >= 0


# -- eviction ---------------------------------------------------------------------------------------------------------


def _release(session: Session, job: Job) -> None:
    """Evict the rest of a gang, all of it or nothing. Members that are being bound are waited for."""
    ledger = session.ledger
    holding = [task for task in job.tasks.values() if ledger.status_of(task) in ALLOCATED_STATUSES]
    members = [task for task in holding if ledger.status_of(task) in ON_NODE and ledger.row_of(task) >= 0]
    if len(members) < len(holding):
        return
    error = _precondition_error(session, job, members)
    if error is not None:
        session.refusals.add(job, error)
        return
    note = _note(session, job)
    with session.statement() as statement:
        statement.evict_all(members, StaleGang.name)
        statement.commit()
    session.eviction_notes.update({task.uid: note for task in members})


def _precondition_error(session: Session, job: Job, members: list[Task]) -> Reason | None:
    context = EvictionContext(StaleGang.name, job)
    within_reach = [task for task in members if not is_in_excluded_shard(session, task)]
    evictable = session.unguarded(context, within_reach)
    kept = len(members) - len(evictable)
    if kept:
        detail = f"{StaleGang.name}: {counted(kept, 'pod')} of {len(members)} may not be evicted"
        return Reason(Code.NO_PREEMPTABLE_PODS, detail)
    if not session.ledger.budgets.may_spend([task.uid for task in members]):
        detail = f"{StaleGang.name}: disruption budgets protect {counted(len(members), 'pod')}"
        return Reason(Code.DISRUPTION_BUDGET, detail)
    return None


def _note(session: Session, job: Job) -> Callable[[], str]:
    left, since = ready_in(job.counts), format_timestamp(job.spec.stale_since or session.now)
    text = f"its gang has had {left} of {job.min_available} pods since {since}; it can start again as a whole"
    return lambda: text
