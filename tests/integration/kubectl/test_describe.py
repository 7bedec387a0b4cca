"""kubectl describe, explain and auth can-i."""

import pytest

from tests.integration.kubectl.cluster import Kubectl
from tests.integration.kubectl.manifests import event, node, pod, pod_group, queue


def test_describe_a_group_with_its_events(kubectl: Kubectl) -> None:
    kubectl.given(pod_group("g", 2, queue="default"))
    kubectl.given(event("e", kubectl.stored("PodGroup", "g")))
    description = kubectl("describe", "pg", "g")
    assert "Min Member:  2" in description
    assert description.splitlines()[-1].split()[:2] == ["Warning", "Unschedulable"]
    assert description.endswith("stromboli  2/2 tasks in gang unschedulable")
    assert kubectl.rows("get", "events")[0][1:4] == ["Warning", "Unschedulable", "podgroup/g"]
    assert "PodGroup/g" in kubectl("events", "--for", "pg/g")


def test_describe_a_pod_and_its_node(kubectl: Kubectl) -> None:
    kubectl.given(node("n-described"), pod("p", labels={"app": "x"}))
    kubectl.bind("p", "n-described")
    kubectl.given(event("e", kubectl.stored("Pod", "p")))
    description = kubectl("describe", "pod", "p")
    assert "PodScheduled   True" in description
    assert "Burstable" in description
    assert "2/2 tasks in gang unschedulable" in description
    described = kubectl("describe", "node", "n-described")
    assert "Non-terminated Pods:          (1 in total)" in described
    assert "100m (2%)" in described


def test_describe_a_queue(kubectl: Kubectl) -> None:
    kubectl.given(queue("q-described", 3))
    description = kubectl("describe", "queue", "q-described")
    assert "Weight:  3" in description
    assert "Events:    <none>" in description


def test_explain(kubectl: Kubectl) -> None:
    described = kubectl("explain", "podgroup.spec")
    assert "GROUP:      scheduling.volcano.sh" in described
    assert "minMember\t<integer>" in described
    assert "FIELD: weight <integer>" in kubectl("explain", "queues.spec.weight")
    assert "image\t<string>" in kubectl("explain", "pod.spec.containers")
    assert "labels\t<map[string]string>" in kubectl("explain", "node.metadata")


def test_auth_can_i(kubectl: Kubectl) -> None:
    assert "system:masters" in kubectl("auth", "whoami")
    assert kubectl("auth", "can-i", "create", "pods") == "yes"
    assert "*.*" in kubectl("auth", "can-i", "--list")


@pytest.mark.only("embedded", because="no containers run in a simulated cluster")
def test_unsupported_subresources(kubectl: Kubectl) -> None:
    kubectl.given(node("n-unsupported"), pod("p"))
    kubectl.bind("p", "n-unsupported")
    path = kubectl.path("Pod", "p")
    kubectl.cluster.merge(f"{path}/status", {"status": {"phase": "Running"}})
    assert "there is no log in a simulated cluster" in kubectl.refusal("logs", "p")
    assert "there is no exec in a simulated cluster" in kubectl.refusal("exec", "p", "--", "ls")
    assert "there is no attach in a simulated cluster" in kubectl.refusal("attach", "p")
    assert "there is no portforward in a simulated cluster" in kubectl.refusal("port-forward", "p", "8080")
