"""A task is one pod. Its constant facts are here; its status and node are columns of the ledger."""

from dataclasses import dataclass, field
from enum import IntEnum
from math import inf

from stromboli.core.model.tasks.task_class import TaskClass


class TaskStatus(IntEnum):
    """Lifecycle state of a task. The value is an index into counters and a code in the status column."""

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
    def label(self) -> str:
        return self.name.capitalize()


#: Are placed on a node and count as allocated for their job and queue.
ALLOCATED_STATUSES = (TaskStatus.ALLOCATED, TaskStatus.BINDING, TaskStatus.BOUND, TaskStatus.RUNNING)
#: Use resources of their node.
OCCUPYING_STATUSES = (*ALLOCATED_STATUSES, TaskStatus.RELEASING, TaskStatus.UNKNOWN)
FINISHED_STATUSES = (TaskStatus.FAILED, TaskStatus.SUCCEEDED)
#: Have ended, or are about to.
ENDING_STATUSES = (*FINISHED_STATUSES, TaskStatus.RELEASING)

#: Transitions that a cycle may make. Undo restores saved state and is not a transition.
TRANSITIONS: dict[TaskStatus, tuple[TaskStatus, ...]] = {
    TaskStatus.PENDING: (TaskStatus.ALLOCATED, TaskStatus.BINDING, TaskStatus.PIPELINED),
    TaskStatus.PIPELINED: (TaskStatus.PENDING,),
    TaskStatus.ALLOCATED: (TaskStatus.BINDING,),
    TaskStatus.BOUND: (TaskStatus.RELEASING,),
    TaskStatus.RUNNING: (TaskStatus.RELEASING,),
}


@dataclass(slots=True, eq=False)
class Task:
    """The facts of one pod that are constant during a cycle."""

    uid: str
    namespace: str
    name: str
    job: str
    row: int
    task_class: TaskClass
    #: The priority of the pod, which counts against other jobs.
    priority: int = 1
    created: float = 0.0
    sub_job: str = ""
    nominated_node: str = ""
    gated: bool = False
    #: Whether the task is in backoff after a failed bind.
    in_backoff: bool = False
    preemptable: bool = True
    never_preempts: bool = False
    priority_class: str = ""
    #: When it was placed, according to the cluster; 0 without a node, or if unknown.
    placed_at: float = 0.0
    #: Names of its unbound PersistentVolumeClaims, in the order of its class.
    claims: tuple[str, ...] = ()
    #: Its ResourceClaims, and the pod's own names for them, in the same order.
    resource_claims: tuple[str, ...] = ()
    claim_names: tuple[str, ...] = ()
    #: Declared run time, in seconds.
    run_time: float = inf
    #: Seconds between its checkpoints, from its start; infinite without.
    checkpoint_interval: float = inf
    #: When it reported its last checkpoint, in seconds since the epoch; 0 if never.
    last_checkpoint: float = 0.0
    #: The priority among the tasks of its job, if it differs; it never counts against other jobs.
    task_priority: int | None = None
    #: Its place among the tasks of its job; a higher one is first.
    priority_in_job: int = field(init=False)
    #: Members of an indexed set by index, others by age; ties by uid.
    order: tuple[int, int, float, str] = field(init=False)
    #: Whether the task is not scheduled for now, although it has no node.
    held_back: bool = field(init=False)

    def __post_init__(self) -> None:
        self.held_back = self.gated or self.in_backoff
        self.priority_in_job = self.priority if self.task_priority is None else self.task_priority
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
