"""The reservation pod, which holds a whole GPU for all pods that share it, and reports which GPU that is.

It requests one GPU like any other pod, so that the node's device plugin allocates one to it alone. Its init container
finds out the id and writes it as its termination message, which appears in the pod status; its main container waits for
as long as the GPU is shared. So it needs no access to the API server. An annotation has the id where another image,
such as KAI's, finds it out.
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

#: Annotations with the id of the GPU that a pod holds; the second is KAI's.
DEVICE = "stromboli.dev/gpu-device"
DEVICE_ANNOTATIONS = (DEVICE, "run.ai/reserve_for_gpu_index")
COMPONENT = "app.kubernetes.io/component"
RESERVATION_COMPONENT = "gpu-reservation"
FINDER = "find"
#: The termination message of the init container on simulated nodes.
TERMINATION_MESSAGE = "stromboli.dev/termination-message"
#: Valid ids of GPUs, which become environment variables.
_DEVICE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/:-]{0,127}", re.ASCII)
_MAX_PREFIX_LENGTH = 40


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
    """A pod with the termination messages of its containers, which the ordinary Pod does not decode."""

    kind_name: ClassVar[str] = "Pod"

    namespaced: ClassVar[bool] = True

    spec: ReservationPodSpec = msgspec.field(default_factory=ReservationPodSpec)
    status: ReservationPodStatus = msgspec.field(default_factory=ReservationPodStatus)


RESERVATION_PODS = Resource(ReservationPod, "v1", "pods")


class SharedGpu(NamedTuple):
    """A shared GPU: its node, and the group of pods that share it."""

    node: str
    group: str


@dataclass(frozen=True, slots=True)
class ReservationPodOptions:
    """Options of reservation pods. Times are in seconds."""

    namespace: str = DEFAULT_NAMESPACE
    image: str = f"stromboli:{__version__}"
    #: The time limit until a GPU is reserved and its id is known.
    seconds: float = 40.0
    runtime_class: str = ""
    #: Whether nodes have no real GPUs, so that the id is made up.
    fake: bool = False


def reservation_pod_name(gpu: SharedGpu) -> str:
    """Return a valid name that depends only on the GPU."""
    digest = _digest(gpu)
    node = re.sub(r"[^a-z0-9-]+", "-", gpu.node.lower()).strip("-")[:_MAX_PREFIX_LENGTH].strip("-")
    return f"gpu-{node}-{digest}" if node else f"gpu-{digest}"


def _digest(gpu: SharedGpu) -> str:
    return hashlib.sha256(f"{gpu.node}/{gpu.group}".encode()).hexdigest()[:12]


def reservation_pod_manifest(gpu: SharedGpu, options: ReservationPodOptions) -> dict[str, Any]:
    """Return the manifest, with the node set, so that no scheduler is involved."""
    find = ["reserve-gpu", "--fake"] if options.fake else ["reserve-gpu"]
    spec: dict[str, Any] = {
        "nodeName": gpu.node,
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
        "name": reservation_pod_name(gpu),
        "namespace": options.namespace,
        "labels": {"app.kubernetes.io/name": "stromboli", COMPONENT: RESERVATION_COMPONENT},
        "annotations": {
            GROUPS: gpu.group,
            "karpenter.sh/do-not-disrupt": "true",
            **({TERMINATION_MESSAGE: f"GPU-fake-{_digest(gpu)}"} if options.fake else {}),
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


def device_of(pod: ReservationPod) -> str:
    """Return the id of the GPU that a pod holds; empty while it is unknown."""
    annotations: Mapping[str, str] = pod.metadata.annotations or {}
    messages = (
        _termination_message(status) for status in pod.status.init_container_statuses or () if status.name == FINDER
    )
    candidates = (*(annotations.get(key, "") for key in DEVICE_ANNOTATIONS), *messages)
    return next((text.strip() for text in candidates if _DEVICE.fullmatch(text.strip())), "")


def _termination_message(status: ReservationContainerStatus) -> str:
    ended = status.state.terminated if status.state else None
    return (ended.message or "") if ended is not None and not ended.exit_code else ""


def has_ended(pod: ReservationPod) -> bool:
    """Report whether the pod has terminated."""
    return pod.status.phase in ("Failed", "Succeeded")


def end_reason(pod: ReservationPod) -> str:
    parts = (pod.status.reason, pod.status.message)
    return ": ".join(part for part in parts if part) or f"its phase is {pod.status.phase}"
