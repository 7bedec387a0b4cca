"""The cluster as the cache holds it: objects arrive in any order, snapshots are taken.

Objects are stored as received, and beside them the decisions that they do not show yet. The state that the model needs
is calculated from both when a snapshot is taken.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from itertools import chain

from stromboli import kube
from stromboli.cluster.ingest.kinds import KINDS, Handler
from stromboli.cluster.objects.bind_requests import BindRequests
from stromboli.cluster.objects.claims.resource_claims import ResourceClaims
from stromboli.cluster.objects.config_maps import ConfigMaps
from stromboli.cluster.objects.disruption_budgets import DisruptionBudgets
from stromboli.cluster.objects.layout_version import LayoutVersion
from stromboli.cluster.objects.namespaces import NamespaceLabels
from stromboli.cluster.objects.node_metrics import NodeUsage
from stromboli.cluster.objects.node_shards import NodeShards
from stromboli.cluster.objects.nodes import Nodes
from stromboli.cluster.objects.pod_groups.pod_groups import register_resources
from stromboli.cluster.objects.pod_groups.previous_domains import PreviousDomains
from stromboli.cluster.objects.pods.constraints import asks_about_namespaces
from stromboli.cluster.objects.pods.decoder import PodDecoder
from stromboli.cluster.objects.pods.device_requests import backends_in
from stromboli.cluster.objects.priority_classes import PriorityClasses
from stromboli.cluster.objects.queues import Queues
from stromboli.cluster.objects.resource_quotas import ResourceQuotas
from stromboli.cluster.objects.storage.volumes import PersistentVolumes
from stromboli.cluster.objects.topology.hypernodes import HyperNodes
from stromboli.cluster.objects.topology.topologies import Topologies
from stromboli.cluster.snapshot import take_snapshot
from stromboli.cluster.state.accounting import Accounting
from stromboli.cluster.state.assumptions import Assumptions
from stromboli.cluster.state.changes import ChangedObjects
from stromboli.cluster.state.cluster_state import ClusterState
from stromboli.cluster.state.groups import Groups
from stromboli.cluster.state.numa_allocations import NumaAllocations
from stromboli.cluster.state.pod_events import PodEvents
from stromboli.cluster.state.pods import JobOwners, Pods
from stromboli.cluster.state.sources import AccountingSources
from stromboli.core.model.jobs.job import Counts, role_ready, surely_ready
from stromboli.core.model.nodes.numa import Holdings
from stromboli.core.model.nodes.shards import ShardChoice
from stromboli.core.model.nodes.table import NodeTable
from stromboli.core.model.resources.resources import ResourceAxis
from stromboli.core.model.snapshot import Snapshot
from stromboli.core.model.tasks.placement import Placement
from stromboli.core.model.tasks.task import ENDING_STATUSES
from stromboli.core.model.usage.ledger import UsageLedger
from stromboli.kube.objects.meta import TopLevel
from stromboli.kube.objects.topology import Numatopology
from stromboli.workloads.queues import DEFAULT_QUEUE

SCHEDULER_NAMES = ("stromboli", "volcano")
#: Numbers of unused classes, terms, resources and host ports that are tolerated.
SLACK = (5_000, 500, 32, 5_000)


class Cluster:
    """The parts of the cache, wired together. `apply` and `remove` pass objects to the part that handles their kind."""

    shards: NodeShards
    requests: BindRequests
    usage: NodeUsage
    pods: Pods
    groups: Groups
    volumes: PersistentVolumes
    claims: ResourceClaims
    nodes: Nodes
    queues: Queues
    priority_classes: PriorityClasses
    quotas: ResourceQuotas
    config_maps: ConfigMaps
    budgets: DisruptionBudgets
    numa: NumaAllocations
    hyper_nodes: HyperNodes
    topologies: Topologies
    pod_events: PodEvents

    def __init__(
        self,
        scheduler_names: Iterable[str] = SCHEDULER_NAMES,
        class_labels: Sequence[str] = (),
        class_annotations: Sequence[str] = (),
        *,
        seed: int = 0,
        default_queue: str = DEFAULT_QUEUE,
        node_selector: Mapping[str, Collection[str]] | None = None,
        shard: ShardChoice | None = None,
    ) -> None:
        self.seed = seed
        names = frozenset(scheduler_names)
        self.default_queue = default_queue
        self.node_selector = node_selector or {}
        #: What queues and users have used so far; None if it is not accounted.
        self.past_usage: UsageLedger | None = None
        self.shards = NodeShards(shard)
        self.changes = ChangedObjects()
        self.requests = BindRequests()
        self.usage = NodeUsage()
        self.pods = Pods(names, JobOwners(names) if shard is not None else None)
        self.groups = Groups(self.changes, self._observe_group, self._forget_group)
        placements: dict[str, Placement] = {}
        self.volumes = PersistentVolumes(lambda node: self.nodes.labels_of(node), placements)
        self.claims = ResourceClaims(self._is_leaving, placements)
        self.assumptions = Assumptions(
            placements, self.pods, self.requests, self.volumes, self.claims, self.changes
        )  # fmt: skip
        self._begin(class_labels, class_annotations)

    def _begin(self, class_labels: Sequence[str], class_annotations: Sequence[str]) -> None:
        """Start with empty state. Decisions, and the objects that they depend on, stay."""
        self.pods.clear()
        self.groups.clear()
        self.changes.clear()
        self.decoder = PodDecoder(class_labels, class_annotations)
        self.layout = LayoutVersion()
        self.nodes = Nodes(self.axis, self.layout, self.node_selector, self.shards)
        self.queues = Queues(self.axis, self.layout)
        self.priority_classes = PriorityClasses(self.layout)
        self.quotas = ResourceQuotas()
        self.config_maps = ConfigMaps()
        self.budgets = DisruptionBudgets()
        self.numa = NumaAllocations()
        self.hyper_nodes = HyperNodes()
        self.topologies = Topologies()
        self.previous_domains = PreviousDomains()
        self.changes.listeners = (self.budgets.touch, self.numa.touch)
        self.pod_events = PodEvents(
            self.pods, self.decoder, self.requests, self.volumes, self.claims, self.assumptions, self.changes
        )
        sources = AccountingSources(
            self.layout, self.nodes, self.queues, self.priority_classes, self.pods, self.groups, self.decoder,
            self.volumes, self.claims, self.assumptions, self.changes,
        )  # fmt: skip
        self.accounting = Accounting(sources, seed=self.seed, default_queue=self.default_queue)
        self._handlers: dict[type[TopLevel], Handler] = {kind.resource.type: kind.handler(self) for kind in KINDS}
        self._sizes = self.decoder.sizes
        #: The versions for which the devices of nodes were counted.
        self._offered_for: tuple[int, ...] = ()

    @property
    def axis(self) -> ResourceAxis:
        return self.decoder.axis

    @property
    def namespaces(self) -> NamespaceLabels:
        return self.decoder.namespaces

    # -- events -------------------------------------------------------------------------------------------------

    def apply(self, entry: TopLevel) -> None:
        """Add or update an object. Kinds without a handler are ignored."""
        handler = self._handlers.get(type(entry))
        if handler is not None:
            handler.apply(entry)

    def remove(self, entry: TopLevel) -> None:
        handler = self._handlers.get(type(entry))
        if handler is not None:
            handler.remove(entry)

    def objects(self) -> list[TopLevel]:
        """All objects as received, pods last."""
        others = [handler for kind, handler in self._handlers.items() if kind is not kube.Pod]
        return [*(entry for handler in others for entry in handler.objects()), *self.pods.all()]

    def apply_numa_topology(self, wire: Numatopology) -> None:
        self.nodes.set_processors(wire.key, self.numa.apply(wire))

    def remove_numa_topology(self, wire: Numatopology) -> None:
        self.numa.remove(wire)
        self.nodes.set_processors(wire.key, None)

    def _observe_group(self, group: kube.PodGroup, is_changed: bool) -> None:
        self.previous_domains.apply(group)
        self.topologies.follow(group)
        if is_changed:  # the axis must have every resource before columns are created
            register_resources(group, self.axis)

    def _forget_group(self, key: str) -> None:
        self.previous_domains.remove(key)
        self.topologies.forget(key)

    def _is_leaving(self, uid: str) -> bool:
        """Report whether a pod that uses a claim is terminating; an unknown pod is not."""
        pod = self.pods.find(uid)
        return pod is not None and self.assumptions.status_of(pod) in ENDING_STATUSES

    def touch(self, key: str) -> None:
        """Include a job in the next cycle, although it has not changed."""
        if key in self.groups or key in self.pods.members:
            self.changes.jobs.add(key)

    # -- state --------------------------------------------------------------------------------------------------

    def snapshot(self, now: float = 0.0) -> Snapshot:
        """Everything that a cycle reads, isolated from later changes."""
        return take_snapshot(self, now)

    def cluster_state(self) -> ClusterState:
        """The calculated state, brought up to date."""
        if self.namespaces.is_outdated:
            self._decode_namespace_selectors()
        self.nodes.reshard()
        self._offer_devices()
        if self.axis.promoted:
            classifier = self.decoder.classifier
            self._begin_again(classifier.labels, classifier.annotations)
        self.changes.pods |= self.volumes.take_changed() | self.claims.take_changed()
        return self.accounting.cluster_state()

    def _offer_devices(self) -> None:
        """Count devices of classes with an extended resource as resources of their nodes."""
        if self.claims.has_new_resources:
            self.claims.has_new_resources = False
            for record in self.pods.records.values():
                self.claims.enter(record.pod)
        offers = self.claims.offers
        if not offers.provided and not offers.requested(self.axis):
            return
        current = offers.revision, self.layout.generation, self.layout.revision, len(self.axis)
        if current == self._offered_for:
            return
        table = NodeTable([entry.facts for entry in self.nodes.entries.values()], self.seed)
        self.nodes.set_devices(offers.amounts(self.axis, table))
        names = offers.requested(self.axis)
        offers.provided = {name: self.nodes.provided(self.axis.dimension(name)) for name in names}
        self._offered_for = offers.revision, self.layout.generation, self.layout.revision, len(self.axis)

    def _decode_namespace_selectors(self) -> None:
        """Decode the pods again that select by namespace labels."""
        for uid, record in self.pods.records.items():
            if asks_about_namespaces(record.pod):
                self.decoder.decode(record)
                self.changes.pods.add(uid)
        self.namespaces.is_outdated = False

    def cpu_allocations(self) -> Mapping[str, Holdings]:
        """Allocated CPUs by node, of nodes with a Numatopology."""
        return self.numa.holdings(self.pods.records, self.assumptions)

    def object_warnings(self) -> tuple[str, ...]:
        """Return the warnings about pods, groups, nodes, queues, quotas and shards."""
        parts = (self.accounting, self.nodes, self.quotas, self.queues)
        own = [warning for part in parts for warning in part.warnings()]
        return tuple(sorted((*own, *self.shards.warnings(self.nodes.entries))))

    def warnings(self) -> tuple[str, ...]:
        parts = (self.usage, self.numa, self.hyper_nodes, self.topologies, self.volumes, self.claims)
        return (*self.object_warnings(), *(warning for part in parts for warning in part.warnings()))

    def has_minimum_placed(self, key: str) -> bool:
        """Report whether a job has its minimum of pods on nodes or being bound, or does not exist."""
        return self._has_minimum(key, role_ready)

    def has_minimum_bound(self, key: str) -> bool:
        """Report whether a job has its minimum of pods on nodes, or does not exist: binds in progress may fail."""
        return self._has_minimum(key, surely_ready)

    def _has_minimum(self, key: str, count: Callable[[Counts], int]) -> bool:
        job = self.cluster_state().jobs.get(key)
        return job is None or job.has_minimum(count)

    @property
    def external_changes(self) -> tuple[int, ...]:
        """Changes when another component places a pod, or when nodes change: earlier decisions may not fit any more."""
        return self.assumptions.external_placements, self.layout.generation, self.layout.revision

    def shortages(self, uid: str) -> list[str]:
        """Overcommitted resources of a pod's node, as far as the pod requests them."""
        state, counted = self.cluster_state(), self.accounting.counted.get(uid)
        if counted is None or counted.row < 0:
            return []
        idle = state.amounts[: state.layout.resources, counted.row]
        return [self.axis.names[d] for d, amount in counted.task.task_class.request if amount and idle[d] < 0]

    # -- rebuilding ---------------------------------------------------------------------------------------------

    def use_class_keys(self, class_labels: Sequence[str], class_annotations: Sequence[str]) -> None:
        """Distinguish classes by these labels and annotations of pods: the plugins have changed."""
        if backends_in(class_annotations) != self.decoder.backends:
            self._begin_again(class_labels, class_annotations)
        elif self.decoder.use_class_keys(class_labels, class_annotations):
            for record in self.pods.records.values():
                self.decoder.decode(record)
            self.rebuild()

    def rebuild(self) -> None:
        """Calculate everything from the objects for the next snapshot."""
        self.accounting.invalidate()

    @property
    def needs_compaction(self) -> bool:
        """Report whether much more is known than at the last start: unused names and terms accumulate."""
        return self._has_unused_names() or any(
            now > 2 * then + slack for now, then, slack in zip(self.decoder.sizes, self._sizes, SLACK, strict=True)
        )

    def _has_unused_names(self) -> bool:
        """Report whether the names that share a dimension are all gone: the columns of others are free again."""
        shared = self.axis.unoffered
        if shared is None:
            return False
        jobs, counted = self.accounting.cluster_state().jobs.values(), self.accounting.counted.values()
        classes = {each.task.task_class for each in counted}
        requests = chain((each.request for each in classes), (job.min_resources or () for job in jobs))
        return not any(dimension == shared for request in requests for dimension, _ in request)

    def compact(self) -> None:
        """Start again with the present objects, so that everything unused is dropped."""
        classifier = self.decoder.classifier
        self._begin_again(classifier.labels, classifier.annotations)

    def _begin_again(self, class_labels: Sequence[str], class_annotations: Sequence[str]) -> None:
        promoted, self.axis.promoted = self.axis.promoted, set()
        self.cluster_state()
        objects, touched = self.objects(), self.accounting.touched
        self._begin(class_labels, class_annotations)
        for name in sorted(promoted):  # before a request can name them again
            self.axis.dimension(name)
        for entry in objects:
            self.apply(entry)
        self.cluster_state()
        self._sizes = self.decoder.sizes
        self.accounting.touched = touched
        self.assumptions.external_placements += 1

    def forget_classes(self) -> int:
        """Drop the classes that no pod uses; returns how many."""
        self.cluster_state().table.answers.clear()  # by the constraints of pods, some of which are gone
        in_use = {counted.task.task_class.number for counted in self.accounting.counted.values()}
        forgotten = self.decoder.forget_classes(in_use)
        if forgotten:
            self.claims.forget_searches()
        return forgotten
