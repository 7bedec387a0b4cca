"""From a committed statement to bind requests: their names, owners, labels and parts.

A name is the group's (or the pod's), the term of the leader and a number that this process counts up, so that the same
decision has the same name however often it is written. A decision that does not fit into one object comes in parts,
which share the name of the decision.
"""

from __future__ import annotations

import hashlib
import itertools
import re
from collections.abc import Callable, Iterator, Sequence

import msgspec

from stromboli.binding.orders import BindOrder, Commit
from stromboli.cluster.objects.pod_groups.native_pod_groups import NativeGroup
from stromboli.cluster.state.cluster import Cluster
from stromboli.core.config.bind_options import BindOptions
from stromboli.core.model.devices.gpu_fractions import GPU, RECEIVED, WHOLE, received_in
from stromboli.kube.objects.bind_requests import (
    MAX_MEMBERS,
    POD_GROUP_LABEL,
    POD_NAME_LABEL,
    REGULAR,
    SCHEDULER_LABEL,
    SELECTED_NODE_LABEL,
    BindRequest,
    BindRequestSpec,
    BoundPod,
    ChosenVolume,
    ClaimAllocation,
    ReceivedGPU,
)
from stromboli.kube.objects.catalogue import EARLY_NATIVE_POD_GROUPS, NATIVE_POD_GROUPS, POD_GROUPS, PODS
from stromboli.kube.objects.meta import ObjectMeta, OwnerReference

#: The most that the members of one object may take, in bytes: the server takes objects of 1.5 MiB, with their status.
MAX_BYTES = 800_000
#: The longest beginning of a name; behind it comes what tells requests apart.
_MAX_NAME_LENGTH = 200
_NAME = re.compile(r"[a-z0-9]([-a-z0-9.]*[a-z0-9])?")
_LABEL = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")


