"""kubectl delete, wait and drain."""

import pytest

from tests.integration.kubectl.cluster import Kubectl
from tests.integration.kubectl.manifests import config_map, node, pod


def bound_pod(kubectl: Kubectl, name: str, on: str, **labels: str) -> str:
    """Create a ready pod on a node; return its path."""
    kubectl.given(pod(name, labels=labels))
    kubectl.bind(name, on)
    ready = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
    kubectl.cluster.merge(f"{kubectl.path('Pod', name)}/status", {"status": ready})
    return kubectl.path("Pod", name)


def test_delete_by_name_label_and_all(kubectl: Kubectl) -> None:
    kubectl.given(*(pod(f"p{i}", labels={"i": str(i % 2)}) for i in range(5)))
    assert kubectl("delete", "pod", "p0") == f'pod "p0" deleted from {kubectl.namespace} namespace'
    assert len(kubectl("delete", "pods", "-l", "i=1").splitlines()) == 2
    assert kubectl("get", "pods", "-o", "name").splitlines() == ["pod/p2", "pod/p4"]
    kubectl("delete", "pods", "--all")
    assert kubectl("get", "pods", "-o", "name") == ""
    assert "NotFound" in kubectl.refusal("delete", "pod", "p0")
    assert kubectl("delete", "pod", "p0", "--ignore-not-found") == ""


def test_bound_pod_is_deleted_by_its_kubelet(kubectl: Kubectl) -> None:
    path = bound_pod(kubectl, "p", "n-unmanaged")
    kubectl("delete", "pod", "p", "--wait=false")
    assert kubectl.rows("get", "pod", "p")[0][2] == "Terminating"
    with kubectl.running("wait", "--for=delete", "pod/p", "--timeout=40s") as waiting:
        kubectl.cluster.remove(path)
        printed, _ = waiting.communicate()
    assert (waiting.returncode, printed.strip() in ("pod/p condition met", "")) == (0, True)


def test_force_delete(kubectl: Kubectl) -> None:
    bound_pod(kubectl, "p", "n-unmanaged")
    done = kubectl.attempt("delete", "pod", "p", "--grace-period=0", "--force")
    assert "force deleted" in done.stdout
    assert kubectl("get", "pods", "-o", "name") == ""


def test_finalizer_delays_deletion(kubectl: Kubectl) -> None:
    held = config_map("c")
    held["metadata"]["finalizers"] = ["example.org/held"]
    kubectl.given(held)
    assert "timed out waiting for the condition" in kubectl.refusal("delete", "cm", "c", "--timeout=500ms")
    assert "deletionTimestamp" in kubectl.stored("ConfigMap", "c")["metadata"]
    kubectl("patch", "cm", "c", "--type=json", "-p", '[{"op":"remove","path":"/metadata/finalizers"}]')
    assert "NotFound" in kubectl.refusal("get", "cm", "c")


@pytest.mark.only("embedded", because="a bare control plane has no namespace controller")
def test_namespace_is_deleted_with_contents(kubectl: Kubectl) -> None:
    kubectl.given(config_map("c"), pod("p"))
    assert kubectl("delete", "namespace", kubectl.namespace) == f'namespace "{kubectl.namespace}" deleted'
    assert kubectl("get", "pods,configmaps", "-o", "name") == ""
    assert "NotFound" in kubectl.refusal("get", "namespace", kubectl.namespace)


def test_wait(kubectl: Kubectl) -> None:
    path = bound_pod(kubectl, "p", "n-unmanaged")
    assert kubectl("wait", "--for=condition=Ready", "pod/p") == "pod/p condition met"
    assert kubectl("wait", "--for=jsonpath={.status.phase}=Running", "pod/p") == "pod/p condition met"
    assert "timed out" in kubectl.refusal("wait", "--for=condition=Gone", "pod/p", "--timeout=500ms")
    with kubectl.running("wait", "--for=jsonpath={.status.phase}=Succeeded", "pod/p", "--timeout=40s") as waiting:
        kubectl.cluster.merge(f"{path}/status", {"status": {"phase": "Succeeded"}})
        printed, _ = waiting.communicate()
    assert printed.strip() == "pod/p condition met"


def test_disruption_budget_blocks_eviction(kubectl: Kubectl) -> None:
    path = bound_pod(kubectl, "p", "n-unmanaged", app="guarded")
    kubectl("create", "pdb", "guard", "--selector=app=guarded", "--min-available=1")
    counted = {"observedGeneration": 1, "currentHealthy": 1, "desiredHealthy": 1, "expectedPods": 1}
    budget = f"/apis/policy/v1/namespaces/{kubectl.namespace}/poddisruptionbudgets/guard/status"
    kubectl.cluster.merge(budget, {"status": {**counted, "disruptionsAllowed": 0}})
    eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "p"}}
    refusal = kubectl.refusal("create", "--raw", f"{path}/eviction", "-f", "-", stdin=eviction)
    assert "Cannot evict pod as it would violate the pod's disruption budget" in refusal
    kubectl.cluster.merge(budget, {"status": {"disruptionsAllowed": 1}})
    kubectl("create", "--raw", f"{path}/eviction", "-f", "-", stdin=eviction)
    assert kubectl.rows("get", "pdb", "guard")[0][3] == "0"


def test_drain(kubectl: Kubectl) -> None:
    kubectl.given(node("n-drain"))
    path = bound_pod(kubectl, "p", "n-drain")
    with kubectl.running("drain", "n-drain", "--force", "--timeout=40s") as draining:
        kubectl("wait", "--for=condition=DisruptionTarget", "pod/p", "--timeout=40s")
        kubectl.cluster.remove(path)
        printed, _ = draining.communicate()
    assert printed.splitlines()[-1] == "node/n-drain drained"
    assert kubectl.rows("get", "node", "n-drain")[0][1] == "Ready,SchedulingDisabled"
