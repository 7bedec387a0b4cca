"""Jobs: a PodGroup with its pods, and the rules of when it is ready.

The facts of a job (`JobSpec`) are shared between cycles. Its counters are copied into each cycle that may change them,
and only the ledger writes them. Counters are plain lists indexed by task status, with one more entry for pending
best-effort tasks, which never keep a job from being ready.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from stromboli.core.model.resources.resources import Amounts, Request
from stromboli.core.model.tasks.selectors import EVERYTHING, LabelSelector
from stromboli.core.model.tasks.task import Task, TaskStatus
from stromboli.core.model.tasks.task_class import TaskClass

PENDING_BEST_EFFORT = len(TaskStatus)
Counts = list[int]

#: Shared by all jobs without entries, such as labels; never edited.
NO_ENTRIES: Mapping[str, Any] = {}

_ALLOCATED, _BINDING, _BOUND = TaskStatus.ALLOCATED.value, TaskStatus.BINDING.value, TaskStatus.BOUND.value
_RUNNING, _SUCCEEDED, _FAILED = TaskStatus.RUNNING.value, TaskStatus.SUCCEEDED.value, TaskStatus.FAILED.value
_PENDING, _PIPELINED = TaskStatus.PENDING.value, TaskStatus.PIPELINED.value


def empty_counts() -> Counts:
    return [0] * (PENDING_BEST_EFFORT + 1)


def ready_in(counts: Counts) -> int:
    """Count tasks that are placed or succeeded."""
    return counts[_ALLOCATED] + counts[_BINDING] + counts[_BOUND] + counts[_RUNNING] + counts[_SUCCEEDED]


def valid_in(counts: Counts) -> int:
    """Count tasks that are placed, succeeded, or can still be placed."""
    return ready_in(counts) + counts[_PIPELINED] + counts[_PENDING]


@dataclass(frozen=True, slots=True)
class NetworkTopology:
    """The maximum distance of tasks: required (hard) or preferred (soft)."""

    hard: bool
    highest_tier: int | None = None
    highest_tier_name: str = ""
    #: The tier to start with, if lower tiers bring no benefit; empty for the lowest.
    first_tier_name: str = ""


@dataclass(frozen=True, slots=True)
class SubGroupPolicy:
    """Splits a job's tasks into sub-jobs: matching tasks, grouped by the values of the named labels."""

    name: str
    match_label_keys: tuple[str, ...]
    selector: LabelSelector = EVERYTHING
    size: int = 1
    minimum: int = 0
    topology: NetworkTopology | None = None


@dataclass(slots=True, eq=False)
class JobSpec:
    """The facts of a PodGroup. Constant during a cycle."""

    key: str
    uid: str
    namespace: str
    name: str
    queue: str
    min_available: int = 1
    min_task_member: Mapping[str, int] = field(default_factory=lambda: NO_ENTRIES)
    min_resources: Request | None = None
    #: Entries of `minResources` that are not node resources, such as `limits.cpu`, by their names in quotas.
    min_quotas: Mapping[str, int] = field(default_factory=lambda: NO_ENTRIES)
    priority: int = 0
    created: float = 0.0
    #: Who submitted it; empty if unknown.
    user: str = ""
    annotations: Mapping[str, str] = field(default_factory=lambda: NO_ENTRIES)
    labels: Mapping[str, str] = field(default_factory=lambda: NO_ENTRIES)
    #: Whether the PodGroup is marked as preemptable; None without a mark.
    preemptable: bool | None = None
    #: Whether its tasks are evicted together or not at all, even those above the minimum.
    evicted_whole: bool = False
    policies: tuple[SubGroupPolicy, ...] = ()
    topology: NetworkTopology | None = None
    #: The Topology that the constraints of the job and its sub-jobs refer to; empty for HyperNodes.
    network: str = ""
    #: Previous domain by sub-job key, and by the job's own key.
    previous_domains: Mapping[str, str] = field(default_factory=lambda: NO_ENTRIES)
    #: When the gang fell below its minimum, according to its condition; 0 if it has no such condition.
    stale_since: float = 0.0
    #: Whether its PodGroup is being deleted: no further task is placed.
    is_being_deleted: bool = False
    #: The error in the objects of this job; the job waits with this message.
    fault: str = ""


