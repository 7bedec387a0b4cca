"""What the live view keeps of scheduling cycles: reasons, deserved shares, and the last events."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from stromboli.cli.text.live.frame import Frame, shown_name

if TYPE_CHECKING:
    from stromboli.cluster.state.cluster import Cluster
    from stromboli.core.model.jobs.job import Job
    from stromboli.core.session.session import Session
    from stromboli.core.session.status import JobStatus
    from stromboli.scheduler.cycle import CycleResult

#: Events that are kept: more than any terminal has lines.
_MAX_EVENTS = 200
#: The verb for evictions by actions with this word in their name.
_VERBS = {"preempt": "preempted", "reclaim": "reclaimed"}


@dataclass(frozen=True, slots=True)
class ViewEvent:
    number: int
    #: Seconds since the start of the view.
    at: float
    #: `Submitted`, `Bound`, `Evicted`, `Completed`, or `Policy`.
    kind: str
    #: The name of a job, or `policy`.
    subject: str
    message: str


class CycleLog:
    """Observes the cycles of a scheduler. `clock` counts seconds since the start."""

    def __init__(self, cluster: Cluster, clock: Callable[[], float]) -> None:
        self._cluster = cluster
        self._clock = clock
        self._session: Session | None = None
        #: Why jobs wait, by the last cycle.
        self._summaries: dict[str, str] = {}
        self._deserved: dict[str, Sequence[int]] = {}
        #: Why a job was evicted, until it is bound again.
        self._evictions: dict[str, str] = {}
        self._phases: dict[str, str] = {}
        self._count = 0
        #: Pods by job.
        self.bound, self.evicted = Counter[str](), Counter[str]()
        self.events: deque[ViewEvent] = deque(maxlen=_MAX_EVENTS)

    # -- observation ----------------------------------------------------------------------------------------------

    def observe(self, result: CycleResult) -> None:
        """Keep the session of the last cycle, and note its decisions."""
        session = self._session = result.session
        self._summaries.clear()
        facts = {name: session.queue_facts(queue) for name, queue in session.queues.items()}
        self._deserved = {name: fact.deserved for name, fact in facts.items() if fact is not None}
        for job in session.waiting:
            self._note_new(job.key, job.queue)
        self._note_evictions(session)
        self._note_binds(session)

    def _note_binds(self, session: Session) -> None:
        bound = Counter[str]()
        for statement in session.decisions.binds:
            bound[statement[0].job] += len(statement)
        for job, number in bound.items():
            self._evictions.pop(job, None)
            self.bound[job] += number
            self._note("Bound", job, f"{number} pods bound together" if number > 1 else "1 pod bound")

    def _note_evictions(self, session: Session) -> None:
        evicted = Counter((each.task.job, each.reason, each.preemptor) for each in session.decisions.evictions)
        for (job, action, preemptor), number in evicted.items():
            cause = self._cause(action, preemptor)
            self._evictions[job] = cause
            self.evicted[job] += number
            self._note("Evicted", job, f"{'1 pod' if number == 1 else f'{number} pods'} evicted, {cause}")

    def _cause(self, action: str, preemptor: str) -> str:
        """Return why pods were evicted: `preempted by urgent`."""
        verb = next((verb for part, verb in _VERBS.items() if part in action), "replaced")
        return f"{verb} by {shown_name(self._cluster, preemptor)}" if preemptor else f"by {action}"

    def compare(self, frame: Frame) -> None:
        """Note jobs that are new or complete since the last frame."""
        for row in frame.jobs:
            self._note_new(row.key, row.queue)
            if row.phase == "Completed" != self._phases[row.key]:
                self._note("Completed", row.key, "completed")
            self._phases[row.key] = row.phase

    def _note_new(self, job: str, queue: str) -> None:
        if job not in self._phases:
            self._phases[job] = ""
            self._note("Submitted", job, f"submitted to queue {queue}")

    def _note(self, kind: str, job: str, message: str) -> None:
        self.note(kind, shown_name(self._cluster, job), message)

    def note(self, kind: str, subject: str, message: str) -> None:
        """Add an event."""
        self._count += 1
        self.events.append(ViewEvent(self._count, self._clock(), kind, subject, message))

    # -- queries --------------------------------------------------------------------------------------------------

    def deserved(self, queue: str, dimension: int) -> int | None:
        amounts = self._deserved.get(queue, ())
        return amounts[dimension] if dimension < len(amounts) else None

    def is_unschedulable(self, job: Job) -> bool:
        status = self._status(job)
        return status is not None and any(condition.type == "Unschedulable" for condition in status.conditions)

    def reason(self, job: Job) -> str:
        """Return why a job waits, by the last cycle."""
        status = self._status(job)
        reason = status.summary if status is not None else ""
        return "; ".join(filter(None, (self._evictions.get(job.key), reason)))

    def _status(self, job: Job) -> JobStatus | None:
        """Return the status of a job in the last cycle, if that cycle had the same pods."""
        if self._session is None or job.key not in self._session.statuses:
            return None
        seen = self._session.jobs.get(job.key)
        return self._session.statuses[job.key] if seen is not None and seen.tasks.keys() == job.tasks.keys() else None
