"""The objects and decisions that the accounting is calculated from."""

from __future__ import annotations

from dataclasses import dataclass

from stromboli.cluster.objects.claims.resource_claims import ResourceClaims
from stromboli.cluster.objects.layout_version import LayoutVersion
from stromboli.cluster.objects.nodes import Nodes
from stromboli.cluster.objects.pods.decoder import PodDecoder
from stromboli.cluster.objects.priority_classes import PriorityClasses
from stromboli.cluster.objects.queues import Queues
from stromboli.cluster.objects.storage.volumes import PersistentVolumes
from stromboli.cluster.state.assumptions import Assumptions
from stromboli.cluster.state.changes import ChangedObjects
from stromboli.cluster.state.groups import Groups
from stromboli.cluster.state.pods import Pods


@dataclass(frozen=True, slots=True)
class AccountingSources:
    layout: LayoutVersion
    nodes: Nodes
    queues: Queues
    priority_classes: PriorityClasses
    pods: Pods
    groups: Groups
    decoder: PodDecoder
    volumes: PersistentVolumes
    claims: ResourceClaims
    assumptions: Assumptions
    changes: ChangedObjects
