"""The base of every plugin: one method per extension point.

A plugin is built once per configuration, from its arguments. `open` is called at the start of each cycle and `close` at
its end; a plugin computes the state of a cycle in `open`. The ledger holds the accounting: plugins read it through the
session and keep no copy.

A method that may reject returns None (accepted) or a `Reason`. Methods about amounts of work return numbers ("how many
of these ten?"), and methods about nodes whole columns, so that a plugin costs the same for one task and for ten
thousand.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from stromboli.core.config.arguments import Arguments
from stromboli.core.config.combining import Vote
from stromboli.core.model.jobs.job import Job, SubJob
from stromboli.core.model.nodes.amounts import Rows
from stromboli.core.model.nodes.table import Mask, Vector
from stromboli.core.model.queues.queue import Queue
from stromboli.core.model.reasons import Reason
from stromboli.core.model.tasks.task import Task
from stromboli.core.model.tasks.task_class import TaskClass
from stromboli.core.model.topology.hypernodes import HyperNodeTree
from stromboli.core.search.node_rules import Locality, NodeFilter, NodeScorer

if TYPE_CHECKING:
    from stromboli.core.session.session import Session

#: The version of the interface that plugins and actions use; see `stromboli.api`.
API_VERSION = 1

#: One score per node; higher is better.
Scores = Vector
#: Any comparable value: smaller comes first.
Key = Any
Victims = Sequence[Task] | None


class PluginFailure(RuntimeError):
    """A plugin failed outside of any single job, so the cycle is aborted."""


class Allowance(NamedTuple):
    """The number of tasks a queue may still take, and the reason for the limit."""

    number: int
    reason: Reason | None = None


class QueueFacts(NamedTuple):
    """The facts that a queue plugin reports about a queue."""

    deserved: Sequence[int]
    share: float
    #: Whether the deserved amounts follow from the queue's weight; otherwise from its spec.
    by_weight: bool = True
    #: The most that the queue may use now; empty if the plugin does not limit it.
    limit: Sequence[int] = ()


@dataclass(frozen=True, slots=True)
class Domain:
    """A set of nodes that are close to each other; the whole cluster is one as well."""

    name: str
    tier: int
    #: True for the nodes inside; None for all nodes.
    inside: Mask | None = None
    #: Its index in the tree of hypernodes that contains it, if any.
    place: int | None = None
    tree: HyperNodeTree | None = None
    #: Whether pods inside may be evicted, so that the idle amounts do not limit it.
    evictions_allowed_inside: bool = False
    #: Whether the job ran there before, or has nominated capacity there.
    kept: bool = False


CLUSTER = Domain("<cluster-top-hypernode>", 1)


@dataclass(frozen=True, slots=True)
class EvictionContext:
    """The cause of an eviction: the kind is `preempt` or `reclaim`, or the name of an action that queries guards alone:
    `consolidate`, or `shuffle`, `stalegang` and `relieve`, where the job is that of the victims.
    """

    kind: str
    job: Job
    domain: Domain | None = None


@dataclass(slots=True)
class Event:
    """An operation on tasks of one job and class, or its undo."""

    tasks: Sequence[Task]
    nodes: Sequence[str]


class Plugin:
    """A scheduling policy. Subclasses set `name`, declare `arguments`, and override extension points."""

    #: The name in the configuration file.
    name: ClassVar[str] = ""
    #: The version of `stromboli.api` that the class is written for.
    api_version: ClassVar[int] = API_VERSION
    #: Declared as an instance of a subclass of Arguments; a plugin reads its own values from `self.arguments`.
    arguments: Arguments = Arguments()
    #: The scope of the results of `predicate` and `node_order`.
    locality: ClassVar[Locality] = Locality.ROW
    #: Pod labels that the plugin reads: tasks that differ in them are in different classes.
    reads_labels: tuple[str, ...] = ()
    #: Pod annotations that the plugin reads: tasks that differ in them are in different classes.
    reads_annotations: tuple[str, ...] = ()
    #: The period in seconds over which node usage is averaged; 0 for a plugin that does not read it.
    usage_window: float = 0.0
    #: Whether the plugin reads what queues and users have used so far, which is then accounted.
    reads_past_usage: bool = False
    #: ConfigMaps that the plugin reads, each as `namespace/name`.
    reads_config_maps: tuple[str, ...] = ()
    #: Options for the binder, for plugins whose pods need preparation before binding.
    binding_options: Mapping[str, str] = {}
    #: Whether a veto of this plugin protects a victim, whatever plugins in other tiers decide.
    #: Its consent leaves the decision to the other plugins.
    guards_victims: ClassVar[bool] = False
    #: Whether a veto of this plugin also counts in other tiers. Its consent counts in its own tier.
    vetoes_in_every_tier: ClassVar[bool] = False
    #: Whether `queue_order` of one queue may change when another queue gets an allocation.
    queue_order_reaches_others: bool = False
    #: Whether keys of `queue_order` never decrease as long as no queue loses anything.
    queue_order_only_grows: bool = False
    #: Whether victims depend on the user of the preemptor's job.
    distinguishes_users: bool = False
    #: Whether preempt and reclaim also serve members above the minimum of their job.
    serves_beyond_minimum: bool = False
    #: Whether allocate serves all queues once more, with `session.lending`, when every queue has its share.
    lends_idle: bool = False

    def __init__(self, arguments: Arguments, hierarchy: bool = False) -> None:
        self.arguments = arguments
        #: The switch `enableHierarchy`.
        self.hierarchy = hierarchy

    def unused_extension_points(self) -> frozenset[str]:
        """Return extension points that this class overrides but this instance, with its arguments, does not use."""
        return frozenset()

    def open(self, session: Session) -> None:
        """Prepare for a cycle. Called when it starts."""

    def close(self, session: Session) -> None:
        """Finish a cycle. Statuses may still be written."""

    # -- order --------------------------------------------------------------------------------------------------

    def job_order(self, job: Job) -> Key:
        """Return the sort key of a job within its queue: the smallest is served first. It may depend on the job's own
        counters only.
        """

    def sub_job_order(self, sub_job: SubJob) -> Key:
        """Return the sort key of a sub-job within its job."""

    def task_order(self, task: Task) -> Key:
        """Return the sort key of a task within its job."""

    def queue_order(self, queue: Queue) -> Key:
        """Return the sort key of a queue."""

    def victim_queue_order(self, queue: Queue, preemptor: Queue) -> Key:
        """Return the sort key of a queue as victim of `preemptor`: the smallest loses first."""

    # -- admission and readiness --------------------------------------------------------------------------------

    def job_valid(self, job: Job) -> Reason | None:
        """Reject a job that cannot be scheduled at all; it leaves the cycle with this reason."""

    def job_enqueueable(self, job: Job) -> Vote | Reason:
        """Vote on the admission of a pending job."""
        return Vote.ABSTAIN

    def job_enqueued(self, job: Job) -> None:
        """Record that the job was admitted."""

    def job_ready(self, job: Job) -> bool:
        """Report whether the placed tasks of the job are enough to start it."""
        return True

    def tasks_until_ready(self, job: Job) -> int:
        """Return a lower bound of the tasks to place before `job_ready` can become true, so that a gang is placed in
        one step.
        """
        return 1

    def sub_job_ready(self, sub_job: SubJob) -> bool:
        """Report whether the placed tasks of the sub-job are enough to start it."""
        return True

    def job_pipelined(self, job: Job) -> Vote | Reason:
        """Vote on whether the job can start once current releases are finished."""
        return Vote.ABSTAIN

    def sub_job_pipelined(self, sub_job: SubJob) -> Vote | Reason:
        """Vote on whether the sub-job can start once current releases are finished."""
        return Vote.ABSTAIN

    def job_starving(self, job: Job) -> bool:
        """Report whether the job may preempt others."""
        return False

    # -- queues -------------------------------------------------------------------------------------------------

    def overused(self, queue: Queue) -> Reason | None:
        """Reject further allocations of the queue in this cycle."""

    def allocatable(self, queue: Queue, task_class: TaskClass, wanted: int) -> Allowance | None:
        """Return how many of `wanted` tasks of a class the queue may take now; None for all of them."""

    def preemptive(self, queue: Queue, tasks: Sequence[Task]) -> Reason | None:
        """Reject preemption by the queue for these tasks."""

    def queue_facts(self, queue: Queue) -> QueueFacts | None:
        """Return what the queue deserves and its share, for reports."""

    # -- victims ------------------------------------------------------------------------------------------------

    def preemptable(self, preemptor: Task, candidates: Sequence[Task]) -> Victims:
        """Return the candidates of the preemptor's own queue that may be evicted. None abstains, [] rejects all."""

    def reclaimable(self, preemptor: Task, candidates: Sequence[Task]) -> Victims:
        """Return the candidates of other queues that may be evicted for the preemptor."""

    def evictable(self, context: EvictionContext, candidates: Sequence[Task]) -> Victims:
        """Return the candidates that may be evicted for a whole job."""

    def justification(self, preemptor: Task, victim: Task) -> str:
        """Explain, for reports, why the preemptor may evict a victim that this plugin accepts; empty if the plugin only
        protects.
        """
        return ""

    def veto(self, preemptor: Task, victim: Task) -> str:
        """Explain, for reports, why this plugin protects a victim from the preemptor."""
        return ""

    def victim_tasks(self, candidates: Sequence[Task]) -> Sequence[Task]:
        """Return running tasks to evict without a preemptor."""
        return ()

    # -- nodes --------------------------------------------------------------------------------------------------

    def pre_predicate(self, task_class: TaskClass) -> Reason | None:
        """Reject tasks of the class on all nodes, before any node is evaluated."""

    def predicate(self, task_class: TaskClass, rows: Rows) -> Mask:
        """Return which of these nodes may take a task of the class."""
        raise TypeError(f"{type(self).__name__} does not answer this question")

    def predicate_reason(self, task_class: TaskClass) -> str:
        """Return the reason of `predicate`, phrased to follow a count: "3 node(s) ..."."""
        return f"node(s) were refused by {self.name}"

    def node_order(self, task_class: TaskClass, rows: Rows) -> Scores:
        """Return a score for each of these nodes; higher is better."""
        raise TypeError(f"{type(self).__name__} does not answer this question")

    def batch_node_order(self, task_class: TaskClass, rows: Rows, candidates: Mask) -> Scores:
        """Return a score for all nodes that may depend on the remaining candidates. Evaluated again after each
        placement.
        """
        raise TypeError(f"{type(self).__name__} does not answer this question")

    def node_map(self, task_class: TaskClass, rows: Rows) -> Scores:
        """Return a raw score per node, rounded down and then passed to `node_reduce`."""
        raise TypeError(f"{type(self).__name__} does not answer this question")

    def node_reduce(self, task_class: TaskClass, scores: Scores, candidates: Mask) -> Scores:
        """Normalise the raw scores of `node_map`."""
        return scores

    def best_node(self, task: Task, scores: Mapping[str, float]) -> str | None:
        """Return the node to use, among those with a score."""

    def node_filters(self) -> Sequence[NodeFilter]:
        """Return several rules instead of one `predicate`."""
        return ()

    def node_scorers(self) -> Sequence[NodeScorer]:
        """Return several rules instead of one `node_order`."""
        return ()

    # -- domains of nodes ---------------------------------------------------------------------------------------

    def hyper_node_order(self, sub_job: Job | SubJob, domains: Sequence[Domain]) -> Mapping[str, float]:
        """Return a score per domain in which the whole job or sub-job fits."""
        return {}

    def hyper_node_gradient_for_job(self, job: Job, root: Domain) -> Sequence[Sequence[Domain]] | None:
        """Return groups of domains inside `root` to try for the whole job, the best group first."""

    def hyper_node_gradient_for_sub_job(self, sub_job: SubJob, root: Domain) -> Sequence[Sequence[Domain]] | None:
        """Return groups of domains inside `root` to try for one sub-job."""

    # -- events -------------------------------------------------------------------------------------------------

    def on_allocate(self, event: Event) -> None:
        """Handle tasks that were placed or got nominated capacity, or whose eviction was undone."""

    def on_deallocate(self, event: Event) -> None:
        """Handle tasks that were evicted, or whose placement was undone."""

    def on_reserve(self, task: Task, node: str) -> None:
        """Handle capacity nominated to a waiting task; it does not count for its job and queue yet."""

    def on_release(self, task: Task, node: str) -> None:
        """Handle the end of a nomination: dropped, or about to be used by the task."""

    def bind_context(self, task: Task, context: dict[str, str]) -> None:
        """Add annotations to the binding of a task."""
