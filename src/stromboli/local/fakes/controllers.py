"""All fakes of one process, on shared watches."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING

from stromboli.kube.objects.catalogue import CLAIMS, DISRUPTION_BUDGETS, NODES, REPLICA_SETS
from stromboli.kube.watch.informer import Informer
from stromboli.local.fakes.disruption import DisruptionController
from stromboli.local.fakes.garbage_collector import GarbageCollector
from stromboli.local.fakes.kubelet.commands import PODS_WITH_COMMANDS
from stromboli.local.fakes.kubelet.kubelets import Kubelets
from stromboli.local.fakes.kubelet.node_lifecycle import EVICTION_DELAY, HEARTBEAT, NodeLifecycle
from stromboli.local.fakes.missing_schedulers import MissingSchedulers
from stromboli.local.fakes.storage.ephemeral_volumes import EphemeralVolumes
from stromboli.local.fakes.storage.resource_claims import ClaimController
from stromboli.local.fakes.storage.storage_protection import StorageProtection
from stromboli.local.fakes.storage.volumes import VolumeController
from stromboli.local.fakes.workloads.deployments import DeploymentController
from stromboli.local.fakes.workloads.jobs import JobController
from stromboli.local.fakes.workloads.owned_pods import OwnedPods
from stromboli.local.fakes.workloads.replica_sets import ReplicaSetController
from stromboli.local.fakes.workloads.stateful_sets import StatefulSetController

if TYPE_CHECKING:
    from stromboli.kube.client.client import Client


class FakeControllers:
    """All that a bare API server lacks to be a cluster. `heartbeat` and `eviction_delay` are those of its nodes, and
    `second` is the length of a second in commands. If the names of all schedulers are given, pods of others are
    reported.
    """

    def __init__(
        self,
        client: Client,
        *,
        heartbeat: float = HEARTBEAT,
        eviction_delay: float = EVICTION_DELAY,
        second: float = 1.0,
        scheduler_names: Sequence[str] = (),
    ) -> None:
        nodes, pods = Informer(client, NODES), Informer(client, PODS_WITH_COMMANDS)
        budgets, claims = Informer(client, DISRUPTION_BUDGETS), Informer(client, CLAIMS)
        replica_sets, owned_pods = Informer(client, REPLICA_SETS), OwnedPods(pods)
        self.kubelets = Kubelets(client, nodes, pods, second=second)
        self.node_life = NodeLifecycle(client, nodes, pods, heartbeat=heartbeat, eviction_delay=eviction_delay)
        self.garbage = GarbageCollector(client)
        self.disruption = DisruptionController(client, budgets, pods)
        self.volumes = VolumeController(client, claims)
        self.storage_protection = StorageProtection(client, pods, claims, self.volumes.volumes)
        self.ephemeral_volumes = EphemeralVolumes(client, pods, claims)
        self.claims = ClaimController(client, pods)
        self.jobs = JobController(client, owned_pods)
        self.replica_sets = ReplicaSetController(client, replica_sets, owned_pods)
        self.deployments = DeploymentController(client, replica_sets, owned_pods)
        self.stateful_sets = StatefulSetController(client, owned_pods)
        self.missing_schedulers = MissingSchedulers(client, pods, scheduler_names)
        self._watches = (nodes, pods, budgets, claims, replica_sets)

    async def run(self) -> None:
        """Run until cancelled."""
        parts = (
            *self._watches, self.kubelets, self.node_life, self.garbage, self.disruption, self.volumes,
            self.storage_protection, self.ephemeral_volumes, self.claims, self.jobs, self.replica_sets,
            self.deployments, self.stateful_sets, self.missing_schedulers,
        )  # fmt: skip
        async with asyncio.TaskGroup() as tasks:
            for part in parts:
                tasks.create_task(part.run())
