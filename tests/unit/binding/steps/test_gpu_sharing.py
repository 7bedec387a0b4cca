"""GPU sharing: the reservation pod, the environment of containers, and admission."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from stromboli.binding.reservations.reservation_pods import (
    ReservationContainerState,
    ReservationContainerStatus,
    ReservationPod,
    ReservationPodOptions,
    ReservationPodStatus,
    SharedGpu,
    Terminated,
    device_of,
    reservation_pod_manifest,
    reservation_pod_name,
)
from stromboli.binding.steps.gpu_sharing.config_maps import GpuEnvironment, container_index, portion_text
from stromboli.binding.steps.gpu_sharing.plugin import GpuSharingPlugin, sharing_options
from stromboli.core.plugins.gpusharing.plugin import GpuSharing, GpuSharingArguments
from stromboli.kube.objects.meta import ObjectMeta
from stromboli.kube.objects.pod import Container, Pod, PodSpec

# -- the pod that holds a GPU --------------------------------------------------------------------------------------


def manifest_by(**arguments: object) -> dict[str, Any]:
    """Return the manifest of the reservation pod for arguments of the scheduler's plugin."""
    given = {f"gpusharing.{key}": value for key, value in arguments.items()}
    options = GpuSharing(GpuSharingArguments(given)).binding_options
    return reservation_pod_manifest(SharedGpu("a", "x"), sharing_options(options).reservation_pods)


def test_reservation_pod_requests_one_gpu_and_no_permissions() -> None:
    made = manifest_by()
    spec = made["spec"]
    assert made["metadata"]["namespace"] == "stromboli-reservations"
    assert made["metadata"]["annotations"]["stromboli.dev/gpu-groups"] == "x"
    assert "ownerReferences" not in made["metadata"]
    assert spec["nodeName"] == "a"
    assert spec["automountServiceAccountToken"] is False
    assert spec["securityContext"]["runAsNonRoot"] is True
    for container in (*spec["initContainers"], *spec["containers"]):
        assert container["resources"]["limits"] == {"nvidia.com/gpu": "1"}
        assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}
        assert container["image"] == ReservationPodOptions().image


ARGUMENTS = [
    ("ReservationNamespace", "mine", lambda made: made["metadata"]["namespace"], "mine"),
    ("ReservationImage", "example/hold:1", lambda made: made["spec"]["containers"][0]["image"], "example/hold:1"),
    ("ReservationRuntimeClass", "nvidia", lambda made: made["spec"]["runtimeClassName"], "nvidia"),
    ("FakeGPUs", True, lambda made: made["spec"]["initContainers"][0]["args"], ["reserve-gpu", "--fake"]),
]


@pytest.mark.parametrize(("key", "value", "shown", "expected"), ARGUMENTS, ids=[each[0] for each in ARGUMENTS])
def test_scheduler_arguments_reach_the_reservation_pod(key: str, value: object, shown: Any, expected: object) -> None:
    assert shown(manifest_by(**{key: value})) == expected


def test_other_arguments_reach_the_step() -> None:
    given = {"gpusharing.ReservationSeconds": 5, "gpusharing.CDIEnable": True}
    options = sharing_options(GpuSharing(GpuSharingArguments(given)).binding_options)
    assert (options.reservation_pods.seconds, options.cdi) == (5.0, True)


OPTIONS = [
    ({"seconds": "soon"}, "seconds: expected a number of seconds up to 3600, such as 40, got 'soon'"),
    ({"seconds": "0"}, "seconds: expected a number of seconds up to 3600, such as 40, got '0'"),
    ({"fake": "perhaps"}, "fake: expected true or false, got 'perhaps'"),
    (
        {"colour": "red"},
        "unknown option 'colour'; known options are cdi, fake, image, namespace, runtimeClass, seconds",
    ),
]


@pytest.mark.parametrize(("given", "complaint"), OPTIONS, ids=[str(each[0]) for each in OPTIONS])
def test_invalid_options_are_rejected(given: dict[str, str], complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint.replace("(", r"\(")):
        GpuSharingPlugin(given)


