"""The tdm plugin: which pods may use revocable nodes, are preempted elsewhere, and are evicted when the hours end."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from stromboli.core.config.arguments import Argument, Arguments, PrefixArgument
from stromboli.core.config.combining import Vote
from stromboli.core.config.plugin import Key, Plugin, Victims
from stromboli.core.config.spelling import quoted
from stromboli.core.model.jobs.job import Job
from stromboli.core.model.reasons import Code, Reason
from stromboli.core.model.tasks.task import Task, TaskStatus
from stromboli.core.model.values.times import parse_duration
from stromboli.core.plugins.tdm.zones import (
    PREEMPTABLE,
    ZONE,
    Hours,
    RevocableNodeFilter,
    RevocableNodeScorer,
    Zones,
    hours_of,
    is_marked,
    may_use_revocable_nodes,
)
from stromboli.core.search.node_rules import NodeFilter, NodeScorer
from stromboli.core.session.session import Session

MAX_UNAVAILABLE = "volcano.sh/jdb-max-unavailable"
MIN_AVAILABLE = "volcano.sh/jdb-min-available"

_USUAL = 1
_FINISHED = (TaskStatus.SUCCEEDED, TaskStatus.FAILED)


def evictions_allowed(job: Job, warnings: list[str]) -> int:
    """Return how many pods may be evicted now, by the first valid annotation of both; an invalid one is reported."""
    running = job.counts[TaskStatus.RUNNING]
    most = _amount(job, MAX_UNAVAILABLE, warnings)
    if most is not None:
        unavailable = len(job.tasks) - running - sum(job.counts[status] for status in _FINISHED)
        return max(most - unavailable, 0)
    least = _amount(job, MIN_AVAILABLE, warnings)
    if least is None:
        return running if job.spec.evicted_whole else _USUAL
    return max(running - least, 0)


def _amount(job: Job, key: str, warnings: list[str]) -> int | None:
    """A number of pods, or a percentage of all pods of the job, rounded up."""
    annotations: Mapping[str, str] = job.spec.annotations
    text = annotations.get(key)
    if text is None:
        return None
    number = text.removesuffix("%")
    if not (number.isdecimal() and number.isascii() and len(number) < 7):
        fault = f"annotation {key}: write a number or a percentage, not {quoted(text)}; it is ignored"
        message = f"PodGroup {job.key}: {fault}"
        if message not in warnings:  # called once per preemptor
            warnings.append(message)
        return None
    return -(-len(job.tasks) * int(number) // 100) if text.endswith("%") else int(number)


def _hours(text: str) -> Hours | None:
    """Parse the hours of a zone; None for a zone without hours."""
    return hours_of(text) if text else None


class TdmArguments(Arguments):
    hours: Mapping[str, Hours | None] = PrefixArgument(
        "tdm.revocable-zone.<zone>", "", "The hours in which nodes of the zone take pods.", parse=_hours
    )
    period: float = Argument("tdm.evict.period", "1m", "The period of evictions.", parse=parse_duration)


class Tdm(Plugin):
    name = "tdm"
    arguments = TdmArguments()
    reads_annotations = (ZONE, PREEMPTABLE)
    reads_labels = (PREEMPTABLE,)

    def __init__(self, arguments: TdmArguments, hierarchy: bool = False) -> None:
        super().__init__(arguments, hierarchy)
        self._zones = Zones({zone: hours for zone, hours in arguments.hours.items() if hours})
        self._filters = (RevocableNodeFilter(self._zones),)
        self._scorers = (RevocableNodeScorer(self._zones),)
        #: When pods were last evicted.
        self._evicted_at: float | None = None

    def open(self, session: Session) -> None:
        self._zones.now = session.now
        self._jobs = session.jobs
        self._ledger = session.ledger
        self._nodes = session.nodes
        self._warnings = session.warnings

    def node_filters(self) -> Sequence[NodeFilter]:
        return self._filters

    def node_scorers(self) -> Sequence[NodeScorer]:
        return self._scorers

    # -- jobs ---------------------------------------------------------------------------------------------------

    def job_order(self, job: Job) -> Key:
        """Jobs that are not preemptable come first: they have fewer nodes to choose from."""
        return bool(job.spec.preemptable)

    def job_pipelined(self, job: Job) -> Vote | Reason:
        return Vote.PERMIT if job.is_pipelined else _NOT_YET

    def job_starving(self, job: Job) -> bool:
        return not job.spec.preemptable and job.pending_count > 0

    # -- victims ------------------------------------------------------------------------------------------------

    def preemptable(self, preemptor: Task, candidates: Sequence[Task]) -> Victims:
        """Pods that may use revocable nodes are preempted on other nodes by pods that may not."""
        if self._may_be_preempted(preemptor) or may_use_revocable_nodes(preemptor.task_class):
            return []
        return self._within_budget(task for task in candidates if not self._zone_of(task) and self._is_evictable(task))

    def justification(self, preemptor: Task, victim: Task) -> str:
        return "it may run on revocable nodes, and the preemptor may not"

    def veto(self, preemptor: Task, victim: Task) -> str:
        if self._may_be_preempted(preemptor) or may_use_revocable_nodes(preemptor.task_class):
            return "the preemptor may itself run on revocable nodes"
        if self._zone_of(victim):
            return "its node is revocable"
        if not self._is_evictable(victim):
            return "it is not running, or not marked as preemptable"
        return f"PodGroup {victim.job} allows no more evictions at a time"

    def victim_tasks(self, candidates: Sequence[Task]) -> Sequence[Task]:
        """Return a few pods of each job on nodes whose hours are over."""
        now = self._zones.now
        if self._evicted_at is not None and self._evicted_at <= now < self._evicted_at + self.arguments.period:
            return ()
        over = (task for task in candidates if self._zones.is_over(self._zone_of(task)) and self._is_evictable(task))
        victims = self._within_budget(over)
        if victims:
            self._evicted_at = now
        return victims

    def _within_budget(self, candidates: Iterable[Task]) -> list[Task]:
        """Return the candidates within the disruption budget of each job."""
        left: dict[str, int] = {}
        victims = []
        for task in candidates:
            if task.job not in left:
                left[task.job] = self._allowed(self._jobs[task.job])
            if left[task.job] > 0:
                left[task.job] -= 1
                victims.append(task)
        return victims

    def _allowed(self, job: Job) -> int:
        """Return how many pods may be evicted now; of a job that is evicted as a whole, all of them or none."""
        allowed = evictions_allowed(job, self._warnings)
        return 0 if job.spec.evicted_whole and allowed < job.counts[TaskStatus.RUNNING] else allowed

    def _is_evictable(self, task: Task) -> bool:
        return self._ledger.status_of(task) is TaskStatus.RUNNING and self._may_be_preempted(task)

    def _may_be_preempted(self, task: Task) -> bool:
        """Report whether the pod is preemptable: by its own label or annotation, otherwise by its job."""
        marked = is_marked(task.task_class)
        return bool(self._jobs[task.job].spec.preemptable) if marked is None else marked

    def _zone_of(self, task: Task) -> str:
        row = self._ledger.row_of(task)
        return self._nodes.nodes[row].revocable_zone if row >= 0 else ""


_NOT_YET = Reason(Code.GANG_DOES_NOT_FIT, "fewer tasks are placed than must start together")
