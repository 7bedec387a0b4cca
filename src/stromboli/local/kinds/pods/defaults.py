"""Defaults and topology labels of pods. Inputs are not changed."""

from __future__ import annotations

from stromboli.local.api_server.quantities import amount_of
from stromboli.local.api_server.store import Object, Store

_SPEC = {
    "restartPolicy": "Always",
    "terminationGracePeriodSeconds": 30,
    "dnsPolicy": "ClusterFirst",
    "securityContext": {},
    "schedulerName": "default-scheduler",
    "enableServiceLinks": True,
}
_CONTAINER = {"resources": {}, "terminationMessagePath": "/dev/termination-log", "terminationMessagePolicy": "File"}
#: Tolerations that every pod gets.
_DEFAULT_TOLERATIONS: list[Object] = [
    {"key": f"node.kubernetes.io/{what}", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}
    for what in ("not-ready", "unreachable")
]
_CONTAINER_LISTS = ("containers", "initContainers")
_COMPUTE = ("cpu", "memory")


def defaulted_spec(spec: Object) -> Object:
    """The spec with defaults."""
    complete = {**spec, **{key: value for key, value in _SPEC.items() if spec.get(key) is None}}
    for name in _CONTAINER_LISTS:
        if containers := spec.get(name):
            complete[name] = [_container(container) for container in containers]
    return complete


def with_default_tolerations(spec: Object) -> Object:
    """Add the default tolerations: five minutes on an unreachable node, unless the pod has its own."""
    existing = spec.get("tolerations") or []
    missing = [
        each for each in _DEFAULT_TOLERATIONS if not any(_tolerates(toleration, each["key"]) for toleration in existing)
    ]
    return {**spec, "tolerations": [*existing, *missing]} if missing else spec


def _tolerates(toleration: Object, key: str) -> bool:
    return toleration.get("key") in (None, "", key) and toleration.get("effect") in (None, "", "NoExecute")


def _container(container: Object) -> Object:
    complete = {**container, **{key: value for key, value in _CONTAINER.items() if key not in container}}
    complete.setdefault("imagePullPolicy", _pull_policy(container.get("image") or ""))
    if limits := (container.get("resources") or {}).get("limits"):
        complete["resources"] = _requests_from_limits(container["resources"], limits)
    if ports := container.get("ports"):
        complete["ports"] = [port if "protocol" in port else {**port, "protocol": "TCP"} for port in ports]
    return complete


def _pull_policy(image: str) -> str:
    tag = image.rpartition("/")[2].partition("@")[0].partition(":")[2]
    is_moving = tag in ("", "latest") and "@" not in image
    return "Always" if is_moving else "IfNotPresent"


def _requests_from_limits(resources: Object, limits: Object) -> Object:
    requests = resources.get("requests") or {}
    missing = {name: amount for name, amount in limits.items() if name not in requests}
    return {**resources, "requests": {**missing, **requests}} if missing else resources


def quality_of_service(spec: Object) -> str:
    """Guaranteed if every container has equal requests and limits, BestEffort if none has any."""
    containers = [container for name in _CONTAINER_LISTS for container in spec.get(name) or ()]
    resources = [container.get("resources") or {} for container in containers]
    resources.append(spec.get("resources") or {}) if spec.get("resources") else None
    if not any(_compute(each, "requests") or _compute(each, "limits") for each in resources):
        return "BestEffort"
    return "Guaranteed" if all(_is_held(each) for each in resources) else "Burstable"


def _is_held(resources: Object) -> bool:
    limits = _compute(resources, "limits")
    return len(limits) == len(_COMPUTE) and limits == _compute(resources, "requests")


def _compute(resources: Object, name: str) -> dict[str, int]:
    """Requests or limits of cpu and memory as numbers: `1Ki` equals `1024`."""
    amounts = resources.get(name) or {}
    existing = {key: str(amounts[key]) for key in _COMPUTE if key in amounts}
    return {key: number for key, text in existing.items() if (number := amount_of(text.lstrip("-")))}


_COPIED = ("topology.kubernetes.io/region", "topology.kubernetes.io/zone")


def topology_labels(store: Store, node: str) -> dict[str, str]:
    """The labels that a pod on this node gets; none if the node is unknown."""
    entry = store.collection("", "nodes").get(("", node))
    labels = (entry.metadata.get("labels") or {}) if entry is not None else {}
    return {name: labels[name] for name in _COPIED if name in labels}


def with_labels(metadata: Object, labels: dict[str, str]) -> Object:
    """The metadata with these labels added."""
    return {**metadata, "labels": {**(metadata.get("labels") or {}), **labels}} if labels else metadata
