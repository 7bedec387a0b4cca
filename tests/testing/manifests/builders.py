"""Manifest builders: a cluster in a line, as plain as the files that users write.

Every builder returns a manifest or a list of them; a case accepts both. Nodes have names of one letter, so that a
text with one letter per pod describes all placements.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from string import ascii_lowercase
from typing import Any

Manifest = dict[str, Any]
#: Keyword arguments of builders.
Facts = dict[str, Any]
Amounts = Mapping[str, object]

SCHEDULER = "stromboli"
GROUP = "scheduling.volcano.sh/v1beta1"
GROUP_NAME = "scheduling.k8s.io/group-name"
ROLE = "volcano.sh/task-spec"
GPU = "nvidia.com/gpu"
IMAGE = "example/main"
#: A time at which something was deleted; which one does not matter.
LONG_AGO = "2020-01-01T00:00:00Z"


def manifest(kind: str, name: str, version: str = "v1", namespace: str = "", **fields: Any) -> Manifest:
    """Any object; fields that are None are left out, and `metadata` may add to the name."""
    metadata = {"name": name, "uid": uid_of(kind, namespace, name), **(fields.pop("metadata", None) or {})}
    if namespace:
        metadata["namespace"] = namespace
    return {"apiVersion": version, "kind": kind, "metadata": given(**metadata), **given(**fields)}


def uid_of(kind: str, namespace: str, name: str) -> str:
    return "-".join(part for part in (kind.lower(), namespace, name) if part)


def given(**fields: Any) -> Manifest:
    return {name: value for name, value in fields.items() if value is not None}


def amounts(cpu: object = None, memory: object = None, gpu: object = None, more: Amounts | None = None) -> Manifest:
    return {**given(cpu=cpu, memory=memory), **({GPU: gpu} if gpu is not None else {}), **(more or {})}


# -- nodes --------------------------------------------------------------------------------------------------------


def node(
    name: str,
    cpu: object = 4,
    memory: object = "64Gi",
    gpu: object = None,
    *,
    pods: object = None,
    more: Amounts | None = None,
    labels: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
    taints: Sequence[str] = (),
    images: Mapping[str, int] | None = None,
    cordoned: bool = False,
    ready: bool = True,
) -> Manifest:
    """A node. Taints read as in kubectl: `key=value:NoSchedule`. Images are names with sizes in MiB."""
    status = given(
        allocatable={**amounts(cpu, memory, gpu, more), **given(pods=pods)},
        conditions=[{"type": "Ready", "status": "True" if ready else "False"}],
        images=[{"names": [image], "sizeBytes": size << 20} for image, size in (images or {}).items()],
    )
    spec = given(unschedulable=cordoned or None, taints=[_taint(text) for text in taints])
    return manifest("Node", name, metadata=given(labels=labels, annotations=annotations), spec=spec, status=status)


def nodes(cpu: object, count: int, **facts: Any) -> list[Manifest]:
    """Equal nodes a, b, c, ..."""
    return [node(letter, cpu, **facts) for letter in ascii_lowercase[:count]]


def _taint(text: str) -> Manifest:
    taint, _, effect = text.rpartition(":")
    key, _, value = taint.partition("=")
    return given(key=key, value=value or None, effect=effect)


def tolerating(text: str) -> Manifest:
    """`key=value:effect` tolerates that taint, `key<5:effect` smaller numbers, `key:effect` every value of the key,
    `key` every effect, too, and an empty text everything.
    """
    taint, _, effect = text.partition(":")
    for sign, operator in (("=", "Equal"), ("<", "Lt"), (">", "Gt")):
        key, found, value = taint.partition(sign)
        if found:
            return given(key=key, operator=operator, value=value, effect=effect or None)
    return given(key=taint or None, operator="Exists", effect=effect or None)


# -- pods ---------------------------------------------------------------------------------------------------------


def resources(requests: Amounts) -> Manifest:
    """Requests, with equal limits for devices."""
    limits = {name: amount for name, amount in requests.items() if "/" in name}
    return given(requests=requests, limits=limits or None)


def pod(
    cpu: object = 1,
    memory: object = None,
    gpu: object = None,
    *,
    name: str = "",
    namespace: str = "default",
    role: str = "",
    more: Amounts | None = None,
    labels: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
    ports: Sequence[Manifest] | None = None,
    image: str = IMAGE,
    tolerations: Sequence[str] = (),
    gated: bool = False,
    nominated: str | None = None,
    releasing: bool = False,
    phase: str | None = None,
    placed: str | None = None,
    **spec: Any,
) -> Manifest:
    """A pod with one container that got its node at the time `placed`; further fields are those of the pod's spec. A
    gang names its members itself.
    """
    container = given(name="main", image=image, ports=ports, resources=resources(amounts(cpu, memory, gpu, more)))
    described = {
        "schedulerName": SCHEDULER,
        "containers": [container],
        "tolerations": [tolerating(text) for text in tolerations],
        **({"schedulingGates": [{"name": "wait"}]} if gated else {}),
        **spec,
    }
    metadata = given(
        labels=labels,
        annotations={**(annotations or {}), **({ROLE: role} if role else {})},
        deletionTimestamp=LONG_AGO if releasing else None,
    )
    phase = phase or ("Running" if "nodeName" in spec else "Pending")
    condition = {"type": "PodScheduled", "status": "True", "lastTransitionTime": placed}
    status = given(phase=phase, nominatedNodeName=nominated, conditions=[condition] if placed else None)
    return manifest("Pod", name, namespace=namespace, metadata=metadata, spec=described, status=status)


def pods(count: int, cpu: object = 1, memory: object = None, gpu: object = None, **facts: Any) -> list[Manifest]:
    return [pod(cpu, memory, gpu, **facts) for _ in range(count)]


# -- groups -------------------------------------------------------------------------------------------------------


def group(
    name: str,
    minimum: int | None = None,
    *,
    namespace: str = "default",
    minimums: Mapping[str, int] | None = None,
    queue: str | None = None,
    priority: str | None = None,
    resources: Amounts | None = None,
    policies: Sequence[Manifest] | None = None,
    topology: Manifest | None = None,
    phase: str | None = None,
    created: str | None = None,
    notes: Mapping[str, str] | None = None,
) -> Manifest:
    """A PodGroup: `minimum` of all members, `minimums` by role, `resources` that it needs to be admitted, and
    annotations as `notes`.
    """
    spec = given(
        minMember=minimum,
        minTaskMember=minimums,
        queue=queue,
        priorityClassName=priority,
        minResources=resources,
        subGroupPolicy=policies,
        networkTopology=topology,
    )
    metadata = given(creationTimestamp=created, annotations=notes)
    return manifest("PodGroup", name, GROUP, namespace, metadata=metadata, spec=spec, status=given(phase=phase))


def gang_of(*members: Manifest, name: str = "gang", minimum: int | None = None, **facts: Any) -> list[Manifest]:
    """These pods as one group; all of them must start together unless `minimum` is set.

    Members are numbered, and served in this order: `gang-task-0`, or `gang-<role>-0` for those with a role.
    """
    minimum = len(members) if minimum is None else minimum
    head = group(name, minimum, **facts)
    namespace = head["metadata"]["namespace"]
    return [head, *(_member(each, name, namespace, place) for place, each in enumerate(members))]


def _member(pod_manifest: Manifest, group_name: str, namespace: str, place: int) -> Manifest:
    metadata = pod_manifest["metadata"]
    annotations = {**metadata["annotations"], GROUP_NAME: group_name}
    name = f"{group_name}-{annotations.get(ROLE, 'task')}-{place}"
    naming = {"name": name, "namespace": namespace, "uid": uid_of("Pod", namespace, name)}
    return {**pod_manifest, "metadata": {**metadata, **naming, "annotations": annotations}}


_OF_GROUPS = frozenset(
    (
        *("name", "minimum", "minimums", "namespace", "queue", "resources", "policies", "topology", "phase"),
        *("created", "notes"),
    )
)


def gang(
    count: int, cpu: object = 1, *, roles: Sequence[str] = (), priority: str | None = None, **facts: Any
) -> list[Manifest]:
    """`count` equal pods as one group; `roles` names the role of each member, and facts are of pods or of groups."""
    of_group = {key: value for key, value in facts.items() if key in _OF_GROUPS}
    of_pods = {key: value for key, value in facts.items() if key not in _OF_GROUPS}
    members = [pod(cpu, role=role, **of_pods) for role in roles or [""] * count]
    return gang_of(*members, priority=priority, **of_group)


def running(places: str, cpu: object = 1, *, name: str = "old", minimum: int = 0, **facts: Any) -> list[Manifest]:
    """A group that runs already, one pod for each letter: the node it is on."""
    of_group = {key: value for key, value in facts.items() if key in _OF_GROUPS or key == "priority"}
    of_pods = {key: value for key, value in facts.items() if key not in of_group}
    members = [pod(cpu, nodeName=place, **of_pods) for place in places]
    return gang_of(*members, name=name, minimum=minimum, **{"phase": "Running", **of_group})


def foreign(place: str, cpu: object = 1, memory: object = None, *, name: str = "stranger", **facts: Any) -> Manifest:
    """A pod of another scheduler that is on a node already."""
    return pod(cpu, memory, name=name, nodeName=place, schedulerName="default-scheduler", **facts)


# -- the rest -----------------------------------------------------------------------------------------------------


def queue(
    name: str,
    weight: int | None = 1,
    *,
    capability: Amounts | None = None,
    guarantee: Amounts | None = None,
    deserved: Amounts | None = None,
    priority: int | None = None,
    parent: str | None = None,
    state: str | None = None,
    affinity: Manifest | None = None,
    strategy: str | None = None,
    annotations: Mapping[str, str] | None = None,
) -> Manifest:
    spec = given(
        dequeueStrategy=strategy,
        weight=weight,
        capability=capability,
        guarantee=None if guarantee is None else {"resource": guarantee},
        deserved=deserved,
        priority=priority,
        parent=parent,
        affinity=affinity,
    )
    metadata = given(annotations=annotations)
    return manifest("Queue", name, GROUP, metadata=metadata, spec=spec, status=given(state=state))


def budget(name: str, allowed: int | None, labels: Mapping[str, str], **facts: Any) -> Manifest:
    """A disruption budget; `allowed` is what its controller counted, None before the first count."""
    spec = {"selector": {"matchLabels": labels}, **facts.pop("spec", {})}
    status = given(disruptionsAllowed=allowed, **facts)
    return manifest("PodDisruptionBudget", name, "policy/v1", "default", spec=spec, status=status)


def quota(
    name: str, hard: Amounts, used: Amounts | None = None, *, namespace: str = "default", **spec: Any
) -> Manifest:
    status = {"hard": hard, "used": used or {}}
    return manifest("ResourceQuota", name, namespace=namespace, spec={"hard": hard, **spec}, status=status)


def priority_class(name: str, value: int, *, default: bool = False) -> Manifest:
    return manifest("PriorityClass", name, "scheduling.k8s.io/v1", value=value, globalDefault=default)


def namespace(name: str, **labels: str) -> Manifest:
    return manifest("Namespace", name, metadata={"labels": labels})
