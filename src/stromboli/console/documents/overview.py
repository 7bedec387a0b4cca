"""The state of the cluster in numbers, now and over time."""

from __future__ import annotations

from stromboli.console.documents.base import ConsoleDocument


class ResourceTotal(ConsoleDocument):
    """Amounts of one resource over all nodes, in its base unit: cores, bytes, or a count."""

    resource: str
    capacity: float
    used: float
    free: float
    #: Nominated to jobs that wait for evictions, or reserved.
    reserved: float
    #: Free where no waiting pod fits, while pods wait.
    fragmented: float


class ConsoleAlarm(ConsoleDocument):
    """A state that needs attention."""

    #: A stable identifier, such as NodesNotReady.
    kind: str
    #: `warning` or `critical`.
    severity: str
    message: str
    #: The number of objects.
    count: int = 1
    #: The page that shows them: a path of the client, such as /nodes?status=NotReady.
    link: str = ""


class WaitingReason(ConsoleDocument):
    """How many jobs wait for one reason."""

    reason: str
    jobs: int


class ConsoleOverview(ConsoleDocument):
    """The state of the cluster. All numbers are those of the whole cluster."""

    instance: str
    version: int
    time: float
    resources: list[ResourceTotal]
    nodes: int
    nodes_ready: int
    waiting: int
    running: int
    completed: int
    #: Pods without a node, of all jobs.
    waiting_pods: int
    #: Age of the oldest waiting job in seconds.
    longest_wait: float
    #: Jobs of readable namespaces by reason, most first.
    reasons: list[WaitingReason]
    alarms: list[ConsoleAlarm]


class TimeSeries(ConsoleDocument):
    """Columns over time: each list has a value per time; null where it is not known."""

    times: list[float]
    #: Used part of the capacity, by resource.
    utilisation: dict[str, list[float | None]]
    waiting: list[int]
    running: list[int]
    #: Share of each readable queue.
    queues: dict[str, list[float | None]]
    #: Seconds between two times.
    step: float
