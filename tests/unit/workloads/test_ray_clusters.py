"""Groups of Ray clusters: sub-groups by network topology and by replica, and the minimum of an autoscaled cluster."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from tests.unit.workloads.inputs import expanded, groups_of, pods_of, template, workload

MODE, TIER = "volcano.sh/network-topology-mode", "volcano.sh/network-topology-highest-tier-allowed"
NEAR = {"metadata": {"labels": {MODE: "hard", TIER: "1"}}}


def cluster(*groups: dict[str, Any], labels: dict[str, str] | None = None, **spec: Any) -> dict[str, Any]:
    fields = {"headGroupSpec": {"template": template()}, "workerGroupSpecs": list(groups), **spec}
    return workload("ray.io/v1", "RayCluster", fields, metadata={"labels": labels or {}})


def group(name: str, replicas: int, **fields: Any) -> dict[str, Any]:
    return {"groupName": name, "replicas": replicas, "minReplicas": 1, "template": template(), **fields}


def whole(name: str, size: int) -> dict[str, Any]:
    topology = {"mode": "hard", "highestTierAllowed": 1}
    return {
        "name": name, "subGroupSize": size, "minSubGroups": 1, "labelSelector": {"matchLabels": {"ray.io/group": name}},
        "matchLabelKeys": ["ray.io/group"], "networkTopology": topology,
    }  # fmt: skip


def sub_group(name: str, size: int, number: int, key: str) -> dict[str, Any]:
    return {
        "name": name, "subGroupSize": size, "minSubGroups": number,
        "labelSelector": {"matchLabels": {"ray.io/group": name}}, "matchLabelKeys": [f"ray.io/{key}"],
    }  # fmt: skip


HEAD = sub_group("headgroup", 1, 1, "group")


def replicas(name: str, number: int) -> dict[str, Any]:
    return sub_group(name, 1, number, "worker-group-replica-index")


AUTOSCALED: dict[str, Any] = {"enableInTreeAutoscaling": True}
HOSTS = sub_group("a", 2, 2, "worker-group-replica-name")
CASES = [
    ("no topology", cluster(group("a", 2)), 3, [HEAD, replicas("a", 2)]),
    ("topology of a group", cluster(group("a", 2, template={**template(), **NEAR}), group("b", 1)), 4,
     [HEAD, whole("a", 2), replicas("b", 1)]),
    ("several hosts", cluster(group("a", 2, numOfHosts=2)), 5, [HEAD, HOSTS]),
    ("one domain for all", cluster(group("a", 2, numOfHosts=2), labels={MODE: "soft"}), 5, []),
    ("a domain within that of all", cluster(group("a", 2, template={**template(), **NEAR}), labels={MODE: "soft"}), 3,
     [whole("a", 2)]),
    ("autoscaled", cluster(group("a", 3), **AUTOSCALED), 2, [HEAD, replicas("a", 1)]),
    ("autoscaled with a topology", cluster(group("a", 3, template={**template(), **NEAR}), **AUTOSCALED), 2,
     [HEAD, whole("a", 1)]),
    ("autoscaled from nothing", cluster(group("a", 0, minReplicas=0, template={**template(), **NEAR}), **AUTOSCALED), 1,
     [HEAD, replicas("a", 0)]),
    ("suspended group", cluster(group("a", 2, suspend=True), group("b", 1)), 2, [HEAD, replicas("b", 1)]),
]  # fmt: skip


@pytest.mark.parametrize(("document", "minimum", "policies"), [case[1:] for case in CASES], ids=[c[0] for c in CASES])
def test_group_has_the_minimum_and_the_sub_groups_of_the_cluster(
    document: dict[str, Any], minimum: int, policies: list[dict[str, Any]]
) -> None:
    found = groups_of(expanded(document))["ray-train-pg"].spec
    assert (found.min_member, msgspec.to_builtins(found.sub_group_policy or [])) == (minimum, policies)


def test_workers_have_the_labels_of_their_replica_and_host() -> None:
    pods = pods_of(expanded(cluster(group("a", 2, numOfHosts=2), group("b", 2))))
    names = ("worker-group-replica-index", "worker-group-replica-name", "replica-host-index")
    places = [[(pod.metadata.labels or {}).get(f"ray.io/{name}") for name in names] for pod in pods.values()]
    assert places == [
        [None, None, None],
        ["0", "a-0", "0"], ["0", "a-0", "1"], ["1", "a-1", "0"], ["1", "a-1", "1"],
        ["0", None, None], ["1", None, None],
    ]  # fmt: skip
