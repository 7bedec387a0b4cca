"""Strategic merge patches of pods, such as the `podSpecPatch` of Argo's templates."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from stromboli.kube.manifests.yaml import load_documents
from stromboli.kube.manifests.yaml_errors import YamlError

#: The field that identifies an entry, by list. Other lists are replaced.
_KEYS = {
    "containers": "name",
    "initContainers": "name",
    "ephemeralContainers": "name",
    "volumes": "name",
    "env": "name",
    "imagePullSecrets": "name",
    "resourceClaims": "name",
    "schedulingGates": "name",
    "volumeMounts": "mountPath",
    "volumeDevices": "devicePath",
    "ports": "containerPort",
    "hostAliases": "ip",
    "topologySpreadConstraints": "topologyKey",
}


def parse_patch(text: str) -> Mapping[str, Any]:
    """Parse a patch in YAML or JSON. Raises ValueError."""
    try:
        found = load_documents(text, "patch")
    except YamlError as error:
        raise ValueError(str(error)) from None
    if len(found) != 1 or not isinstance(found[0], dict):
        raise ValueError("is not a map of fields of a pod")
    return found[0]


def merged(own: Any, patch: Any, name: str = "") -> Any:
    """Merge maps by key, and the entries of some lists by a field; null removes a key, and others replace."""
    if isinstance(own, Mapping) and isinstance(patch, Mapping):
        changed = {key: merged(own.get(key), value, key) for key, value in patch.items() if value is not None}
        return {key: value for key, value in {**own, **changed}.items() if patch.get(key, value) is not None}
    if isinstance(own, list) and isinstance(patch, list) and name in _KEYS:
        return _merged_entries(own, patch, _KEYS[name])
    return patch


def _merged_entries(own: list[Any], patch: list[Any], key: str) -> list[Any]:
    changes = {each.get(key): each for each in patch if isinstance(each, Mapping)}
    known = {each.get(key) for each in own if isinstance(each, Mapping)}
    changed = [
        merged(each, changes[each.get(key)]) if isinstance(each, Mapping) and each.get(key) in changes else each
        for each in own
    ]
    return [*changed, *(each for each in patch if not isinstance(each, Mapping) or each.get(key) not in known)]