NAMES = [
    ("a node", SharedGpu("node-1", "x"), "gpu-node-1-"),
    ("a node with dots and capitals", SharedGpu("Node.Example", "x"), "gpu-node-example-"),
    ("a node with a long name", SharedGpu("n" * 200, "x"), f"gpu-{'n' * 40}-"),
    ("a node that is all signs", SharedGpu("...", "x"), "gpu-"),
]


@pytest.mark.parametrize(("place", "beginning"), [each[1:] for each in NAMES], ids=[each[0] for each in NAMES])
def test_reservation_pod_names(place: SharedGpu, beginning: str) -> None:
    name = reservation_pod_name(place)
    assert name.startswith(beginning)
    assert len(name) <= 63
    assert name == reservation_pod_name(place) != reservation_pod_name(SharedGpu(place.node, "y"))


def ended(message: str, code: int = 0, name: str = "find") -> ReservationPodStatus:
    return ReservationPodStatus(
        init_container_statuses=[ReservationContainerStatus(name, ReservationContainerState(Terminated(message, code)))]
    )


DEVICES = [
    ("by the last words of its first container", {}, ended("GPU-1\n"), "GPU-1"),
    ("by our annotation", {"stromboli.dev/gpu-device": "GPU-2"}, ReservationPodStatus(), "GPU-2"),
    ("by the annotation of KAI", {"run.ai/reserve_for_gpu_index": "GPU-3"}, ReservationPodStatus(), "GPU-3"),
    ("not by a container that failed", {}, ended("no GPU", 1), ""),
    ("not by another container", {}, ended("GPU-1", name="other"), ""),
    ("not by what is no name", {"stromboli.dev/gpu-device": "$(rm -r)"}, ReservationPodStatus(), ""),
    ("not before", {}, ReservationPodStatus(), ""),
]


@pytest.mark.parametrize(
    ("said", "status", "device"), [each[1:] for each in DEVICES], ids=[each[0] for each in DEVICES]
)
def test_device_of_reservation_pod(said: dict[str, str], status: ReservationPodStatus, device: str) -> None:
    assert device_of(ReservationPod(metadata=ObjectMeta(annotations=said), status=status)) == device


# -- environment of containers --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("portion", "text"), [(500, "0.50"), (333, "0.333"), (1000, "1.00"), (70, "0.07"), (1, "0.001")]
)
def test_portion_text(portion: int, text: str) -> None:
    assert portion_text(portion) == text


def test_container_environment() -> None:
    assert GpuEnvironment(("GPU-1", "GPU-2"), 250).variables() == {
        "NVIDIA_VISIBLE_DEVICES": "GPU-1,GPU-2", "GPU_PORTION": "0.25", "RUNAI_NUM_OF_GPUS": "0.25"
    }  # fmt: skip
    reported = GpuEnvironment(("GPU-1",), 250, cdi=True).variables()
    assert reported["NVIDIA_VISIBLE_DEVICES"] == "k8s.device-plugin.nvidia.com/gpu=GPU-1"


@pytest.mark.parametrize(("wanted", "place"), [(None, "0"), ("side", "1"), ("first", "i0"), ("ghost", "0")])
def test_index_of_the_gpu_container(wanted: str | None, place: str) -> None:
    annotations = {"gpu-fraction-container-name": wanted} if wanted else None
    spec = PodSpec(
        containers=[Container(name="main"), Container(name="side")], init_containers=[Container(name="first")]
    )
    assert container_index(Pod(metadata=ObjectMeta(annotations=annotations), spec=spec)) == place


# -- admission -----------------------------------------------------------------------------------------------------


def manifest(annotations: dict[str, str], *, limits: dict[str, str] | None = None, **metadata: str) -> dict[str, Any]:
    containers = [{"name": "main", "resources": {"limits": limits or {}}}, {"name": "side"}]
    return {"metadata": {"annotations": annotations, **metadata}, "spec": {"containers": containers}}


