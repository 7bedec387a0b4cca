"""A snapshot: everything a cycle sees, isolated from whatever happens in the cluster afterwards.

Facts (nodes, classes, tasks, queues, job specs) are shared with the cache, which replaces and never edits them.
Everything a cycle may change is copied: the node books, the status columns, the queue sums, and the counters of
waiting jobs.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from stromboli.core.model.devices.claim_allocator import ClaimState
from stromboli.core.model.devices.shared_devices import DeviceClaims
from stromboli.core.model.jobs.eviction_history import PastEviction
from stromboli.core.model.jobs.job import Job
from stromboli.core.model.jobs.reservation import Reservation
from stromboli.core.model.nodes.amounts import AmountLayout, Block
from stromboli.core.model.nodes.numa import Holdings
from stromboli.core.model.nodes.table import NodeTable
from stromboli.core.model.nodes.usage import UsageTable
from stromboli.core.model.queues.queue import Queue, QueueUsage
from stromboli.core.model.queues.quota import Quota
from stromboli.core.model.resources.resources import ResourceAxis
from stromboli.core.model.tasks.disruption_budgets import Budgets
from stromboli.core.model.tasks.pod_terms import TermRegistry
from stromboli.core.model.topology.hypernodes import HyperNodeTree
from stromboli.core.model.volumes.allocator import VolumeState


@dataclass(slots=True)
class Snapshot:
    axis: ResourceAxis
    nodes: NodeTable
    layout: AmountLayout
    books: Block
    terms: TermRegistry
    #: Term number -> pods counted per node. Copied by the ledger when a cycle first changes one.
    tallies: dict[int, NDArray[np.int32]]
    #: Per task row: status code and node row (-1 for none).
    status: NDArray[np.int8]
    node_of: NDArray[np.int32]
    jobs: dict[str, Job]
    #: Keys of the jobs that a cycle may have to do something about.
    waiting: tuple[str, ...]
    queues: Mapping[str, Queue]
    queue_usage: dict[str, QueueUsage]
    #: By namespace, what its pods may ask for together.
    quotas: Mapping[str, tuple[Quota, ...]] = field(default_factory=dict)
    #: Seconds since the epoch, as the caller's clock says.
    now: float = 0.0
    #: What is wrong with objects, in words.
    warnings: tuple[str, ...] = ()
    #: Keys of other jobs of which something has changed since the last snapshot.
    touched: tuple[str, ...] = ()
    #: Keys of the jobs that other schedulers decide about.
    foreign: frozenset[str] = frozenset()
    #: How nodes lie in the network.
    hyper_nodes: HyperNodeTree = field(default_factory=lambda: HyperNodeTree(0))
    #: By the name of a Topology, how nodes lie by their labels.
    topologies: Mapping[str, HyperNodeTree] = field(default_factory=dict)
    #: Who had to make room for whom lately.
    eviction_history: tuple[PastEviction, ...] = ()
    #: How many pods of which sets may be evicted.
    budgets: Budgets = field(default_factory=Budgets)
    #: By node, who has which of its processors; of nodes that say something about them.
    processors: Mapping[str, Holdings] = field(default_factory=dict)
    #: By job, the room that was promised to it in the last cycle.
    reservations: Mapping[str, Reservation] = field(default_factory=dict)
    #: By node, the pods on it that say they were given devices.
    device_claims: DeviceClaims = field(default_factory=dict)
    #: By namespace and name, the texts of ConfigMaps that plugins read.
    config_maps: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    #: What nodes really use; None when nobody has measured it.
    usage: UsageTable | None = None
    #: Volumes and storage to give out, and what is in use.
    volumes: VolumeState = field(default_factory=VolumeState)
    #: Devices to be claimed, and what claims have got.
    claims: ClaimState = field(default_factory=ClaimState)

    def network_of(self, job: Job) -> HyperNodeTree:
        """The tree that a job's wishes speak of."""
        return self.topologies.get(job.spec.network, self.hyper_nodes)

    @property
    def size(self) -> int:
        """The length of the resource axis when the snapshot was taken."""
        return self.layout.resources
