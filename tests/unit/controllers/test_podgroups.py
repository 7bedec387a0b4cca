"""The group that a plain pod gets."""

from typing import Any

import msgspec
import pytest

from stromboli.controllers.podgroups import group_for, group_name, is_plain, with_group
from stromboli.kube.objects.pod import Pod

REPLICA_SET = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": "rs-1", "controller": True}
FRIEND = {"apiVersion": "v1", "kind": "ConfigMap", "name": "notes", "uid": "cm-1"}


def pod(spec: dict[str, Any] | None = None, **metadata: Any) -> Pod:
    document = {"metadata": {"name": "a", "namespace": "ns", "uid": "p-1", **metadata}, "spec": spec or {}}
    return msgspec.convert(document, Pod)


NAMES = [
    ("a pod alone", pod(), "podgroup-p-1"),
    ("a pod with an owner", pod(ownerReferences=[FRIEND, REPLICA_SET]), "podgroup-rs-1"),
    ("an owner that does not control it", pod(ownerReferences=[FRIEND]), "podgroup-p-1"),
]


@pytest.mark.parametrize(("one", "name"), [case[1:] for case in NAMES], ids=[case[0] for case in NAMES])
def test_name(one: Pod, name: str) -> None:
    assert group_name(one) == group_for(one).metadata.name == name


def test_only_pods_of_ours_without_a_group_are_plain() -> None:
    ours = pod({"schedulerName": "volcano"})
    assert is_plain(ours, ["volcano"])
    assert not is_plain(ours, ["other"])
    assert not is_plain(with_group(ours, "train"), ["volcano"])


def test_a_group_goes_with_the_owner_of_its_pods_or_with_its_pod() -> None:
    owned = group_for(pod(ownerReferences=[FRIEND, REPLICA_SET])).metadata.owner_references
    assert msgspec.to_builtins(owned) == [FRIEND, REPLICA_SET]
    alone = group_for(pod(ownerReferences=[FRIEND])).metadata.owner_references
    assert msgspec.to_builtins(alone) == [
        {"apiVersion": "v1", "kind": "Pod", "name": "a", "uid": "p-1", "controller": True}
    ]


def test_only_what_is_meant_for_the_scheduler_is_copied() -> None:
    group = group_for(
        pod(
            annotations={"volcano.sh/preemptable": "true", "kubectl.kubernetes.io/last-applied-configuration": "{}"},
            labels={"app": "a", "volcano.sh/queue-name": "research"},
        )
    )
    assert group.metadata.annotations == {"volcano.sh/preemptable": "true"}
    assert group.metadata.labels == {"volcano.sh/queue-name": "research"}
    assert group.spec.queue == "research"


def test_topology_constraints_of_the_pod_are_copied() -> None:
    inherited = {"kai.scheduler/topology": "net", "kai.scheduler/topology-required-placement": "rack", "kai.io/x": "y"}
    group = group_for(pod(annotations={"kai.scheduler/topology-required-placement": "block"}), inherited)
    assert group.metadata.annotations == {
        "kai.scheduler/topology": "net",
        "kai.scheduler/topology-required-placement": "block",
    }


MINIMUMS = [
    ("nothing said", {}, {}, 1),
    ("the pod has the annotation", {"scheduling.volcano.sh/group-min-member": "3"}, {}, 3),
    ("the owner has the annotation", {}, {"scheduling.volcano.sh/group-min-member": "4"}, 4),
    ("the pod knows better", {"scheduling.volcano.sh/group-min-member": "3"},
     {"scheduling.volcano.sh/group-min-member": "4"}, 3),
    ("nonsense", {"scheduling.volcano.sh/group-min-member": "many"}, {}, 1),
    ("negative", {"scheduling.volcano.sh/group-min-member": "-1"}, {}, 1),
]  # fmt: skip


@pytest.mark.parametrize(("own", "inherited", "minimum"), [case[1:] for case in MINIMUMS], ids=[c[0] for c in MINIMUMS])
def test_minimum(own: dict[str, str], inherited: dict[str, str], minimum: int) -> None:
    assert group_for(pod(annotations=own), inherited).spec.min_member == minimum


TOPOLOGIES = [
    ("none", {}, None),
    ("both", {"volcano.sh/network-topology-mode": "soft", "volcano.sh/network-topology-highest-tier": "2"},
     {"mode": "soft", "highestTierAllowed": 2}),
    ("a tier alone is a must", {"volcano.sh/network-topology-highest-tier": "1"},
     {"mode": "hard", "highestTierAllowed": 1}),
    ("a mode alone", {"volcano.sh/network-topology-mode": "hard"}, {"mode": "hard"}),
    ("nonsense", {"volcano.sh/network-topology-mode": "firm", "volcano.sh/network-topology-highest-tier": "x"}, None),
]  # fmt: skip


@pytest.mark.parametrize(("annotations", "expected"), [case[1:] for case in TOPOLOGIES], ids=[c[0] for c in TOPOLOGIES])
def test_topology(annotations: dict[str, str], expected: dict[str, Any] | None) -> None:
    assert msgspec.to_builtins(group_for(pod(annotations=annotations)).spec.network_topology) == expected


def asking(requests: dict[str, Any], **container: Any) -> dict[str, Any]:
    return {"resources": {"requests": requests}, **container}


RESOURCES = [
    ("nothing", [{}], [], None),
    ("one container", [asking({"cpu": "2", "memory": "1Gi"})], [], {"cpu": "2", "memory": "1Gi"}),
    ("two containers", [asking({"cpu": "1"}), asking({"cpu": "500m", "gpu.com/a": 1})], [],
     {"cpu": "1500m", "gpu.com/a": "1"}),
    ("a limit is a request", [{"resources": {"limits": {"cpu": "3"}}}], [], {"cpu": "3"}),
    ("a greedy start", [asking({"cpu": "1"})], [asking({"cpu": "4"})], {"cpu": "4"}),
    ("nonsense", [asking({"cpu": "many"})], [], None),
]  # fmt: skip


@pytest.mark.parametrize(
    ("containers", "starters", "expected"), [c[1:] for c in RESOURCES], ids=[c[0] for c in RESOURCES]
)
def test_minimum_resources(containers: list[Any], starters: list[Any], expected: dict[str, str] | None) -> None:
    assert group_for(pod({"containers": containers, "initContainers": starters})).spec.min_resources == expected


def test_the_rest_of_the_spec() -> None:
    spec = {"priorityClassName": "high"}
    group = group_for(pod(spec, annotations={"scheduling.volcano.sh/queue-name": "research"}))
    assert group.spec.priority_class_name == "high"
    assert group.spec.queue == "research"
