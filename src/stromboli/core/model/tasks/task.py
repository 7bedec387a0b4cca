"""A task is one pod. Its facts stand here; what changes during a cycle (status, node) is a column of the ledger."""

from dataclasses import dataclass, field
from enum import IntEnum
from math import inf

from stromboli.core.model.tasks.task_class import TaskClass


class TaskStatus(IntEnum):
    """Where a task is in its life. The value is an index into counters and a code in the status column."""

    PENDING = 0
    ALLOCATED = 1
    PIPELINED = 2
    BINDING = 3
    BOUND = 4
    RUNNING = 5
    RELEASING = 6
    SUCCEEDED = 7
    FAILED = 8
    UNKNOWN = 9

    @property
    def word(self) -> str:
        return self.name.capitalize()


#: Hold a place on a node and count as allocated for their job and queue.
ALLOCATED_STATUSES = (TaskStatus.ALLOCATED, TaskStatus.BINDING, TaskStatus.BOUND, TaskStatus.RUNNING)
#: Take room on their node.
OCCUPYING_STATUSES = (*ALLOCATED_STATUSES, TaskStatus.RELEASING, TaskStatus.UNKNOWN)
FINISHED_STATUSES = (TaskStatus.FAILED, TaskStatus.SUCCEEDED)
#: Have ended, or are about to.
ENDING_STATUSES = (*FINISHED_STATUSES, TaskStatus.RELEASING)

#: What a cycle may do to a task. Undo goes back by restoring what was saved, never by a transition of its own.
TRANSITIONS: dict[TaskStatus, tuple[TaskStatus, ...]] = {
    TaskStatus.PENDING: (TaskStatus.ALLOCATED, TaskStatus.PIPELINED),
    TaskStatus.PIPELINED: (TaskStatus.PENDING,),
    TaskStatus.ALLOCATED: (TaskStatus.BINDING,),
    TaskStatus.BOUND: (TaskStatus.RELEASING,),
    TaskStatus.RUNNING: (TaskStatus.RELEASING,),
}


@dataclass(slots=True, eq=False)
class Task:
    """The facts of one pod that no cycle changes."""

    uid: str
    namespace: str
    name: str
    job: str
    row: int
    task_class: TaskClass
    priority: int = 1
    created: float = 0.0
    sub_job: str = ""
    nominated_node: str = ""
    gated: bool = False
    #: Whether the last attempt to bind it failed a short while ago.
    in_backoff: bool = False
    preemptable: bool = True
    never_preempts: bool = False
    priority_class: str = ""
    #: When it got its node, as the cluster says; 0 while it has none, or when nobody knows.
    placed_at: float = 0.0
    #: The names of its claims that wait for a volume, in the order in which its class has them.
    claims: tuple[str, ...] = ()
    #: The claims for devices that it uses, and what it calls them, one by one.
    resource_claims: tuple[str, ...] = ()
    claim_names: tuple[str, ...] = ()
    #: How long it says it will run, in seconds.
    run_time: float = inf
    #: Members of a numbered set by their number, others by age; the uid settles the rest.
    order: tuple[int, int, float, str] = field(init=False)
    #: Whether it is left alone for now, although it has no node.
    held_back: bool = field(init=False)

    def __post_init__(self) -> None:
        self.held_back = self.gated or self.in_backoff
        number = self.name.rsplit("-", 2)[2:]
        if number and number[0].isdecimal() and number[0].isascii() and len(number[0]) < 19:
            self.order = 0, int(number[0]), self.created, self.uid
        else:
            self.order = 1, 0, self.created, self.uid

    @property
    def key(self) -> str:
        return f"{self.namespace}/{self.name}"

    @property
    def role(self) -> str:
        return self.task_class.role
