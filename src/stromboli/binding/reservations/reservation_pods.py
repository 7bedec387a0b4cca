"""The pod that holds a whole GPU for all who share it, and how it tells which GPU that is.

It asks for one GPU like any other pod, so the node's device plugin gives it one and gives that to nobody else. Its
first container finds out which one it is and leaves the answer as its last message, which stands in the status of the
pod; its second container does nothing, for as long as the GPU is shared. So it needs no access to the API server. An
annotation says the same where somebody else finds out, as KAI's reservation image does.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import msgspec

from stromboli import __version__
from stromboli.core.model.devices.gpu_fractions import DEFAULT_NAMESPACE, GPU, GROUPS
from stromboli.kube.objects.meta import TopLevel, Wire
from stromboli.kube.objects.resources import Resource

#: The annotations by which somebody may say which GPU a pod holds; the second is KAI's.
DEVICE = "stromboli.dev/gpu-device"
DEVICE_ANNOTATIONS = (DEVICE, "run.ai/reserve_for_gpu_index")
COMPONENT = "app.kubernetes.io/component"
RESERVATION_COMPONENT = "gpu-reservation"
FINDER = "find"
#: What simulated nodes take for the last message of the first container.
TERMINATION_MESSAGE = "stromboli.dev/last-words"
#: What a GPU may be called: it will stand in environment variables.
_DEVICE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/:-]{0,127}", re.ASCII)
_LONGEST_PREFIX = 40


class Terminated(Wire):
    message: str | None = None
    exit_code: int = 0


class ReservationContainerState(Wire):
    terminated: Terminated | None = None


class ReservationContainerStatus(Wire):
    name: str | None = None
    state: ReservationContainerState | None = None


class ReservationPodStatus(Wire):
    phase: str | None = None
    reason: str | None = None
    message: str | None = None
    init_container_statuses: list[ReservationContainerStatus] | None = None


class ReservationPodSpec(Wire):
    node_name: str | None = None


class ReservationPod(TopLevel):
    """A reservation pod, with the last words of its containers. Other pods are not read with these."""

    kind_name: ClassVar[str] = "Pod"

    namespaced: ClassVar[bool] = True

    spec: ReservationPodSpec = msgspec.field(default_factory=ReservationPodSpec)
    status: ReservationPodStatus = msgspec.field(default_factory=ReservationPodStatus)


RESERVATION_PODS = Resource(ReservationPod, "v1", "pods")


class SharedGpu(NamedTuple):
    """A shared GPU: its node, and the name of the group that shares it."""

    node: str
    group: str


@dataclass(frozen=True, slots=True)
class ReservationPodOptions:
    """How reservation pods are made. Times are in seconds."""

    namespace: str = DEFAULT_NAMESPACE
    image: str = f"stromboli:{__version__}"
    #: How long it may take until a GPU is held and known.
    seconds: float = 40.0
    runtime_class: str = ""
    #: Whether nodes have no real GPUs, so that one is made up.
    fake: bool = False


def reservation_pod_name(place: SharedGpu) -> str:
    """The same for the same GPU, whoever makes the pod; a valid name whatever the node is called."""
    told = _digest(place)
    node = re.sub(r"[^a-z0-9-]+", "-", place.node.lower()).strip("-")[:_LONGEST_PREFIX].strip("-")
    return f"gpu-{node}-{told}" if node else f"gpu-{told}"


def _digest(place: SharedGpu) -> str:
    return hashlib.sha256(f"{place.node}/{place.group}".encode()).hexdigest()[:12]


def reservation_pod_manifest(place: SharedGpu, options: ReservationPodOptions) -> dict[str, Any]:
    """It stands on its node from the beginning: nobody has to schedule it."""
    find = ["reserve-gpu", "--fake"] if options.fake else ["reserve-gpu"]
    spec: dict[str, Any] = {
        "nodeName": place.node,
        "restartPolicy": "Always",
        "terminationGracePeriodSeconds": 1,
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "tolerations": [{"operator": "Exists"}],
        "securityContext": {"runAsNonRoot": True, "runAsUser": 65532, "seccompProfile": {"type": "RuntimeDefault"}},
        "initContainers": [_container(FINDER, find, options)],
        "containers": [_container("hold", ["reserve-gpu", "--hold"], options)],
    }
    if options.runtime_class:
        spec["runtimeClassName"] = options.runtime_class
    metadata = {
        "name": reservation_pod_name(place),
        "namespace": options.namespace,
        "labels": {"app.kubernetes.io/name": "stromboli", COMPONENT: RESERVATION_COMPONENT},
        "annotations": {
            GROUPS: place.group,
            "karpenter.sh/do-not-disrupt": "true",
            **({TERMINATION_MESSAGE: f"GPU-fake-{_digest(place)}"} if options.fake else {}),
        },
    }
    return {"metadata": metadata, "spec": spec}


def _container(name: str, arguments: list[str], options: ReservationPodOptions) -> dict[str, Any]:
    return {
        "name": name,
        "image": options.image,
        "imagePullPolicy": "IfNotPresent",
        "args": arguments,
        "resources": {"requests": {GPU: "1"}, "limits": {GPU: "1"}},
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        },
        "env": [{"name": "NVIDIA_DRIVER_CAPABILITIES", "value": "utility"}],
    }


def device_of(holder: ReservationPod) -> str:
    """The GPU that a pod holds; empty while nobody knows."""
    said: Mapping[str, str] = holder.metadata.annotations or {}
    last = (
        _termination_message(status) for status in holder.status.init_container_statuses or () if status.name == FINDER
    )
    told = (*(said.get(key, "") for key in DEVICE_ANNOTATIONS), *last)
    return next((text.strip() for text in told if _DEVICE.fullmatch(text.strip())), "")


def _termination_message(status: ReservationContainerStatus) -> str:
    ended = status.state.terminated if status.state else None
    return (ended.message or "") if ended is not None and not ended.exit_code else ""


def has_ended(holder: ReservationPod) -> bool:
    """Whether it will never hold a GPU again."""
    return holder.status.phase in ("Failed", "Succeeded")


def end_reason(holder: ReservationPod) -> str:
    words = (holder.status.reason, holder.status.message)
    return ": ".join(word for word in words if word) or f"its phase is {holder.status.phase}"
