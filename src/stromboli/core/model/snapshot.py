"""A snapshot: everything a cycle reads, isolated from later changes of the cluster.

Facts (nodes, classes, tasks, queues, job specs) are shared with the cache, which replaces and never edits them.
Everything a cycle may change is copied: the node amounts, the status columns, the queue sums, and the counters of
waiting jobs.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from stromboli.core.model.devices.claim_allocator import ClaimState
from stromboli.core.model.devices.shared_devices import DeviceUsers
from stromboli.core.model.jobs.carryover import PastEviction, Reservation
from stromboli.core.model.jobs.job import Job
from stromboli.core.model.nodes.amounts import AmountLayout, Block
from stromboli.core.model.nodes.numa import Holdings
from stromboli.core.model.nodes.table import NodeTable
from stromboli.core.model.nodes.usage import UsageTable
from stromboli.core.model.queues.queue import Queue, QueueUsage
from stromboli.core.model.queues.quota import Quota
from stromboli.core.model.resources.resources import Amounts, ResourceAxis
from stromboli.core.model.tasks.disruption_budgets import Budgets
from stromboli.core.model.tasks.pod_terms import TermRegistry
from stromboli.core.model.topology.hypernodes import HyperNodeTree
from stromboli.core.model.usage.ledger import UsageLedger
from stromboli.core.model.volumes.allocator import VolumeState


@dataclass(slots=True)
class Snapshot:
    axis: ResourceAxis
    nodes: NodeTable
    layout: AmountLayout
    amounts: Block
    terms: TermRegistry
    #: Term number -> pods counted per node. Copied by the ledger when a cycle first changes one.
    tallies: dict[int, NDArray[np.int32]]
    #: Per task row: status code and node row (-1 for none).
    status: NDArray[np.int8]
    node_of: NDArray[np.int32]
    jobs: dict[str, Job]
    #: Keys of the jobs that a cycle may have to act on.
    waiting: tuple[str, ...]
    queues: Mapping[str, Queue]
    queue_usage: dict[str, QueueUsage]
    #: What pods without a queue hold on nodes, terminating ones excepted.
    unqueued: Amounts
    #: What the jobs of users hold, by queue and user, without those who hold nothing.
    held_by_users: Mapping[tuple[str, str], Amounts] = field(default_factory=dict)
    #: Quotas by namespace.
    quotas: Mapping[str, tuple[Quota, ...]] = field(default_factory=dict)
    #: Seconds since the epoch, by the caller's clock.
    now: float = 0.0
    #: Problems with objects.
    warnings: tuple[str, ...] = ()
    #: Keys of other jobs that have changed since the last snapshot.
    touched: tuple[str, ...] = ()
    #: Keys of the jobs of other schedulers.
    foreign: frozenset[str] = frozenset()
    #: The network as described by HyperNodes.
    hyper_nodes: HyperNodeTree = field(default_factory=lambda: HyperNodeTree(0))
    #: The network as described by node labels, by Topology name.
    topologies: Mapping[str, HyperNodeTree] = field(default_factory=dict)
    #: Recent evictions in favour of other jobs.
    eviction_history: tuple[PastEviction, ...] = ()
    #: Disruption budgets.
    budgets: Budgets = field(default_factory=Budgets)
    #: Assigned processors, by node; only of nodes that report them.
    processors: Mapping[str, Holdings] = field(default_factory=dict)
    #: Reserved capacity by job, from the last cycle.
    reservations: Mapping[str, Reservation] = field(default_factory=dict)
    #: Why jobs are not served in this cycle, by key: scheduling them took too much time.
    set_aside: Mapping[str, str] = field(default_factory=dict)
    #: Since when nodes have been over-committed, by name, in seconds since the epoch.
    overcommitted: Mapping[str, float] = field(default_factory=dict)
    #: Pods with assigned devices, by node.
    device_claims: DeviceUsers = field(default_factory=dict)
    #: Contents of the ConfigMaps that plugins read, by namespace and name.
    config_maps: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    #: Measured usage of nodes; None if unavailable.
    usage: UsageTable | None = None
    #: What queues and users have used so far; None if it is not accounted.
    past_usage: UsageLedger | None = None
    #: Available volumes and storage, and what is in use.
    volumes: VolumeState = field(default_factory=VolumeState)
    #: Available devices, and allocated claims.
    claims: ClaimState = field(default_factory=ClaimState)

    def network_of(self, job: Job) -> HyperNodeTree:
        """Return the tree that a job's topology constraints refer to."""
        return self.topologies.get(job.spec.network, self.hyper_nodes)

    @property
    def size(self) -> int:
        """Length of the resource axis when the snapshot was taken."""
        return self.layout.resources
