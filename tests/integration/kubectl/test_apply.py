"""kubectl apply: client-side, server-side, and migration between them."""

from typing import Any

from tests.integration.kubectl.cluster import Kubectl
from tests.integration.kubectl.manifests import config_map, pod, pod_group, queue, several


def applied(kubectl: Kubectl, manifest: dict[str, Any], *words: str) -> str:
    """The last word of kubectl's output: created, configured, unchanged, serverside-applied."""
    return kubectl("apply", *words, "-f", "-", stdin=manifest).split()[-1]


def deployment(*containers: dict[str, Any]) -> dict[str, Any]:
    labels = {"app": "d"}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "d"},
        "spec": {
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": [*containers]}},
        },
    }


def test_client_side_apply(kubectl: Kubectl) -> None:
    assert applied(kubectl, pod("p")) == "created"
    assert applied(kubectl, pod("p")) == "unchanged"
    assert applied(kubectl, pod("p", image="busybox:2")) == "configured"
    assert kubectl("get", "pod", "p", "-o", "jsonpath={.spec.containers[*].image}") == "busybox:2"


def test_field_removed_from_manifest_is_removed_from_object(kubectl: Kubectl) -> None:
    environment = [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}]
    both = deployment({"name": "a", "image": "x", "env": environment}, {"name": "b", "image": "x"})
    assert applied(kubectl, both) == "created"
    assert applied(kubectl, deployment({"name": "a", "image": "x", "env": environment[1:]})) == "configured"
    containers = kubectl.stored("Deployment", "d")["spec"]["template"]["spec"]["containers"]
    assert [container["name"] for container in containers] == ["a"]
    assert containers[0]["env"] == environment[1:]


def test_client_side_apply_of_custom_resource(kubectl: Kubectl) -> None:
    assert applied(kubectl, pod_group("g", 2, queue="special")) == "created"
    assert applied(kubectl, pod_group("g", 3)) == "configured"
    assert applied(kubectl, pod_group("g", 3)) == "unchanged"
    assert kubectl.stored("PodGroup", "g")["spec"] == {"minMember": 3, "queue": "default"}


def test_server_side_apply(kubectl: Kubectl) -> None:
    assert applied(kubectl, config_map("c", a="1", b="1"), "--server-side") == "serverside-applied"
    version = kubectl("get", "cm", "c", "-o", "jsonpath={.metadata.resourceVersion}")
    assert applied(kubectl, config_map("c", a="1", b="1"), "--server-side") == "serverside-applied"
    assert kubectl("get", "cm", "c", "-o", "jsonpath={.metadata.resourceVersion}") == version
    applied(kubectl, config_map("c", a="1"), "--server-side")
    assert kubectl.stored("ConfigMap", "c")["data"] == {"a": "1"}


def test_two_field_managers(kubectl: Kubectl) -> None:
    applied(kubectl, config_map("c", a="1"), "--server-side")
    other = ("apply", "--server-side", "--field-manager=other", "-f", "-")
    refusal = kubectl.refusal(*other, stdin=config_map("c", a="2"))
    assert 'Apply failed with 1 conflict: conflict with "kubectl": .data.a' in refusal
    kubectl(*other, stdin=config_map("c", b="2"))
    kubectl(*other, "--force-conflicts", stdin=config_map("c", a="2", b="2"))
    assert kubectl.stored("ConfigMap", "c")["data"] == {"a": "2", "b": "2"}
    managed = kubectl.stored("ConfigMap", "c")["metadata"]["managedFields"]
    assert {entry["manager"]: entry["fieldsV1"] for entry in managed} == {"other": {"f:data": {"f:a": {}, "f:b": {}}}}


def test_migration_to_server_side_apply(kubectl: Kubectl) -> None:
    applied(kubectl, config_map("c", a="1", b="1"))
    applied(kubectl, config_map("c", a="2"), "--server-side")
    assert kubectl.stored("ConfigMap", "c")["data"] == {"a": "2"}
    managed = kubectl.stored("ConfigMap", "c")["metadata"]["managedFields"]
    assert {entry["operation"] for entry in managed} == {"Apply"}


def test_diff(kubectl: Kubectl) -> None:
    applied(kubectl, pod_group("g", 2), "--server-side")
    assert kubectl("diff", "--server-side", "-f", "-", stdin=pod_group("g", 2)) == ""
    changed = kubectl.attempt("diff", "-f", "-", stdin=pod_group("g", 3))
    assert changed.returncode == 1
    assert "-  minMember: 2\n+  minMember: 3" in changed.stdout
    assert kubectl.stored("PodGroup", "g")["spec"]["minMember"] == 2


def test_invalid_object_is_rejected(kubectl: Kubectl) -> None:
    typo = queue("q-typo", 1)
    typo["spec"]["weigth"] = 3
    assert 'unknown field "spec.weigth"' in kubectl.refusal("apply", "-f", "-", stdin=typo)
    assert "must be of type integer" in kubectl.refusal("apply", "-f", "-", stdin=queue("q-words", "many"))
    assert "spec.weight: Invalid value: 0" in kubectl.refusal("create", "-f", "-", stdin=queue("q-zero", 0))
    refusal = kubectl.refusal("create", "-n", "missing", "-f", "-", stdin=pod("p"))
    assert 'namespaces "missing" not found' in refusal


def test_second_create_fails(kubectl: Kubectl) -> None:
    both = several(config_map("a"), config_map("b"))
    assert kubectl("create", "-f", "-", stdin=both).splitlines() == ["configmap/a created", "configmap/b created"]
    assert '(AlreadyExists): error when creating "STDIN": configmaps "a" already exists' in kubectl.refusal(
        "create", "-f", "-", stdin=config_map("a")
    )
    assert kubectl("create", "--dry-run=server", "-f", "-", stdin=config_map("c")).endswith("(server dry run)")
    assert "NotFound" in kubectl.refusal("get", "cm", "c")


def test_prune(kubectl: Kubectl) -> None:
    manifests = [
        {**config_map(name, of=name), "metadata": {"name": name, "labels": {"set": "x"}}} for name in ("a", "b")
    ]
    kubectl("apply", "-f", "-", stdin=several(*manifests))
    kept = kubectl(
        "apply", "-f", "-", "--prune", "-l", "set=x", "--prune-allowlist=core/v1/ConfigMap", stdin=manifests[0]
    )
    assert kept.splitlines() == ["configmap/a unchanged", "configmap/b pruned"]
