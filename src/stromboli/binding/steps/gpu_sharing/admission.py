"""Admission of pods that share GPUs: validation, and the changes of the manifest that binding needs.

A manifest cannot be changed after admission, so the container with the GPUs takes its environment from a ConfigMap that
is written when the pod is bound.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from stromboli.binding.steps.gpu_sharing.config_maps import CONFIG_MAP, KAI_CONFIG_MAPS, VARIABLES
from stromboli.cluster.objects.pods.fractional_gpus import gpu_request_of
from stromboli.core.model.devices.gpu_fractions import CONTAINER, FRACTION, GPU, GROUPS, MEMORY, MPS, PORTION, WHOLE
from stromboli.kube.objects.pod import Pod

_MAX_NAME_LENGTH = 40
_OURS = (GROUPS, PORTION)


def validation_errors(manifest: Mapping[str, Any]) -> list[str]:
    """Return the errors in the GPU sharing annotations of a pod, each with its field."""
    annotations = _annotations(manifest)
    written = ((key, annotations[key][:512]) for key in _OURS if key in annotations)
    found = [f"metadata.annotations[{key}]: only the binder may write this; remove {text!r}" for key, text in written]
    if annotations.get(MPS) == "true" and FRACTION not in annotations and MEMORY not in annotations:
        found.append(f"metadata.annotations[{MPS}]: no GPU is shared; add {FRACTION} or {MEMORY}, or remove it")
    try:
        share = gpu_request_of(msgspec.convert(manifest, Pod, strict=False))
    except msgspec.ValidationError as error:
        return [*found, f"the pod cannot be decoded: {error}"]
    except ValueError as error:
        return [*found, str(error)]
    if share is not None and share.portion >= WHOLE:
        found.append(f"metadata.annotations[{FRACTION}]: expected less than a whole GPU; ask for {GPU} instead")
    return found


def prepare(manifest: dict[str, Any], token: Callable[[], str], runtime_class: str = "") -> None:
    """Name a ConfigMap, and make the container with the GPUs take its environment from it. A pod that this webhook or
    KAI's has prepared already stays unchanged.
    """
    annotations = _annotations(manifest)
    is_prepared = CONFIG_MAP in annotations or KAI_CONFIG_MAPS in annotations
    if is_prepared or not (FRACTION in annotations or MEMORY in annotations):
        return
    metadata = manifest["metadata"]
    container = _container(manifest, annotations.get(CONTAINER))
    if container is None:
        return
    name = _map_name(metadata, token())
    metadata["annotations"] = {**annotations, CONFIG_MAP: name}
    kept = [entry for entry in container.get("env") or () if entry.get("name") not in VARIABLES]
    container["env"] = [*kept, *(_variable(key, name) for key in VARIABLES)]
    if runtime_class and not manifest["spec"].get("runtimeClassName"):
        manifest["spec"]["runtimeClassName"] = runtime_class


def _container(manifest: Mapping[str, Any], name: str | None) -> dict[str, Any] | None:
    spec = manifest.get("spec") or {}
    containers: list[dict[str, Any]] = [*(spec.get("containers") or ()), *(spec.get("initContainers") or ())]
    return next((each for each in containers if name is None or each.get("name") == name), None)


def _map_name(metadata: Mapping[str, Any], token: str) -> str:
    """Return a name made unique by a token: pods of one owner may have no name of their own yet."""
    base = str(metadata.get("name") or metadata.get("generateName") or "pod")[:_MAX_NAME_LENGTH]
    return f"{re.sub(r'[^a-z0-9-]+', '-', base.lower()).strip('-') or 'pod'}-{token}-gpu"


def _variable(key: str, name: str) -> dict[str, Any]:
    return {"name": key, "valueFrom": {"configMapKeyRef": {"name": name, "key": key}}}


def _annotations(manifest: Mapping[str, Any]) -> Mapping[str, str]:
    return (manifest.get("metadata") or {}).get("annotations") or {}
