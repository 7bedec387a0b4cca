"""What if: plans, differences of policies, and simulations."""

from __future__ import annotations

from typing import Any

from stromboli.console.documents.base import ConsoleDocument


class PlanRequest(ConsoleDocument, forbid_unknown_fields=True):
    """What to try on the present cluster."""

    #: The namespace of objects without one, and of which the plan is: all with an empty one, for those who may read
    #: all.
    namespace: str = ""
    #: YAML or JSON of objects to submit.
    manifests: str = ""
    #: YAML of the policy; that of the scheduler if null. For those who may read all namespaces.
    policy: str | None = None
    #: A job, and the description of a change that its explanation proposes: the plan is with this change.
    job: str = ""
    change: str = ""
    cycles: int = 1


class PlanVictim(ConsoleDocument):
    """A pod that the plan evicts."""

    pod: str
    reason: str


class PlannedGroup(ConsoleDocument):
    """A job at the end of the plan."""

    job: str
    phase: str
    queue: str
    min_member: int
    ready: int
    pods: int
    #: Pods per node.
    nodes: dict[str, int]
    waiting: bool
    summary: str
    reasons: list[str]
    codes: list[str]


class PlanReport(ConsoleDocument):
    """The decisions of a plan."""

    binds: dict[str, str]
    pipelined: dict[str, str]
    victims: list[PlanVictim]
    jobs: list[PlannedGroup]
    warnings: list[str]
    #: Seconds that the calculation took.
    seconds: float


class PolicyDiffRequest(ConsoleDocument, forbid_unknown_fields=True):
    """Two policies; that of the scheduler if null."""

    before: str | None = None
    after: str | None = None
    cycles: int = 1


class PlanDifference(ConsoleDocument):
    """A job whose state differs between two plans."""

    job: str
    queue: str
    before: PlannedGroup | None
    after: PlannedGroup | None


class PolicyDiff(ConsoleDocument):
    """The differences of two plans on the present cluster."""

    before: PlanReport
    after: PlanReport
    differences: list[PlanDifference]
    #: Victims of only one of the plans.
    only_before: list[PlanVictim]
    only_after: list[PlanVictim]


class SimulationRequest(ConsoleDocument, forbid_unknown_fields=True):
    """Simulate the present cluster with further objects."""

    manifests: str = ""
    policy: str | None = None
    #: The simulated time in seconds.
    seconds: int = 86_400
    #: The run time of pods that name none.
    run_seconds: int = 3_600


class SimulatedWaits(ConsoleDocument):
    """Waiting times in seconds."""

    jobs: int
    mean: float
    median: float
    p95: float
    max: float


class SimulationReport(ConsoleDocument):
    """As `stromboli simulate -o json` answers."""

    start: str
    end: str
    seconds: float
    cycles: int
    waits: SimulatedWaits
    utilisation: dict[str, Any]
    queues: dict[str, Any]
    jobs: dict[str, Any]
    timeline: list[dict[str, Any]]
    warnings: list[str]


class PolicyView(ConsoleDocument):
    """The policy of the scheduler, as YAML."""

    text: str
    source: str
