"""Scheduling cycles: what was decided, and why."""

from __future__ import annotations

from stromboli.console.documents.base import ConsoleDocument


class CycleSummary(ConsoleDocument):
    """A cycle in numbers."""

    number: int
    time: float
    seconds: float
    binds: int
    evictions: int
    pipelined: int
    waiting: int


class ScoredNode(ConsoleDocument):
    """A node with its points by scorer."""

    node: str
    total: float
    points: dict[str, float]


class BindDecision(ConsoleDocument):
    """Pods of a job that were bound together."""

    job: str
    queue: str
    #: Node by pod.
    pods: dict[str, str]


class EvictionDecision(ConsoleDocument):
    """An evicted pod: the action, the job that needs the capacity, and the plugins that allowed it."""

    pod: str
    job: str
    action: str
    preemptor: str
    message: str
    plugins: list[str]


class NominationDecision(ConsoleDocument):
    """Capacity that is nominated to a job until evicted pods are gone."""

    job: str
    #: Node by pod.
    pods: dict[str, str]


class RefusalDecision(ConsoleDocument):
    """Why a job was not started: the reason, and its code."""

    job: str
    queue: str
    summary: str
    codes: list[str]


class ScoreDecision(ConsoleDocument):
    """The scores of the best nodes for the pods of a job."""

    job: str
    pods: int
    nodes: list[ScoredNode]


class CycleList(ConsoleDocument):
    """Recorded cycles, the latest first. Without a scheduler in the same process there are none."""

    instance: str
    cycles: list[CycleSummary]
    #: Why there are none; empty otherwise.
    note: str


class CycleView(ConsoleDocument):
    """A cycle: decisions about readable jobs, and how many others there are."""

    instance: str
    cycle: CycleSummary
    #: Actions in their order, and plugins of the policy.
    actions: list[str]
    plugins: list[str]
    binds: list[BindDecision]
    evictions: list[EvictionDecision]
    nominations: list[NominationDecision]
    refusals: list[RefusalDecision]
    scores: list[ScoreDecision]
    hidden: int
