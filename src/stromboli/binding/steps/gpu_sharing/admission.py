"""What is asked of pods that share GPUs when they are admitted: whether they make sense, and what they will need.

The manifest of a pod cannot be changed later, so the container that gets the GPUs is made to take its environment from
a ConfigMap that is written when the pod is bound.
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
    """What is wrong with what a pod says about sharing GPUs, in words, each with the field."""
    said = _annotations(manifest)
    written = ((key, said[key][:512]) for key in _OURS if key in said)
    found = [
        f"metadata.annotations[{key}]: only the binder may write this; take {text!r} away" for key, text in written
    ]
    if said.get(MPS) == "true" and FRACTION not in said and MEMORY not in said:
        found.append(f"metadata.annotations[{MPS}]: no GPU is shared; add {FRACTION} or {MEMORY}, or take it away")
    try:
        wish = gpu_request_of(msgspec.convert(manifest, Pod, strict=False))
    except msgspec.ValidationError as error:
        return [*found, f"the pod cannot be read: {error}"]
    except ValueError as error:
        return [*found, str(error)]
    if wish is not None and wish.portion >= WHOLE:
        found.append(f"metadata.annotations[{FRACTION}]: expected less than a whole GPU; ask for {GPU} instead")
    return found


def requests_fraction(manifest: Mapping[str, Any]) -> bool:
    said = _annotations(manifest)
    return FRACTION in said or MEMORY in said


def prepare(manifest: dict[str, Any], token: Callable[[], str], runtime_class: str = "") -> None:
    """Name a ConfigMap, and have the container that gets the GPUs take its environment from it. A pod that was prepared
    before, or by KAI's webhook, is left as it is.
    """
    if not requests_fraction(manifest):
        return
    metadata = manifest.setdefault("metadata", {})
    annotations = metadata.get("annotations") or {}
    if CONFIG_MAP in annotations or KAI_CONFIG_MAPS in annotations:
        return
    container = _container(manifest, annotations.get(CONTAINER))
    if container is None:
        return
    name = _map_name(metadata, token())
    metadata["annotations"] = {**annotations, CONFIG_MAP: name}
    kept = [entry for entry in container.get("env") or () if entry.get("name") not in VARIABLES]
    container["env"] = [*kept, *(_variable(key, name) for key in VARIABLES)]
    if runtime_class and not manifest["spec"].get("runtimeClassName"):
        manifest["spec"]["runtimeClassName"] = runtime_class


def _container(manifest: Mapping[str, Any], wanted: str | None) -> dict[str, Any] | None:
    spec = manifest.get("spec") or {}
    containers: list[dict[str, Any]] = [*(spec.get("containers") or ()), *(spec.get("initContainers") or ())]
    return next((each for each in containers if wanted is None or each.get("name") == wanted), None)


def _map_name(metadata: Mapping[str, Any], token: str) -> str:
    """Told apart by chance: pods of one owner may have no name of their own yet."""
    base = str(metadata.get("name") or metadata.get("generateName") or "pod")[:_MAX_NAME_LENGTH]
    return f"{re.sub(r'[^a-z0-9-]+', '-', base.lower()).strip('-') or 'pod'}-{token}-gpu"


def _variable(key: str, name: str) -> dict[str, Any]:
    return {"name": key, "valueFrom": {"configMapKeyRef": {"name": name, "key": key}}}


def _annotations(manifest: Mapping[str, Any]) -> Mapping[str, str]:
    return (manifest.get("metadata") or {}).get("annotations") or {}