class BindRequestBuilder:
    """`scheduler` is who decides; `epoch` tells the term of the leader, `options` how long a binder may try."""

    def __init__(
        self,
        cluster: Cluster,
        scheduler: str,
        *,
        epoch: Callable[[], int],
        options: Callable[[], BindOptions],
    ) -> None:
        self._cluster = cluster
        self._scheduler = scheduler
        self._epoch = epoch
        self._options = options
        self._numbers = itertools.count(1)

    def requests_of(self, commit: Commit, members: Sequence[BindOrder]) -> list[BindRequest]:
        """The objects that say that these members of a commit are to be bound; almost always it is one."""
        parts = list(_parts([self._member(order) for order in members]))
        epoch, needed, requests = self._epoch(), min(commit.needed, len(members)), []
        counter = f"{epoch}-{next(self._numbers)}"
        for number, pods in enumerate(parts, start=1):
            suffix = f"{counter}-{number}" if len(parts) > 1 else counter
            spec = self._spec(commit, pods, epoch, min(needed, len(pods)))
            spec.part, spec.parts = number, len(parts)
            requests.append(BindRequest(metadata=self._metadata(commit, members[0], pods, suffix), spec=spec))
            needed -= spec.min_member
        return requests

    def renamed(self, request: BindRequest) -> BindRequest:
        """The same decision by the next name: somebody else's request has the one that it had."""
        base = _base(request.spec.pod_group or request.spec.pods[0].pod_name)
        name = f"{base}-{request.spec.epoch}-{next(self._numbers)}"
        return msgspec.structs.replace(request, metadata=msgspec.structs.replace(request.metadata, name=name))

    def _spec(self, commit: Commit, pods: list[BoundPod], epoch: int, needed: int) -> BindRequestSpec:
        group, options = self._cluster.groups.get(commit.job), self._options()
        return BindRequestSpec(
            pod_group=group.metadata.name if group else "",
            pod_group_uid=group.metadata.uid if group else "",
            scheduler=self._scheduler,
            epoch=epoch,
            deadline_seconds=options.deadline_seconds + _volume_timeout(pods),
            backoff_limit=options.backoff_limit,
            min_member=needed,
            decision=commit.name,
            size=len(pods),
            pods=pods,
        )

    def _metadata(self, commit: Commit, first: BindOrder, pods: Sequence[BoundPod], suffix: str) -> ObjectMeta:
        group = self._cluster.groups.get(commit.job)
        return ObjectMeta(
            name=f"{_base(group.metadata.name if group else first.name)}-{suffix}",
            namespace=first.namespace,
            labels=self._labels(group.metadata.name if group else "", pods),
            owner_references=self._owners(commit, first),
        )

    def _owners(self, commit: Commit, first: BindOrder) -> list[OwnerReference] | None:
        """With the pod, or the group, its request goes."""
        if len(commit.members) == 1:
            return [OwnerReference(PODS.api_version, PODS.kind, first.name, first.uid)]
        group = self._cluster.groups.get(commit.job)
        if group is None:
            return None
        version = POD_GROUPS.api_version
        if isinstance(group, NativeGroup):
            is_early = group.origin.api_version == EARLY_NATIVE_POD_GROUPS.api_version
            version = (EARLY_NATIVE_POD_GROUPS if is_early else NATIVE_POD_GROUPS).api_version
        return [OwnerReference(version, POD_GROUPS.kind, group.metadata.name, group.metadata.uid)]

    def _labels(self, group: str, pods: Sequence[BoundPod]) -> dict[str, str]:
        labels = {POD_GROUP_LABEL: group, SCHEDULER_LABEL: self._scheduler, **_shared(pods)}
        if len(pods) == 1:
            labels |= {POD_NAME_LABEL: pods[0].pod_name, SELECTED_NODE_LABEL: pods[0].selected_node}
        return {key: value for key, value in labels.items() if _LABEL.fullmatch(value)}

    def _member(self, order: BindOrder) -> BoundPod:
        volumes = order.volumes
        member = BoundPod(
            pod_name=order.name,
            pod_uid=order.uid,
            selected_node=order.node,
            annotations=dict(order.annotations),
            labels=dict(order.labels),
        )
        if volumes is not None:
            member.volumes = [ChosenVolume(choice.claim, choice.volume) for choice in volumes.choices]
            member.volume_seconds = max(int(volumes.patience), 1)
        member.resource_claim_allocations = [
            ClaimAllocation(write.name, dict(write.allocation)) for write in order.claims if write.allocation
        ]
        self._set_gpus(member, order)
        return member

    def _set_gpus(self, member: BoundPod, order: BindOrder) -> None:
        """Shares of GPUs, or whole ones, as the plugin that gave them out says."""
        member.received_resource_type = order.annotations.get(RECEIVED, "")
        received = received_in(order.annotations)
        if received is not None:
            member.selected_gpu_groups = list(received.groups)
            member.received_gpu = ReceivedGPU(len(received.groups), received.portion)
        elif member.received_resource_type == REGULAR:
            member.received_gpu = ReceivedGPU(self._whole_gpus(order.uid))

    def _whole_gpus(self, uid: str) -> int:
        counted, dimension = self._cluster.accounting.counted.get(uid), self._cluster.axis.find(GPU)
        request = dict(counted.task.task_class.request) if counted is not None else {}
        return request.get(dimension, 0) // WHOLE if dimension is not None else 0


def _volume_timeout(pods: Sequence[BoundPod]) -> int:
    """How long it may take until the volumes of all are ready, in seconds."""
    return max((pod.volume_seconds for pod in pods if pod.volumes), default=0)


def _shared(pods: Sequence[BoundPod]) -> dict[str, str]:
    """The labels that all members get."""
    first = pods[0].labels
    return {key: value for key, value in first.items() if all(pod.labels.get(key) == value for pod in pods)}


def _base(name: str) -> str:
    """How the name of a request begins: a name that is too long, or none for an object, is cut and told apart."""
    if len(name) <= _MAX_NAME_LENGTH and _NAME.fullmatch(name):
        return name
    readable = re.sub(r"[^a-z0-9]+", "-", name.lower())[: _MAX_NAME_LENGTH - 9].strip("-")
    return f"{readable or 'request'}-{hashlib.sha256(name.encode()).hexdigest()[:8]}"


def _parts(members: Sequence[BoundPod]) -> Iterator[list[BoundPod]]:
    part: list[BoundPod] = []
    size = 0
    for member in members:
        weight = len(msgspec.json.encode(member))
        if part and (len(part) >= MAX_MEMBERS or size + weight > MAX_BYTES):
            yield part
            part, size = [], 0
        part.append(member)
        size += weight
    if part:
        yield part
