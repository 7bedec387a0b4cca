"""kubectl get: tables, output formats, selectors and watches."""

import subprocess

import pytest

from tests.integration.kubectl.cluster import Kubectl
from tests.integration.kubectl.manifests import node, pod, pod_group


@pytest.fixture
def pods(kubectl: Kubectl) -> Kubectl:
    """A namespace with three pods, one of them running on a node."""
    kubectl.given(*(pod(name, labels={"app": app}) for name, app in (("p1", "web"), ("p2", "web"), ("p3", "batch"))))
    kubectl.bind("p1", "n1")
    running = {"name": "main", "ready": True, "restartCount": 0, "state": {"running": {}}}
    status = {"phase": "Running", "podIP": "10.0.0.7", "podIPs": [{"ip": "10.0.0.7"}], "containerStatuses": [running]}
    kubectl.cluster.merge(f"{kubectl.path('Pod', 'p1')}/status", {"status": status})
    return kubectl


def test_tables(pods: Kubectl) -> None:
    lines = pods("get", "pods").splitlines()
    assert lines[0].split() == ["NAME", "READY", "STATUS", "RESTARTS", "AGE"]
    assert [line.split()[:4] for line in lines[1:]] == [
        ["p1", "1/1", "Running", "0"],
        ["p2", "0/1", "Pending", "0"],
        ["p3", "0/1", "Pending", "0"],
    ]
    wide = pods.rows("get", "pods", "-o", "wide")
    assert wide[0][5:] == ["10.0.0.7", "n1", "<none>", "<none>"]
    assert pods("get", "configmaps") == ""


def test_output_formats(pods: Kubectl) -> None:
    assert pods("get", "pods", "-o", "jsonpath={.items[*].metadata.name}") == "p1 p2 p3"
    assert pods("get", "pods", "-o", "name").splitlines() == ["pod/p1", "pod/p2", "pod/p3"]
    columns = "custom-columns=NAME:.metadata.name,NODE:.spec.nodeName"
    assert pods.rows("get", "pods", "-o", columns) == [["p1", "n1"], ["p2", "<none>"], ["p3", "<none>"]]
    assert "schedulerName: volcano" in pods("get", "pod", "p1", "-o", "yaml")
    assert pods.json("get", "pod", "p1")["kind"] == "Pod"


SELECTIONS = {
    "by label": (("-l", "app=web"), ["p1", "p2"]),
    "by labels": (("-l", "app in (web,batch),app!=web"), ["p3"]),
    "by node": (("--field-selector", "spec.nodeName=n1"), ["p1"]),
    "by phase and label": (("--field-selector", "status.phase=Pending", "-l", "app=web"), ["p2"]),
    "page by page": (("--chunk-size=1",), ["p1", "p2", "p3"]),
    "sorted": (("--sort-by=.metadata.labels.app",), ["p3", "p1", "p2"]),
    "by name": (("p3", "p1"), ["p3", "p1"]),
}


def test_selectors(pods: Kubectl) -> None:
    found = {name: [row[0] for row in pods.rows("get", "pods", *words)] for name, (words, _) in SELECTIONS.items()}
    assert found == {name: expected for name, (_, expected) in SELECTIONS.items()}


def test_all_namespaces(pods: Kubectl) -> None:
    rows = pods.rows("get", "pods", "-A", "--field-selector", f"metadata.namespace={pods.namespace}")
    assert [row[:2] for row in rows] == [[pods.namespace, name] for name in ("p1", "p2", "p3")]


def test_several_kinds_at_once(pods: Kubectl) -> None:
    pods.given({**pod_group("g1", 2, queue="q"), "status": {"phase": "Running", "running": 2}})
    shown = pods("get", "pods,pg")
    assert "pod/p1" in shown
    assert "podgroup.scheduling.volcano.sh/g1" in shown
    lines = pods("get", "pg", "-o", "wide").splitlines()
    assert lines[0].split() == ["NAME", "STATUS", "MINMEMBER", "RUNNINGS", "AGE", "QUEUE"]
    assert lines[1].split()[:4] == ["g1", "Running", "2", "2"]
    assert lines[1].split()[-1] == "q"


MISTAKES = {
    "no such object": (("get", "pod", "nothing"), 'Error from server (NotFound): pods "nothing" not found'),
    "no such kind": (("get", "nothing"), "the server doesn't have a resource type"),
    "no such selector": (("get", "pods", "-l", "a in (b"), "Error from server (BadRequest)"),
    "no such field": (("get", "pods", "--field-selector", "spec.colour=red"), "field label not supported: spec.colour"),
    "no usage figures": (("top", "nodes"), "Metrics API not available"),
}


def test_errors(kubectl: Kubectl) -> None:
    for words, expected in MISTAKES.values():
        assert expected in kubectl.refusal(*words)


def test_watch(kubectl: Kubectl) -> None:
    kubectl.given(pod("old"))
    path = kubectl.path("Pod", "new")
    with kubectl.running("get", "pods", "--watch", "--output-watch-events") as watch:
        assert next_row(watch)[:2] == ["EVENT", "NAME"]
        assert next_row(watch)[:2] == ["ADDED", "old"]
        kubectl.given(pod("new"))
        assert next_row(watch)[:2] == ["ADDED", "new"]
        kubectl.cluster.merge(f"{path}/status", {"status": {"phase": "Failed", "reason": "OutOfcpu"}})
        assert next_row(watch)[:4] == ["MODIFIED", "new", "0/1", "OutOfcpu"]
        kubectl.cluster.remove(path)
        assert next_row(watch)[:2] == ["MODIFIED", "new"]
        assert next_row(watch)[:2] == ["DELETED", "new"]


def next_row(watch: subprocess.Popen[str]) -> list[str]:
    assert watch.stdout is not None
    return watch.stdout.readline().split()


def test_api_resources(kubectl: Kubectl) -> None:
    listed = {line.split()[0]: line.split() for line in kubectl("api-resources").splitlines()[1:]}
    assert listed["pods"] == ["pods", "po", "v1", "true", "Pod"]
    assert listed["queues"][1:] == ["q,queue-v1beta1", "scheduling.volcano.sh/v1beta1", "false", "Queue"]
    versions = kubectl("api-versions").splitlines()
    assert {"v1", "apps/v1", "policy/v1", "scheduling.volcano.sh/v1beta1"} <= set(versions)


@pytest.mark.only("embedded", because="a server that is built from its module does not know its version")
def test_version(kubectl: Kubectl) -> None:
    assert "Server Version: v1." in kubectl("version")


def test_nodes(kubectl: Kubectl) -> None:
    kubectl.given(node("n-a"), node("n-b"))
    assert [row[:3] for row in kubectl.rows("get", "nodes", "n-a", "n-b")] == [
        ["n-a", "Ready", "<none>"],
        ["n-b", "Ready", "<none>"],
    ]
