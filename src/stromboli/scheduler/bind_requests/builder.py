"""Builds bind requests from committed placements: names, owners, labels and parts.

A name consists of the group's (or the pod's) name, the term of the leader and a counter of this process, so that the
same decision always has the same name. A decision that does not fit into one object has several parts with a common
decision name.
"""

from __future__ import annotations

import hashlib
import itertools
import re
from collections.abc import Callable, Iterator, Sequence

import msgspec

from stromboli.binding.orders import Commit
from stromboli.binding.requests.placements import member_of
from stromboli.cluster.objects.pod_groups.native_pod_groups import NativeGroup
from stromboli.cluster.state.cluster import Cluster
from stromboli.core.config.bind_options import BindOptions
from stromboli.core.model.devices.gpu_fractions import GPU, RECEIVED, WHOLE
from stromboli.core.model.tasks.placement import Placement
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
)
from stromboli.kube.objects.catalogue import EARLY_NATIVE_POD_GROUPS, NATIVE_POD_GROUPS, POD_GROUPS, PODS
from stromboli.kube.objects.meta import ObjectMeta, OwnerReference

#: The maximum size of the members of one object: the API server accepts objects of 1.5 MiB, with their status.
MAX_BYTES = 800_000
#: The maximum length of the prefix of a name, which the term and the counter follow.
_MAX_NAME_LENGTH = 200
_NAME = re.compile(r"[a-z0-9]([-a-z0-9.]*[a-z0-9])?")
_LABEL = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")


class BindRequestBuilder:
    """`scheduler` is the name of this scheduler, `epoch` returns its term, `options` the limits for the binder."""

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

    def requests_of(self, commit: Commit, members: Sequence[Placement]) -> list[BindRequest]:
        """Return the requests for these members of a commit; almost always one."""
        parts = list(_parts([member_of(each, self._whole_gpus(each)) for each in members]))
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
        """Return the same request under the next name, because another request has the name."""
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

    def _metadata(self, commit: Commit, first: Placement, pods: Sequence[BoundPod], suffix: str) -> ObjectMeta:
        group = self._cluster.groups.get(commit.job)
        return ObjectMeta(
            name=f"{_base(group.metadata.name if group else first.name)}-{suffix}",
            namespace=first.namespace,
            labels=self._labels(group.metadata.name if group else "", pods),
            owner_references=self._owners(commit, first),
        )

    def _owners(self, commit: Commit, first: Placement) -> list[OwnerReference] | None:
        """Make the pod, or the group, own the request, so that it is deleted with the owner."""
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

    def _whole_gpus(self, placement: Placement) -> int:
        if placement.annotations.get(RECEIVED) != REGULAR:
            return 0
        counted, dimension = self._cluster.accounting.counted.get(placement.uid), self._cluster.axis.find(GPU)
        request = dict(counted.task.task_class.request) if counted is not None else {}
        return request.get(dimension, 0) // WHOLE if dimension is not None else 0


def _volume_timeout(pods: Sequence[BoundPod]) -> int:
    """Return the time limit for volumes, in seconds."""
    return max((pod.volume_seconds for pod in pods if pod.volumes), default=0)


def _shared(pods: Sequence[BoundPod]) -> dict[str, str]:
    """Return the labels that all members have in common."""
    first = pods[0].labels
    return {key: value for key, value in first.items() if all(pod.labels.get(key) == value for pod in pods)}


def _base(name: str) -> str:
    """Return the prefix of a request's name; a name that is too long or invalid is cut and gets a digest."""
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
