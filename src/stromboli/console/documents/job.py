"""One job."""

from __future__ import annotations

from typing import Any

import msgspec

from stromboli.console.documents.base import ConsoleDocument
from stromboli.console.documents.jobs import ConsoleJob
from stromboli.history.query import JobHistory, PodHistory


class ConsolePod(ConsoleDocument):
    """A pod of a job."""

    pod: str
    #: Pending, Gated, Starting, Running, Succeeded, Failed, Terminating or Unknown.
    status: str
    node: str
    created: float
    #: Why it has no node, by its condition.
    note: str
    requests: dict[str, str]


class ConsoleCondition(ConsoleDocument):
    """A condition of the PodGroup, as the scheduler reports it."""

    type: str
    status: str
    reason: str
    message: str
    since: float


class JobDetail(ConsoleDocument):
    """A job as it is reported: answered at once, from the cache."""

    instance: str
    version: int
    job: ConsoleJob
    #: Why it waits in one sentence, and in full.
    reason: str
    message: str
    conditions: list[ConsoleCondition]
    pods: list[ConsolePod]
    #: The eviction that is recorded on its PodGroup; empty for none.
    eviction: str
    waiting_in_queue: int
    #: The waiting jobs before it in its queue, nearest last; others count.
    ahead: list[str]
    ahead_hidden: int
    owner_kind: str
    owner_name: str
    #: The path of its object in the API server.
    path: str


class TimelineEvent(ConsoleDocument):
    """An event of a job."""

    time: float
    #: Submitted, Started, Evicted, Failed, Ended.
    what: str
    pod: str
    node: str
    message: str


class JobAttempts(ConsoleDocument):
    """What the history has about a job; empty without a history."""

    #: The attempts with this name, the latest first.
    jobs: list[JobHistory]
    #: Those of the latest.
    pods: list[PodHistory]
    timeline: list[TimelineEvent]
    #: When the server read it.
    time: float


class ExplanationFinding(ConsoleDocument):
    """A reason with its meaning and advice."""

    code: str
    messages: list[str]
    meaning: str
    remedy: str
    advice: str
    retry_events: list[str]


class JobAheadDocument(ConsoleDocument):
    """A job that is considered earlier."""

    job: str
    priority: int
    bound: int
    waiting: bool


class ProposedEdit(msgspec.Struct, kw_only=True):
    """A change of one field."""

    object: str
    field: str
    before: Any = msgspec.field(name="from")
    after: Any = msgspec.field(name="to")


class ProposedChange(ConsoleDocument):
    """A change that lets the job start, verified by running the scheduler again."""

    kind: str
    description: str
    edits: list[ProposedEdit]


class JobExplanation(ConsoleDocument):
    """Why a job waits and what would help, as `stromboli explain -o json` answers."""

    job: str
    waiting: bool
    summary: str
    phase: str
    priority: int
    min_member: int
    ready: int
    pods: int
    nodes: dict[str, int]
    reasons: list[ExplanationFinding]
    ahead: list[JobAheadDocument]
    smallest_change: ProposedChange | None
    alternatives: list[ProposedChange]
    #: Further parts, with the names of `stromboli explain -o json`.
    domains: list[dict[str, Any]]
    classes: list[dict[str, Any]]
    queue: dict[str, Any]
    evictions: dict[str, Any]


class NodeScoreDocument(ConsoleDocument):
    """The points of a node by scorer."""

    node: str
    total: float
    points: dict[str, float]


class ScoreRejection(ConsoleDocument):
    """Nodes that do not take the pods."""

    reason: str
    nodes: list[str]


class ClassScoresDocument(ConsoleDocument):
    """Scores of the nodes for equal waiting pods of a job, best first."""

    pods: list[str]
    request: dict[str, str]
    chosen: str
    domain_first: bool
    candidates: list[NodeScoreDocument]
    rejected: list[ScoreRejection]


class JobScores(ConsoleDocument):
    """As `stromboli score -o json` answers."""

    job: str
    classes: list[ClassScoresDocument]
    warnings: list[str]