class SubJob:
    """A part of a job with a minimum of its own."""

    __slots__ = ("counts", "job", "key", "match_index", "min_available", "policy", "priority", "tasks")

    def __init__(self, key: str, job: str, policy: SubGroupPolicy | None, match_index: int) -> None:
        self.key = key
        self.job = job
        #: None for tasks that match no policy.
        self.policy = policy
        self.match_index = match_index
        self.min_available = policy.size if policy else 1
        self.priority = 0
        self.tasks: list[Task] = []
        self.counts = empty_counts()

    def copy(self) -> "SubJob":
        twin = SubJob(self.key, self.job, self.policy, self.match_index)
        twin.priority, twin.tasks, twin.counts = self.priority, self.tasks, self.counts[:]
        return twin

    @property
    def ready_count(self) -> int:
        return ready_in(self.counts)

    @property
    def is_ready(self) -> bool:
        return ready_in(self.counts) + self.counts[PENDING_BEST_EFFORT] >= self.min_available

    @property
    def is_pipelined(self) -> bool:
        waiting = self.counts[_PIPELINED] + self.counts[PENDING_BEST_EFFORT]
        return ready_in(self.counts) + waiting >= self.min_available


class Job:
    """A job within a cycle: shared facts, own counters."""

    __slots__ = (
        "_classes", "allocated", "completions", "counts", "phase", "requested", "role_counts", "spec", "sub_jobs",
        "tasks",
    )  # fmt: skip

    def __init__(self, spec: JobSpec, size: int) -> None:
        self.spec = spec
        self.phase = "Pending"
        self.tasks: dict[str, Task] = {}
        self._classes: frozenset[TaskClass] | None = None
        #: Kept by reservations for as long as neither tasks nor counters change: when its running tasks complete.
        self.completions: Any = None
        self.counts = empty_counts()
        self.role_counts: dict[str, Counts] = {}
        self.sub_jobs: dict[str, SubJob] = {}
        #: Resources of its allocated tasks, and requests of all its unfinished tasks.
        self.allocated: Amounts = [0] * size
        self.requested: Amounts = [0] * size

    def copy(self) -> "Job":
        """Copy the counters; facts and tasks stay shared."""
        twin = Job.__new__(Job)
        twin.spec, twin.phase, twin.tasks, twin._classes = self.spec, self.phase, self.tasks, self._classes
        twin.completions = None
        twin.counts, twin.allocated, twin.requested = self.counts[:], self.allocated[:], self.requested
        twin.role_counts = {role: counts[:] for role, counts in self.role_counts.items()} if self.role_counts else {}
        twin.sub_jobs = {key: sub_job.copy() for key, sub_job in self.sub_jobs.items()} if self.sub_jobs else {}
        return twin

    # -- tasks --------------------------------------------------------------------------------------------------

    @property
    def classes(self) -> frozenset[TaskClass]:
        """The classes of all tasks. Copies share them, and `put` and `discard` reset them."""
        if self._classes is None:
            self._classes = frozenset(task.task_class for task in self.tasks.values())
        return self._classes

    def put(self, task: Task) -> None:
        """Add or replace a task."""
        self.tasks[task.uid], self._classes = task, None

    def discard(self, uid: str) -> None:
        """Remove a task, if the job has it."""
        self.tasks.pop(uid, None)
        self._classes = None

    # -- facts --------------------------------------------------------------------------------------------------

    @property
    def key(self) -> str:
        return self.spec.key

    @property
    def queue(self) -> str:
        return self.spec.queue

    @property
    def priority(self) -> int:
        return self.spec.priority

    @property
    def min_available(self) -> int:
        return self.spec.min_available

    @property
    def min_resources(self) -> Request | None:
        return self.spec.min_resources

    # -- counters -----------------------------------------------------------------------------------------------

    @property
    def ready_count(self) -> int:
        return ready_in(self.counts)

    @property
    def spare_count(self) -> int:
        """Number of placed tasks that may be evicted one by one: those above the minimum."""
        return 0 if self.spec.evicted_whole else ready_in(self.counts) - self.spec.min_available

    @property
    def kept_count(self) -> int:
        """Number of tasks that are placed and not bound yet: between statements, those of statements that were kept."""
        return self.counts[_ALLOCATED]

    @property
    def pipelined_count(self) -> int:
        return self.counts[_PIPELINED]

    @property
    def pending_count(self) -> int:
        return self.counts[_PENDING]

    @property
    def pending_best_effort_count(self) -> int:
        """Number of pending tasks without a request."""
        return self.counts[PENDING_BEST_EFFORT]

    @property
    def valid_count(self) -> int:
        return valid_in(self.counts)

    @property
    def scheduled_count(self) -> int:
        counts = self.counts
        return counts[_RUNNING] + counts[_BOUND] + counts[_FAILED] + counts[_SUCCEEDED]

    @property
    def is_ready(self) -> bool:
        """Report whether enough tasks are placed, counting best-effort tasks."""
        return ready_in(self.counts) + self.counts[PENDING_BEST_EFFORT] >= self.spec.min_available

    def has_minimum(self, count: Callable[[Counts], int]) -> bool:
        """Report whether the minimum is reached: of the job, of every role, and of sub-jobs."""
        spec = self.spec
        if count(self.counts) < spec.min_available or (spec.min_task_member and self.roles_short(count)):
            return False
        if not spec.policies:
            return True
        return not self.groups_short(lambda sub_job: count(sub_job.counts) >= sub_job.min_available)

    @property
    def tasks_missing(self) -> int:
        """Number of tasks still to be placed to reach the minimum."""
        return self.spec.min_available - ready_in(self.counts) - self.counts[PENDING_BEST_EFFORT]

    @property
    def is_pipelined(self) -> bool:
        """Report whether enough tasks are placed or pipelined."""
        waiting = self.counts[_PIPELINED] + self.counts[PENDING_BEST_EFFORT]
        return ready_in(self.counts) + waiting >= self.spec.min_available

    @property
    def is_starving(self) -> bool:
        return ready_in(self.counts) + self.counts[_PIPELINED] < self.spec.min_available

    def missing_minimum(self) -> Request:
        """Return the part of the minimum that the job does not hold yet, without what its gated pods will request."""
        missing = [(d, max(amount - self.allocated[d], 0)) for d, amount in self.spec.min_resources or ()]
        held_back = [task for task in self.tasks.values() if task.held_back]
        return _less_held_back(missing, held_back) if held_back else tuple(missing)

    # -- minimum per role and per group of sub-jobs -------------------------------------------------------------

    @property
    def role_minimums_apply(self) -> bool:
        """Report whether role minimums apply: only while the job's own minimum covers all of them."""
        minimums = self.spec.min_task_member
        return bool(minimums) and self.spec.min_available >= sum(minimums.values())

    def roles_short(self, count: Callable[[Counts], int]) -> list[str]:
        """Return roles whose count is below their minimum."""
        if not self.spec.min_task_member or not self.role_minimums_apply:
            return []
        zero = empty_counts()
        return [
            role
            for role, minimum in self.spec.min_task_member.items()
            if minimum > 0 and count(self.role_counts.get(role, zero)) < minimum
        ]

    def groups_short(self, test: Callable[[SubJob], bool]) -> list[str]:
        """Return policies with fewer passing sub-jobs than the policy's minimum."""
        if not self.spec.policies:
            return []
        return [
            policy.name
            for policy in self.spec.policies
            if sum(1 for sub_job in self.sub_jobs_of(policy) if test(sub_job)) < policy.minimum
        ]

    def sub_jobs_of(self, policy: SubGroupPolicy) -> Iterator[SubJob]:
        return (sub_job for sub_job in self.sub_jobs.values() if sub_job.policy == policy)

    def can_go_on_without(self, failed_roles: Sequence[str], sub_job: SubJob | None = None) -> bool:
        """Report whether the job can still reach its minimum after tasks of these roles found no node."""
        if self.spec.min_available >= len(self.tasks):
            return False
        if sub_job is not None:
            return sub_job.min_available < len(sub_job.tasks)
        minimums = self.spec.min_task_member
        if not self.role_minimums_apply and minimums:
            left = sum(c[_PENDING] for role, c in self.role_counts.items() if role not in failed_roles)
            return self.ready_count + left >= self.spec.min_available
        return all(
            role_ready(self.role_counts.get(role, empty_counts())) >= minimums.get(role, 0) for role in failed_roles
        )


def _less_held_back(missing: list[tuple[int, int]], held_back: Sequence[Task]) -> Request:
    left = dict(missing)
    for task in held_back:
        for dimension, amount in task.task_class.request:
            if dimension in left:
                left[dimension] = max(left[dimension] - amount, 0)
    return tuple(left.items())


def role_ready(counts: Counts) -> int:
    return ready_in(counts) + counts[PENDING_BEST_EFFORT]


def surely_ready(counts: Counts) -> int:
    """Count tasks that are bound or succeeded, and best-effort tasks; not those that are being bound."""
    return counts[_BOUND] + counts[_RUNNING] + counts[_SUCCEEDED] + counts[PENDING_BEST_EFFORT]


def role_pipelined(counts: Counts) -> int:
    return role_ready(counts) + counts[_PIPELINED]
