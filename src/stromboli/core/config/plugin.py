"""The base of every plugin: one method per extension point, overridden where the plugin has something to say.

A plugin is built once per configuration, from its arguments. `open` is called at the start of each cycle and
`close` at its end; what a plugin derives for a cycle it derives in `open`. The books belong to the ledger:
plugins read them through the session and keep no copy.

Refusals are values: a question that can be refused is answered with None (fine) or a `Reason`. Amounts of
work are asked for in numbers ("how many of these ten?"), and nodes as whole columns, so that a policy costs
the same for one task and for ten thousand.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from stromboli.core.config.arguments import Argument, Arguments
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

#: Anything that can be compared with its like: smaller comes first.
Key = Any
Victims = Sequence[Task] | None


class PluginFailure(RuntimeError):
    """A plugin failed where no single job can be blamed: the cycle cannot go on."""


class Allowance(NamedTuple):
    """How many tasks a queue may still take, and why not more."""

    number: int
    reason: Reason | None = None


class QueueFacts(NamedTuple):
    """What a policy of queues can tell people about one of them."""

    deserved: Sequence[int]
    share: float
    #: Whether its weight decides what it deserves; if not, its own promises do.
    by_weight: bool = True


@dataclass(frozen=True, slots=True)
class Domain:
    """A set of nodes that are close to each other; the whole cluster is one, too."""

    name: str
    tier: int
    #: True for the nodes inside; None for all nodes.
    inside: Mask | None = None
    #: Its place in the tree of hypernodes that it is part of, if it is part of one.
    place: int | None = None
    tree: HyperNodeTree | None = None
    #: Whether those who stand inside could be made to leave: then what is free there now does not matter.
    evictions_allowed_inside: bool = False
    #: Whether the job that looks at it was there before, or was promised room there.
    kept: bool = False


CLUSTER = Domain("<cluster-top-hypernode>", 1)


@dataclass(frozen=True, slots=True)
class EvictionContext:
    """Who asks for victims: the kind is `preempt` or `reclaim`, or the name of an action that asks guards alone:
    `consolidate`, or `shuffle` and `stalegang`, where the job is that of the victims.
    """

    kind: str
    job: Job
    domain: Domain | None = None


@dataclass(slots=True)
class Event:
    """What was just done to tasks of one job and class, or undone."""

    tasks: Sequence[Task]
    nodes: Sequence[str]


class Plugin:
    """A policy. Subclasses set `name`, declare `arguments`, and override the questions they answer."""

    name: ClassVar[str] = ""
    arguments: ClassVar[tuple[Argument, ...]] = ()
    #: How far the answers of `predicate` and `node_order` reach; see node_rules.
    locality: ClassVar[Locality] = Locality.ROW
    #: Pod labels and annotations that the plugin reads: tasks that differ in them are of different classes.
    reads_labels: tuple[str, ...] = ()
    reads_annotations: tuple[str, ...] = ()
    #: Over how many seconds measurements of nodes are averaged for this plugin; 0 for one that reads none.
    usage_window: float = 0.0
    #: ConfigMaps that the plugin reads, each as `namespace/name`.
    reads_config_maps: tuple[str, ...] = ()
    #: What whoever makes the plugin's pods ready to be bound has to know of its arguments.
    binding_options: Mapping[str, str] = {}
    #: Whether victims that this plugin objects to are safe whatever plugins in other tiers say. Its consent does not
    #: end the question.
    guards_victims: ClassVar[bool] = False
    #: Whether victims that this plugin objects to are safe from what plugins in other tiers agree on. Its consent
    #: counts in its own tier.
    vetoes_in_every_tier: ClassVar[bool] = False
    #: Whether `queue_order` of one queue may change when another queue gets something.
    queue_order_reaches_others: bool = False
    #: Whether keys of `queue_order` never get smaller as long as nobody loses anything.
    queue_order_only_grows: bool = False

    def __init__(self, given: Arguments, hierarchy: bool = False) -> None:
        self.given = given
        #: The switch `enableHierarchy`.
        self.hierarchy = hierarchy

    def unused_extension_points(self) -> frozenset[str]:
        """Questions that this class overrides but this instance, with these arguments, has nothing to say about."""
        return frozenset()

    def open(self, session: Session) -> None:
        """A cycle begins."""

    def close(self, session: Session) -> None:
        """The cycle ends; statuses may still be written."""

    # -- order --------------------------------------------------------------------------------------------------

    def job_order(self, job: Job) -> Key:
        """Which job of a queue is served first: the smallest key. It may depend on the job's own counters only."""

    def sub_job_order(self, sub_job: SubJob) -> Key:
        """Which sub-job of a job is served first."""

    def task_order(self, task: Task) -> Key:
        """Which task of a job is served first."""

    def queue_order(self, queue: Queue) -> Key:
        """Which queue is served first."""

    def victim_queue_order(self, queue: Queue, preemptor: Queue) -> Key:
        """Which queue loses first when `claimant` needs room."""

    def cluster_order(self, cluster: Any) -> Key:
        """Which cluster is preferred, where a queue extends over several."""

    # -- admission and readiness --------------------------------------------------------------------------------

    def job_valid(self, job: Job) -> Reason | None:
        """Whether the job can be scheduled at all; one that cannot leaves the cycle with this reason."""

    def job_enqueueable(self, job: Job) -> Vote | Reason:
        """Whether a pending job may be let in."""
        return Vote.ABSTAIN

    def job_enqueued(self, job: Job) -> None:
        """The job was let in."""

    def job_ready(self, job: Job) -> bool:
        """Whether what the job has is enough to start."""
        return True

    def tasks_until_ready(self, job: Job) -> int:
        """At least this many more tasks are needed before `job_ready` can turn true. Lets a gang be placed in
        one go.
        """
        return 1

    def sub_job_ready(self, sub_job: SubJob) -> bool:
        """Whether what the sub-job has is enough to start."""
        return True

    def job_pipelined(self, job: Job) -> Vote | Reason:
        """Whether the job will be able to start once what is being released is gone."""
        return Vote.ABSTAIN

    def sub_job_pipelined(self, sub_job: SubJob) -> Vote | Reason:
        """Whether the sub-job will be able to start once what is being released is gone."""
        return Vote.ABSTAIN

    def job_starving(self, job: Job) -> bool:
        """Whether the job may take room from others."""
        return False

    def target_job(self, jobs: Sequence[Job]) -> Job | None:
        """The job for which room should be kept."""

    def reserved_nodes(self) -> None:
        """Choose the nodes to keep free for the target job."""

    # -- queues -------------------------------------------------------------------------------------------------

    def overused(self, queue: Queue) -> Reason | None:
        """Whether the queue has had all it may have: it is then not served any more in this cycle."""

    def allocatable(self, queue: Queue, task_class: TaskClass, wanted: int) -> Allowance | None:
        """How many of `wanted` tasks of a class the queue may take now; None for all of them."""

    def preemptive(self, queue: Queue, tasks: Sequence[Task]) -> Reason | None:
        """Whether the queue may take room from others for these tasks."""

    def queue_facts(self, queue: Queue) -> QueueFacts | None:
        """What the queue deserves and how much of it it has, for reports."""

    # -- victims ------------------------------------------------------------------------------------------------

    def preemptable(self, preemptor: Task, candidates: Sequence[Task]) -> Victims:
        """Which candidates of the claimant's own queue may be evicted for it. None abstains, [] objects to all."""

    def reclaimable(self, preemptor: Task, candidates: Sequence[Task]) -> Victims:
        """Which candidates of other queues may be evicted for the claimant."""

    def evictable(self, context: EvictionContext, candidates: Sequence[Task]) -> Victims:
        """Which candidates may be evicted for a whole job."""

    def justification(self, preemptor: Task, victim: Task) -> str:
        """By what right the claimant may have the room of a victim that this plugin lets go, in words for reports;
        empty where the plugin only protects.
        """
        return ""

    def veto(self, preemptor: Task, victim: Task) -> str:
        """Why this plugin does not let a victim go for the claimant, in words for reports."""
        return ""

    def victim_tasks(self, candidates: Sequence[Task]) -> Sequence[Task]:
        """Which running tasks should be moved, for nobody in particular."""
        return ()

    # -- nodes --------------------------------------------------------------------------------------------------

    def pre_predicate(self, task_class: TaskClass) -> Reason | None:
        """Whether tasks of the class can be placed anywhere at all. Asked before any node is looked at."""

    def predicate(self, task_class: TaskClass, rows: Rows) -> Mask:
        """Which of these nodes may take a task of the class."""
        raise TypeError(f"{type(self).__name__} does not answer this question")

    def predicate_reason(self, task_class: TaskClass) -> str:
        """Why `predicate` refuses nodes, as it should read after a count: "3 node(s) ..."."""
        return f"node(s) were refused by {self.name}"

    def node_order(self, task_class: TaskClass, rows: Rows) -> Vector:
        """A score for each of these nodes; higher is better."""
        raise TypeError(f"{type(self).__name__} does not answer this question")

    def batch_node_order(self, task_class: TaskClass, rows: Rows, candidates: Mask) -> Vector:
        """A score for all nodes that may depend on which are left to choose from. Asked again after each
        placement.
        """
        raise TypeError(f"{type(self).__name__} does not answer this question")

    def node_map(self, task_class: TaskClass, rows: Rows) -> Vector:
        """A raw score per node, rounded down and then handed to `node_reduce`."""
        raise TypeError(f"{type(self).__name__} does not answer this question")

    def node_reduce(self, task_class: TaskClass, scores: Vector, candidates: Mask) -> Vector:
        """The raw scores of `node_map` brought to a common scale."""
        return scores

    def best_node(self, task: Task, scores: Mapping[str, float]) -> str | None:
        """The node to take, among those with a score."""

    def node_filters(self) -> Sequence[NodeFilter]:
        """Several rules instead of one `predicate`."""
        return ()

    def node_scorers(self) -> Sequence[NodeScorer]:
        """Several rules instead of one `node_order`."""
        return ()

    # -- domains of nodes ---------------------------------------------------------------------------------------

    def hyper_node_order(self, sub_job: Job | SubJob, domains: Sequence[Domain]) -> Mapping[str, float]:
        """A score per domain in which the whole job or sub-job was found to fit."""
        return {}

    def hyper_node_gradient_for_job(self, job: Job, root: Domain) -> Sequence[Sequence[Domain]] | None:
        """Groups of domains inside `root` to try for the whole job, the best group first."""

    def hyper_node_gradient_for_sub_job(self, sub_job: SubJob, root: Domain) -> Sequence[Sequence[Domain]] | None:
        """Groups of domains inside `root` to try for one sub-job."""

    # -- what-if ------------------------------------------------------------------------------------------------

    def simulate_add_task(self, state: dict[str, Any], task: Task, node: str) -> Reason | None:
        """Suppose the task stood on the node. `state` is the plugin's own, for this what-if alone."""

    def simulate_remove_task(self, state: dict[str, Any], task: Task, node: str) -> Reason | None:
        """Suppose the task were gone from the node."""

    def simulate_predicate(self, state: dict[str, Any], task: Task, node: str) -> Reason | None:
        """Whether, as things are supposed to be, the node may take the task."""

    def simulate_allocatable(self, state: dict[str, Any], queue: Queue, task: Task) -> Reason | None:
        """Whether, as things are supposed to be, the queue may take the task."""

    # -- what happened ------------------------------------------------------------------------------------------

    def on_allocate(self, event: Event) -> None:
        """Tasks were given a node or a held room, or an eviction was undone."""

    def on_deallocate(self, event: Event) -> None:
        """Tasks were evicted, or a placement was undone."""

    def on_reserve(self, task: Task, node: str) -> None:
        """Room on a node is kept for a task that was promised it and waits. Its job and queue do not have it yet."""

    def on_release(self, task: Task, node: str) -> None:
        """That room is given up, or is the task's to take now."""

    def bind_context(self, task: Task, context: dict[str, str]) -> None:
        """Add annotations that travel with the binding of a task."""
