"""Objects that a hostile tenant can create, by family: each makes one dimension as large as the API server allows.

A family is a function from a number to manifests in the namespace `hostile`. The numbers of `FAMILIES` are those of the
long suite; the suite of the tests uses fewer.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

Manifest = dict[str, Any]
Family = Callable[[int], list[Manifest]]

NAMESPACE = "hostile"
GROUP = "scheduling.volcano.sh/v1beta1"
DRIVER = "devices.example.com"
#: Nodes of the suites have labels `zone` and `kubernetes.io/hostname`, and devices of this driver.
DEVICES_PER_NODE = 8


def manifest(kind: str, name: str, version: str = "v1", namespace: str | None = NAMESPACE, **fields: Any) -> Manifest:
    metadata = {"name": name, **({"namespace": namespace} if namespace else {}), **fields.pop("metadata", {})}
    return {"apiVersion": version, "kind": kind, "metadata": metadata, **fields}


def pod(
    name: str, group: str, *, metadata: Manifest | None = None, container: Manifest | None = None, **spec: Any
) -> Manifest:
    requests = {"cpu": "10m", "memory": "1Mi"}
    main = {"name": "main", "image": "registry.k8s.io/pause", "resources": {"requests": requests}, **(container or {})}
    annotations = {"scheduling.k8s.io/group-name": group}
    described = {"schedulerName": "stromboli", "containers": [main], **spec}
    return manifest("Pod", name, metadata={"annotations": annotations, **(metadata or {})}, spec=described)


def group(name: str, minimum: int = 1, **spec: Any) -> Manifest:
    return manifest("PodGroup", name, GROUP, spec={"minMember": minimum, "queue": "default", **spec})


def _pods(number: int, spec_of: Callable[[int], Manifest]) -> list[Manifest]:
    """Pods with a group each; the specification of each differs."""
    found = []
    for place in range(number):
        name = f"h-{place:05}"
        found += [group(name), pod(name, name, **spec_of(place))]
    return found


def _selecting_all(place: int) -> Manifest:
    """A term that selects every pod of every namespace, and is equal to no other."""
    absent = {"key": f"absent-{place}", "operator": "DoesNotExist"}
    return {"labelSelector": {"matchExpressions": [absent]}, "topologyKey": "zone", "namespaceSelector": {}}


def ports(number: int) -> list[Manifest]:
    def spec(place: int) -> Manifest:
        taken = range(1 + 100 * place % 50_000, 3001 + 100 * place % 50_000)
        return {"container": {"ports": [{"containerPort": each, "hostPort": each} for each in taken]}}

    return _pods(number, spec)


def resource_names(number: int) -> list[Manifest]:
    def spec(place: int) -> Manifest:
        made_up = {f"example.com/r-{place}-{each}": "1" for each in range(60)}
        return {"container": {"resources": {"requests": made_up, "limits": made_up}}}

    return _pods(number, spec)


def claims(number: int) -> list[Manifest]:
    """More devices of different slots than there are slots: the search has to try all combinations."""
    made: list[Manifest] = []
    for place in range(number):
        request = {"name": f"r{place}", "exactly": {"deviceClassName": "device", "count": DEVICES_PER_NODE // 2 + 1}}
        devices = {"requests": [request], "constraints": [{"distinctAttribute": f"{DRIVER}/slot"}]}
        made.append(manifest("ResourceClaim", f"c-{place}", "resource.k8s.io/v1", spec={"devices": devices}))
    pods = _pods(number, lambda place: {"resourceClaims": [{"name": "c", "resourceClaimName": f"c-{place}"}]})
    return [*made, *pods]


def affinity(number: int) -> list[Manifest]:
    def spec(place: int) -> Manifest:
        term = {"weight": 1, "podAffinityTerm": _selecting_all(place)}
        return {"affinity": {"podAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [term]}}}

    return _pods(number, spec)


def anti_affinity(number: int) -> list[Manifest]:
    """Never placed: pods of others are everywhere. Their terms select every pod nevertheless."""

    def spec(place: int) -> Manifest:
        required = {"requiredDuringSchedulingIgnoredDuringExecution": [_selecting_all(place)]}
        return {"affinity": {"podAntiAffinity": required}, "nodeSelector": {"no-such-label": "x"}}

    return _pods(number, spec)


def running_affinity(number: int) -> list[Manifest]:
    """Preferences of pods that run: they count from the first placement on."""
    found = affinity(number)
    for place, each in enumerate(found[1::2]):
        each["spec"]["nodeName"], each["status"] = f"node-{place:06}", {"phase": "Running"}
    return found


def budgets(number: int) -> list[Manifest]:
    """PodDisruptionBudgets that select all pods of the namespace, each in another way."""
    found: list[Manifest] = []
    for place in range(number):
        selector = {"matchExpressions": [{"key": f"absent-{place}", "operator": "DoesNotExist"}]}
        spec = {"minAvailable": "100%", "selector": selector}
        found.append(manifest("PodDisruptionBudget", f"b-{place}", "policy/v1", spec=spec))
    return [*found, *_pods(number, lambda place: {})]


def spread(number: int) -> list[Manifest]:
    def spec(place: int) -> Manifest:
        keys = ("zone", "kubernetes.io/hostname")
        selector = {"matchExpressions": [{"key": f"absent-{place}", "operator": "DoesNotExist"}]}
        hard = {"maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule", "labelSelector": selector}
        return {"topologySpreadConstraints": [{**hard, "topologyKey": key} for key in keys]}

    return _pods(number, spec)


def containers(number: int) -> list[Manifest]:
    def spec(place: int) -> Manifest:
        requests = {"requests": {"cpu": "1m"}}
        many = [{"name": f"c-{each}", "image": f"image-{each}", "resources": requests} for each in range(3_000)]
        return {"initContainers": [], "containers": many, "terminationGracePeriodSeconds": place}

    return _pods(number, spec)


def tolerations(number: int) -> list[Manifest]:
    def spec(place: int) -> Manifest:
        many = ({"key": f"k-{place}-{each}", "operator": "Equal", "value": "v"} for each in range(4_000))
        return {"tolerations": [{**each, "effect": "NoSchedule"} for each in many]}

    return _pods(number, spec)


def selector_values(number: int) -> list[Manifest]:
    def spec(place: int) -> Manifest:
        values = [f"value-{place}-{each}" for each in range(12_000)]
        wanted = {"key": "kubernetes.io/hostname", "operator": "NotIn", "values": values}
        return {"affinity": _on_nodes([{"matchExpressions": [wanted]}])}

    return _pods(number, spec)


def node_terms(number: int) -> list[Manifest]:
    def spec(place: int) -> Manifest:
        terms = [{"matchExpressions": [{"key": f"label-{place}-{each}", "operator": "Exists"}]} for each in range(500)]
        return {"affinity": _on_nodes(terms)}

    return _pods(number, spec)


def _on_nodes(terms: Sequence[Manifest]) -> Manifest:
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": list(terms)}}}


def metadata(number: int) -> list[Manifest]:
    """Labels and annotations as large as the API server accepts."""

    def spec(place: int) -> Manifest:
        labels = {f"label-{place}-{each}": "v" * 60 for each in range(500)}
        notes = {"scheduling.k8s.io/group-name": f"h-{place:05}", "note": "x" * 250_000}
        return {"metadata": {"labels": labels, "annotations": notes}}

    return _pods(number, spec)


def tiny_gangs(number: int) -> list[Manifest]:
    """Very many jobs that never fit."""
    return _pods(number, lambda place: {"container": {"resources": {"requests": {"cpu": "100000"}}}})


def huge_gang(number: int) -> list[Manifest]:
    """One gang, larger than the cluster."""
    return [group("huge", number), *(pod(f"huge-{place:06}", "huge") for place in range(number))]


def minimums(number: int) -> list[Manifest]:
    """Groups without pods and with absurd minimums."""
    absurd = {"cpu": "900000000000", "memory": "8000Pi", "example.com/none": "9000000000000"}
    return [group(f"h-{place:05}", 2_000_000_000, minResources=absurd) for place in range(number)]


def queue_weights(number: int) -> list[Manifest]:
    return [*_queues(number, weight=2_000_000_000), *_in_queues(number)]


def queue_guarantees(number: int) -> list[Manifest]:
    return [*_queues(number, weight=1, guarantee={"resource": {"cpu": "1000000"}}), *_in_queues(number)]


def _queues(number: int, **spec: Any) -> list[Manifest]:
    return [manifest("Queue", f"hostile-{place}", GROUP, None, spec=spec) for place in range(number)]


def _in_queues(number: int) -> list[Manifest]:
    found = []
    for place in range(number):
        name = f"h-{place:05}"
        found += [group(name, queue=f"hostile-{place}"), pod(name, name)]
    return found


def group_churn(number: int) -> list[Manifest]:
    """Deleted and created in every cycle."""
    return _pods(number, lambda place: {})


def status_churn(number: int) -> list[Manifest]:
    """Changed labels and conditions in every cycle."""
    return _pods(number, lambda place: {"nodeSelector": {"no-such-label": "x"}})


def sub_groups(number: int) -> list[Manifest]:
    found: list[Manifest] = []
    for place in range(number):
        name = f"h-{place:05}"
        topology = {"mode": "hard", "highestTierAllowed": 1}
        policies = [
            {"name": f"s-{each}", "subGroupSize": 1, "minSubGroups": 1_000, "matchLabelKeys": ["part"],
             "networkTopology": topology}
            for each in range(50)
        ]  # fmt: skip
        found.append(group(name, 1, subGroupPolicy=policies, networkTopology=topology))
        for each in range(5):
            labelled = {"labels": {"part": str(each)}, "annotations": {"scheduling.k8s.io/group-name": name}}
            found.append(pod(f"{name}-{each}", name, metadata=labelled))
    return found


def priorities(number: int) -> list[Manifest]:
    version = "scheduling.k8s.io/v1"
    classes = [manifest("PriorityClass", f"hostile-{each}", version, None, value=each) for each in range(number)]
    return [*classes, *_pods(number, lambda place: {"priorityClassName": f"hostile-{place}"})]


def volumes(number: int) -> list[Manifest]:
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    names = [f"v-{place}-{each}" for place in range(number) for each in range(50)]
    made = [manifest("PersistentVolumeClaim", name, spec=spec) for name in names]

    def using(place: int) -> Manifest:
        sources = ({"claimName": f"v-{place}-{each}"} for each in range(50))
        return {"volumes": [{"name": f"v{each}", "persistentVolumeClaim": one} for each, one in enumerate(sources)]}

    return [*made, *_pods(number, using)]


def gates(number: int) -> list[Manifest]:
    return _pods(number, lambda place: {"schedulingGates": [{"name": f"example.com/gate-{n}"} for n in range(500)]})


def invalid(number: int) -> list[Manifest]:
    """Objects of every kind that a server without webhooks may have stored."""
    wrong: list[Manifest] = []
    for place in range(number):
        name = f"h-{place:05}"
        wrong += [
            group(name, -5, minResources={"cpu": "many"}),
            pod(name, name, container={"resources": {"requests": {"cpu": "-1"}}}),
            pod(f"{name}-b", "no-such-group", topologySpreadConstraints=[{"maxSkew": -1, "topologyKey": ""}]),
            manifest("Queue", f"hostile-{place}", GROUP, None, spec={"weight": -1, "parent": f"hostile-{place}"}),
            manifest("ResourceQuota", name, spec={"hard": {"cpu": "x"}}),
        ]
    return wrong


#: The families, and the number of the long suite.
FAMILIES: dict[str, tuple[Family, int]] = {
    "ports": (ports, 75),
    "resource-names": (resource_names, 250),
    "claims": (claims, 10),
    "affinity": (affinity, 350),
    "running-affinity": (running_affinity, 350),
    "anti-affinity": (anti_affinity, 350),
    "budgets": (budgets, 300),
    "spread": (spread, 100),
    "containers": (containers, 18),
    "tolerations": (tolerations, 50),
    "selector-values": (selector_values, 50),
    "node-terms": (node_terms, 100),
    "metadata": (metadata, 50),
    "tiny-gangs": (tiny_gangs, 500),
    "huge-gang": (huge_gang, 10_000),
    "minimums": (minimums, 500),
    "queue-weights": (queue_weights, 100),
    "queue-guarantees": (queue_guarantees, 1),
    "group-churn": (group_churn, 100),
    "status-churn": (status_churn, 300),
    "sub-groups": (sub_groups, 100),
    "priorities": (priorities, 300),
    "volumes": (volumes, 40),
    "gates": (gates, 300),
    "invalid": (invalid, 200),
}