HALF = {"gpu-fraction": "0.5"}
ADMISSIONS = [
    ("a part", HALF, None, []),
    ("memory", {"gpu-memory": "1000"}, None, []),
    ("no GPU at all", {}, None, []),
    ("a whole one", {}, {"nvidia.com/gpu": "1"}, []),
    ("a part that is a whole", {"gpu-fraction": "1"}, None,
     ["metadata.annotations[gpu-fraction]: expected less than a whole GPU; ask for nvidia.com/gpu instead"]),
    ("a part and a whole one", HALF, {"nvidia.com/gpu": "1"},
     ["metadata.annotations[gpu-fraction]: spec.containers[0] requests nvidia.com/gpu as well; remove one of them"]),
    ("a part and memory", {**HALF, "gpu-memory": "1"}, None,
     ["metadata.annotations[gpu-fraction]: gpu-memory is set as well; set only one of them"]),
    ("devices of nothing", {"gpu-fraction-num-devices": "2"}, None,
     ["metadata.annotations[gpu-fraction-num-devices]: a device count without a fraction; add gpu-fraction or "
      "gpu-memory"]),
    ("a process service for nothing", {"mps": "true"}, None,
     ["metadata.annotations[mps]: no GPU is shared; add gpu-fraction or gpu-memory, or remove it"]),
    ("a process service for a part", {**HALF, "mps": "true"}, None, []),
    ("what only we may write", {**HALF, "stromboli.dev/gpu-groups": "x"}, None,
     ["metadata.annotations[stromboli.dev/gpu-groups]: only the binder may write this; remove 'x'"]),
]  # fmt: skip


@pytest.mark.parametrize(
    ("annotations", "limits", "complaints"), [each[1:] for each in ADMISSIONS], ids=[each[0] for each in ADMISSIONS]
)
def test_admission_errors(annotations: dict[str, str], limits: dict[str, str] | None, complaints: list[str]) -> None:
    assert GpuSharingPlugin().validate(manifest(annotations, limits=limits)) == complaints


def test_container_environment_comes_from_the_config_map() -> None:
    pod = manifest(HALF, generateName="Web-")
    pod["spec"]["containers"][0]["env"] = [{"name": "GPU_PORTION", "value": "9"}, {"name": "MINE", "value": "1"}]
    GpuSharingPlugin().mutate(pod)
    name = pod["metadata"]["annotations"]["stromboli.dev/gpu-config-map"]
    assert name.startswith("web-")
    taken = [{"name": key, "valueFrom": {"configMapKeyRef": {"name": name, "key": key}}} for key in
             ("NVIDIA_VISIBLE_DEVICES", "GPU_PORTION", "RUNAI_NUM_OF_GPUS")]  # fmt: skip
    assert pod["spec"]["containers"][0]["env"] == [{"name": "MINE", "value": "1"}, *taken]
    assert "env" not in pod["spec"]["containers"][1]
    again = copy.deepcopy(pod)
    GpuSharingPlugin().mutate(again)
    assert again == pod


def test_two_pods_of_one_owner_get_two_config_maps() -> None:
    pods = [manifest(HALF, generateName="web-") for _ in range(2)]
    for pod in pods:
        GpuSharingPlugin().mutate(pod)
    first, second = (pod["metadata"]["annotations"]["stromboli.dev/gpu-config-map"] for pod in pods)
    assert first != second


def test_named_container_gets_the_gpu() -> None:
    pod = manifest({**HALF, "gpu-fraction-container-name": "side"}, name="web")
    GpuSharingPlugin({"runtimeClass": "nvidia"}).mutate(pod)
    assert "env" not in pod["spec"]["containers"][0]
    assert len(pod["spec"]["containers"][1]["env"]) == 3
    assert pod["spec"]["runtimeClassName"] == "nvidia"


@pytest.mark.parametrize("annotations", [{}, {**HALF, "runai/shared-gpu-configmap": "theirs"}], ids=["none", "KAI's"])
def test_pods_without_fraction_are_not_mutated(annotations: dict[str, str]) -> None:
    pod = manifest(annotations, name="web")
    before = copy.deepcopy(pod)
    GpuSharingPlugin().mutate(pod)
    assert pod == before
