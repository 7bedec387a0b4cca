"""What scheduling cycles decided: a bounded number of records, of which the oldest are forgotten.

A cycle that decides nothing, and refuses what the one before refused, leaves no record. Recording reads what the
session has calculated anyway, and is bounded, so that it costs a cycle little.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterator, Sequence

import msgspec

from stromboli.core.config.plugin import PluginFailure
from stromboli.core.model.tasks.placement import Placement
from stromboli.core.model.tasks.task import Task
from stromboli.core.session.session import Session
from stromboli.planner.evictions import accounts_of, describe_eviction
from stromboli.planner.overview.node_scores import class_scores

MAX_RECORDS = 200
#: Parts of one record, and jobs and nodes whose scores it has.
_MAX_PODS, _MAX_REFUSALS, _MAX_SCORED, _MAX_NODES = 1_000, 200, 3, 8
#: Larger clusters are not scored for records.
_MAX_SCORED_NODES = 5_000


class ScoredNode(msgspec.Struct, rename="camel", kw_only=True):
    """A node with its points by scorer."""

    node: str
    total: float
    points: dict[str, float]


class BindDecision(msgspec.Struct, rename="camel", kw_only=True):
    """Pods of a job that were bound together."""

    job: str
    queue: str
    #: Node by pod.
    pods: dict[str, str]


class EvictionDecision(msgspec.Struct, rename="camel", kw_only=True):
    """An evicted pod: the action, the job that needs the capacity, and the plugins that allowed it."""

    pod: str
    job: str
    action: str
    preemptor: str
    message: str
    plugins: list[str]


class NominationDecision(msgspec.Struct, rename="camel", kw_only=True):
    """Capacity that is nominated to a job until evicted pods are gone."""

    job: str
    #: Node by pod.
    pods: dict[str, str]


class RefusalDecision(msgspec.Struct, rename="camel", kw_only=True):
    """Why a job was not started: the reason, and its code."""

    job: str
    queue: str
    summary: str
    codes: list[str]


class ScoreDecision(msgspec.Struct, rename="camel", kw_only=True):
    """The best nodes for further pods like those of a job, after the decisions of the cycle."""

    job: str
    pods: int
    nodes: list[ScoredNode]


class CycleSummary(msgspec.Struct, rename="camel", kw_only=True):
    """A cycle in numbers."""

    number: int
    #: The scheduler that decided, with its shard if it has one.
    scheduler: str
    time: float
    seconds: float
    binds: int
    evictions: int
    pipelined: int
    waiting: int


class CycleRecord(msgspec.Struct, kw_only=True):
    """The decisions of a cycle, up to some number of each kind."""

    cycle: CycleSummary
    #: Actions in their order, and plugins of the policy.
    actions: list[str]
    plugins: list[str]
    binds: list[BindDecision]
    evictions: list[EvictionDecision]
    nominations: list[NominationDecision]
    refusals: list[RefusalDecision]
    scores: list[ScoreDecision]


class CycleRecords:
    """Records by number, the latest last. One thread adds those of `scheduler`, others read them."""

    def __init__(self, scheduler: str) -> None:
        self._scheduler = scheduler
        self._records: deque[CycleRecord] = deque(maxlen=MAX_RECORDS)
        self._lock = threading.Lock()
        self._refused: list[RefusalDecision] = []
        #: The number of the latest record.
        self.latest = 0

    @property
    def problem(self) -> str:
        """Why cycles are not recorded; empty if they are."""
        return ""

    def add(self, session: Session, moment: float, seconds: float) -> None:
        """Record a cycle that has ended."""
        refusals = list(_refusals(session))
        decisions, pipelined = session.decisions, len(session.pipelined_tasks())
        if not (decisions.binds or decisions.evictions or pipelined) and refusals == self._refused:
            return
        self._refused = refusals
        record = CycleRecord(
            cycle=CycleSummary(
                number=self.latest + 1, scheduler=self._scheduler, time=moment, seconds=round(seconds, 6),
                binds=sum(map(len, decisions.binds)), evictions=len(decisions.evictions), pipelined=pipelined,
                waiting=sum(not job.is_ready for job in session.waiting),
            ),
            actions=list(session.program.configuration.actions), plugins=list(session.program.plugins),
            binds=_binds(session), evictions=_evictions(session), nominations=_nominations(session), refusals=refusals,
            scores=list(_scores(session)),
        )  # fmt: skip
        self._append(record)

    def _append(self, record: CycleRecord) -> None:
        with self._lock:
            self._records.append(record)
            self.latest = record.cycle.number

    def after(self, number: int, limit: int) -> list[CycleRecord]:
        """Return the first records after a number, the earliest first."""
        with self._lock:
            return [each for each in self._records if each.cycle.number > number][:limit]

    def before(self, number: int | None, limit: int) -> list[CycleRecord]:
        """Return the latest records before a number, the latest first."""
        with self._lock:
            found = [each for each in self._records if number is None or each.cycle.number < number]
        return found[::-1][:limit]

    def find(self, number: int) -> CycleRecord | None:
        with self._lock:
            return next((each for each in self._records if each.cycle.number == number), None)


def _binds(session: Session) -> list[BindDecision]:
    found: dict[str, BindDecision] = {}
    left = _MAX_PODS
    for statement in session.decisions.binds:
        key = statement[0].job
        entry = found.setdefault(key, BindDecision(job=key, queue=session.jobs[key].queue, pods={}))
        entry.pods.update((each.key, each.node) for each in statement[:left])
        left -= len(statement)
        if left <= 0:
            break
    return list(found.values())


def _evictions(session: Session) -> list[EvictionDecision]:
    records = list(accounts_of(session).values())[:_MAX_PODS] if session.decisions.evictions else []
    return [
        EvictionDecision(
            pod=each.pod, job=each.job, action=each.action, preemptor=each.preemptor, message=describe_eviction(each),
            plugins=[approval.plugin for approval in each.allowed_by],
        )
        for each in records
    ]  # fmt: skip


def _nominations(session: Session) -> list[NominationDecision]:
    found: dict[str, NominationDecision] = {}
    for task in session.pipelined_tasks()[:_MAX_PODS]:
        entry = found.setdefault(task.job, NominationDecision(job=task.job, pods={}))
        entry.pods[task.key] = session.ledger.node_name(task)
    return list(found.values())


def _refusals(session: Session) -> Iterator[RefusalDecision]:
    """Yield why jobs wait, as the statuses of the cycle have it."""
    count = 0
    for key, status in session.statuses.items():
        if status.summary and key in session.jobs and count < _MAX_REFUSALS:
            count += 1
            codes = [] if status.cause is None else [status.cause.value]
            yield RefusalDecision(job=key, queue=session.jobs[key].queue, summary=status.summary, codes=codes)


def _scores(session: Session) -> Iterator[ScoreDecision]:
    """Yield the best nodes for the first jobs that were bound. A plugin that fails after the cycle ends the list."""
    if len(session.nodes) > _MAX_SCORED_NODES:
        return
    for statement in session.decisions.binds[:_MAX_SCORED]:
        tasks = _tasks(session, statement)
        try:
            scores = class_scores(session, session.jobs[statement[0].job], tasks[:1])
        except PluginFailure:
            return
        nodes = [
            ScoredNode(node=each.node, total=each.total, points=dict(each.points))
            for each in scores.candidates[:_MAX_NODES]
        ]
        yield ScoreDecision(job=statement[0].job, pods=len(statement), nodes=nodes)


def _tasks(session: Session, statement: Sequence[Placement]) -> list[Task]:
    uids = {each.uid for each in statement}
    return [task for uid, task in session.jobs[statement[0].job].tasks.items() if uid in uids]
