"""The group that a plain pod gets."""

from typing import Any

import msgspec
import pytest

from stromboli.kube.objects.pod import Pod
from stromboli.workloads.groups import group_name, is_plain
from stromboli.workloads.plain_groups import group_for, owner_changes, with_group

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
    assert group.metadata.annotations == {
        "volcano.sh/preemptable": "true",
        "scheduling.volcano.sh/queue-name": "research",
    }
    assert group.metadata.labels is None, "one spelling of the queue is left"
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


@pytest.mark.parametrize(
    ("minimum", "expected"),
    [("4", {"cpu": "8", "memory": "4Gi", "gpu.com/a": "4"}), ("0", None)],
    ids=["of all pods that start together", "of none"],
)
def test_minimum_resources_are_those_of_the_minimum(minimum: str, expected: dict[str, str] | None) -> None:
    spec = {"containers": [asking({"cpu": "2", "memory": "1Gi", "gpu.com/a": 1})]}
    group = group_for(pod(spec), {"scheduling.volcano.sh/group-min-member": minimum})
    assert group.spec.min_resources == expected


SIZE, QUEUE = "scheduling.volcano.sh/group-min-member", "scheduling.volcano.sh/queue-name"
MODE, TIER = "volcano.sh/network-topology-mode", "volcano.sh/network-topology-highest-tier"
#: The annotations of the owner before and after, and the patch of the spec; None for no patch.
CHANGES: list[tuple[str, dict[str, str], dict[str, str], dict[str, Any] | None]] = [
    ("nothing changes", {SIZE: "2"}, {SIZE: "2"}, None),
    ("a size", {}, {SIZE: "2"}, {"minMember": 2, "minResources": {"cpu": "4"}}),
    ("another size", {SIZE: "2"}, {SIZE: "3"}, {"minMember": 3, "minResources": {"cpu": "6"}}),
    ("size 0", {SIZE: "2"}, {SIZE: "0"}, {"minMember": 0, "minResources": {"cpu": None}}),
    ("no size", {SIZE: "2"}, {}, {"minMember": 1, "minResources": {"cpu": "2"}}),
    ("another queue", {QUEUE: "left"}, {QUEUE: "right"}, {"queue": "right"}),
    ("a topology", {}, {MODE: "soft"}, {"networkTopology": {"mode": "soft", "highestTierAllowed": None}}),
    ("another tier", {MODE: "hard", TIER: "2"}, {MODE: "hard", TIER: "1"},
     {"networkTopology": {"mode": "hard", "highestTierAllowed": 1}}),
    ("no topology", {MODE: "soft"}, {}, {"networkTopology": None}),
    ("an annotation of the group", {}, {"volcano.sh/preemptable": "true"}, {}),
    ("annotations that the group has of its own stay", {"volcano.sh/preemptable": "true"}, {}, None),
]  # fmt: skip


@pytest.mark.parametrize(("before", "after", "expected"), [c[1:] for c in CHANGES], ids=[c[0] for c in CHANGES])
def test_group_follows_its_owner(
    before: dict[str, str], after: dict[str, str], expected: dict[str, Any] | None
) -> None:
    one = pod({"containers": [asking({"cpu": "2"})]})
    patch = owner_changes(group_for(one, before), group_for(one, after))
    assert (patch and patch["spec"]) == expected
    if patch is not None:
        merged = {**before, **patch["metadata"]["annotations"]}
        assert {key: value for key, value in merged.items() if value is not None} == after


def test_fields_that_others_have_set_stay_when_the_owner_changes() -> None:
    group, desired = group_for(pod(), {SIZE: "2"}), group_for(pod(), {SIZE: "2", QUEUE: "right"})
    group.spec.min_member = 5
    patch = owner_changes(group, desired)
    assert patch is not None
    assert patch["spec"] == {"queue": "right"}


def test_the_rest_of_the_spec() -> None:
    spec = {"priorityClassName": "high"}
    group = group_for(pod(spec, annotations={"scheduling.volcano.sh/queue-name": "research"}))
    assert group.spec.priority_class_name == "high"
    assert group.spec.queue == "research"
