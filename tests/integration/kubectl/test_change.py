"""kubectl patch, edit, label, annotate, replace, taint and cordon."""

from tests.integration.kubectl.cluster import Kubectl
from tests.integration.kubectl.manifests import config_map, node, pod, pod_group, queue


def test_patch_types(kubectl: Kubectl) -> None:
    kubectl.given(pod("p"), pod_group("g", 2))
    kubectl("patch", "pod", "p", "-p", '{"spec":{"containers":[{"name":"main","image":"busybox:9"}]}}')
    kubectl("patch", "pg", "g", "--type=merge", "-p", '{"spec":{"minMember":5,"queue":"q"}}')
    kubectl("patch", "pg", "g", "--type=json", "-p", '[{"op":"remove","path":"/spec/queue"}]')
    container = kubectl.stored("Pod", "p")["spec"]["containers"][0]
    assert (container["image"], container["resources"]["requests"]) == ("busybox:9", {"cpu": "100m"})
    assert kubectl.stored("PodGroup", "g")["spec"] == {"minMember": 5, "queue": "default"}
    assert "strategic-merge-patch+json is not supported" in kubectl.refusal("patch", "pg", "g", "-p", "{}")
    failing = '[{"op":"test","path":"/spec/minMember","value":7}]'
    assert "the server rejected our request due to an error in our request" in kubectl.refusal(
        "patch", "pg", "g", "--type=json", "-p", failing
    )


def test_status_subresource(kubectl: Kubectl) -> None:
    kubectl.given(queue("q-status", 1), pod_group("g", 1))
    words = ("--type=merge", "--subresource=status", "-p")
    kubectl("patch", "queue", "q-status", *words, '{"status":{"state":"Closed"},"spec":{"weight":9}}')
    found = kubectl.stored("Queue", "q-status")
    assert (found["status"]["state"], found["spec"]["weight"]) == ("Closed", 1)
    assert "NotFound" in kubectl.refusal("patch", "pg", "g", *words, '{"status":{"phase":"Running"}}')


def test_edit(kubectl: Kubectl) -> None:
    kubectl.given(config_map("c", colour="red"), pod_group("g", 2))
    assert kubectl("edit", "cm", "c", KUBE_EDITOR="sed -i s/colour:/paint:/") == "configmap/c edited"
    assert kubectl.stored("ConfigMap", "c")["data"] == {"paint": "red"}
    kubectl("edit", "pg", "g", KUBE_EDITOR="sed -i s/minMember:.2/minMember:\\ 4/")
    assert kubectl.stored("PodGroup", "g")["spec"]["minMember"] == 4


def test_labels_and_annotations(kubectl: Kubectl) -> None:
    kubectl.given(pod("p", labels={"a": "1"}))
    kubectl("label", "pod", "p", "b=2", "a-")
    assert "already has a value" in kubectl.refusal("label", "pod", "p", "b=3")
    kubectl("annotate", "pod", "p", "note=hello")
    metadata = kubectl.stored("Pod", "p")["metadata"]
    assert (metadata["labels"], metadata["annotations"]) == ({"b": "2"}, {"note": "hello"})


def test_replace(kubectl: Kubectl) -> None:
    kubectl.given(config_map("c", a="1"))
    stale = kubectl.stored("ConfigMap", "c")
    kubectl("replace", "-f", "-", stdin=config_map("c", b="2"))
    assert kubectl.stored("ConfigMap", "c")["data"] == {"b": "2"}
    assert "the object has been modified" in kubectl.refusal("replace", "-f", "-", stdin=stale)
    kubectl("replace", "--force", "-f", "-", stdin=config_map("c", c="3"))
    renewed = kubectl.stored("ConfigMap", "c")
    assert renewed["data"] == {"c": "3"}
    assert renewed["metadata"]["uid"] != stale["metadata"]["uid"]


def test_taint_and_cordon(kubectl: Kubectl) -> None:
    kubectl.given(node("n-taint"))
    kubectl("taint", "node", "n-taint", "gpu=a:NoSchedule", "gpu=a:NoExecute", "other=b:NoSchedule")
    kubectl("taint", "node", "n-taint", "gpu:NoSchedule-", "other-")
    kubectl("cordon", "n-taint")
    assert kubectl.rows("get", "node", "n-taint")[0][1] == "Ready,SchedulingDisabled"
    taints = kubectl.stored("Node", "n-taint")["spec"]["taints"]
    assert {"key": "gpu", "value": "a", "effect": "NoExecute"} in taints
    assert "other" not in {taint["key"] for taint in taints}
    kubectl("uncordon", "n-taint")
    assert kubectl.rows("get", "node", "n-taint")[0][1] == "Ready"


def test_pod_spec_is_immutable(kubectl: Kubectl) -> None:
    kubectl.given(pod("p"))
    patch = '{"spec":{"schedulerName":"other"}}'
    assert "pod updates may not change fields other than" in kubectl.refusal("patch", "pod", "p", "-p", patch)
