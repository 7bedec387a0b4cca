"""Validation of pods, with the server's messages."""

from __future__ import annotations

from typing import Any

import pytest

from tests.integration.api_server.http_api import PODS, HttpApi

JOBS = "/apis/batch/v1/namespaces/default/jobs"


def containers(**fields: Any) -> dict[str, Any]:
    return {"containers": [{"name": "main", "image": "train:1", **fields}]}


def asking(**resources: Any) -> dict[str, Any]:
    return containers(resources=resources)


def volumes(**volume: Any) -> dict[str, Any]:
    return {**containers(), "volumes": [{"name": "v", **volume}]}


def node_affinity(*clauses: dict[str, Any]) -> dict[str, Any]:
    terms = {"nodeSelectorTerms": [{"matchExpressions": list(clauses)}] if clauses else []}
    return {**containers(), "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}}


GPU, FIRST = "nvidia.com/gpu", "spec.containers[0]"

REFUSED: list[tuple[str, dict[str, Any], str, str]] = [
    ("devices without a limit", asking(requests={GPU: "1"}), f"{FIRST}.resources.limits", "Limit must be set"),
    ("no devices without a limit", asking(requests={GPU: "0"}), f"{FIRST}.resources.limits", "Limit must be set"),
    ("half a device", asking(limits={GPU: "500m"}), f"{FIRST}.resources.limits[{GPU}]", '"500m": must be an integer'),
    (
        "fewer devices than the limit",
        asking(requests={GPU: "1"}, limits={GPU: "2"}),
        f"{FIRST}.resources.requests",
        f'"1": must be equal to {GPU} limit of 2',
    ),
    ("negative amount", asking(requests={"cpu": "-2"}), f"{FIRST}.resources.requests[cpu]", "greater than or equal"),
    (
        "more than the limit",
        asking(requests={"cpu": "2"}, limits={"cpu": "1"}),
        f"{FIRST}.resources.requests",
        '"2": must be less than or equal to cpu limit of 1',
    ),
    ("unqualified resource", asking(requests={"foo": "1"}), f"{FIRST}.resources.requests[foo]", "fully qualified"),
    ("a resource of volumes", asking(requests={"storage": "1"}), f"{FIRST}.resources.requests[storage]", "standard"),
    ("a resource of quotas", asking(limits={"requests.a.b/c": "1"}), f"{FIRST}.resources.limits[requests.a.b/c]", ""),
    ("huge pages alone", asking(limits={"hugepages-2Mi": "4Mi"}), f"{FIRST}.resources", "require cpu or memory"),
    ("undeclared claim", asking(claims=[{"name": "c"}]), f"{FIRST}.resources.claims[0]", 'Not found: "c"'),
    (
        "devices of a pod",
        {**containers(), "resources": {"limits": {GPU: "1"}}},
        f"spec.resources.limits[{GPU}]",
        "supported values",
    ),
    ("unqualified overhead", {**containers(), "overhead": {"foo": "1"}}, "spec.overhead.limits[foo]",
         "fully qualified"),
    ("no image", containers(image=""), f"{FIRST}.image", "Required value"),
    ("an image with a space", containers(image="a "), f"{FIRST}.image", "whitespace"),
    ("a name in capitals", containers(name="Main"), f"{FIRST}.name", "a lowercase RFC 1123 label"),
    ("unknown pull policy", containers(imagePullPolicy="Often"), f"{FIRST}.imagePullPolicy", "IfNotPresent"),
    ("mount of unknown volume", containers(volumeMounts=[{"name": "v", "mountPath": "/v"}]),
     f"{FIRST}.volumeMounts[0].name", 'Not found: "v"'),
    ("a port beyond all", containers(ports=[{"containerPort": 70000}]), f"{FIRST}.ports[0].containerPort", "65535"),
    ("probe without handler", containers(livenessProbe={}), f"{FIRST}.livenessProbe", "must specify a handler type"),
    ("a variable without a name", containers(env=[{"value": "x"}]), f"{FIRST}.env[0].name", "Required value"),
    ("two sources", volumes(emptyDir={}, hostPath={"path": "/x"}), "spec.volumes[0].hostPath", "more than 1"),
    ("a volume in capitals", volumes(name="V", emptyDir={}), "spec.volumes[0].name", "RFC 1123"),
    ("unknown restart policy", {**containers(), "restartPolicy": "Sometimes"}, "spec.restartPolicy", '"OnFailure"'),
    ("no time at all", {**containers(), "activeDeadlineSeconds": 0}, "spec.activeDeadlineSeconds", "between 1 and"),
    ("a selector with a space", {**containers(), "nodeSelector": {"a b": "c"}}, "spec.nodeSelector", "name part"),
    (
        "unknown toleration operator",
        {**containers(), "tolerations": [{"key": "k", "operator": "Likes"}]},
        "spec.tolerations[0].operator",
        'Unsupported value: "Likes"',
    ),
    (
        "a toleration of everything",
        {**containers(), "tolerations": [{"value": "v"}]},
        "spec.tolerations[0].operator",
        "operator must be Exists when `key` is empty",
    ),
    (
        "a toleration for a time",
        {**containers(), "tolerations": [{"key": "k", "tolerationSeconds": 3}]},
        "spec.tolerations[0].effect",
        "must be 'NoExecute'",
    ),
    (
        "spreading without a key",
        {**containers(), "topologySpreadConstraints": [{"maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule"}]},
        "spec.topologySpreadConstraints[0].topologyKey",
        "can not be empty",
    ),
    (
        "spread without topology key",
        {**containers(), "topologySpreadConstraints": [{"topologyKey": "z", "whenUnsatisfiable": "ScheduleAnyway"}]},
        "spec.topologySpreadConstraints[0].maxSkew",
        "must be greater than zero",
    ),
    ("affinity without topology key", node_affinity(), "spec.affinity", "at least one node selector term"),
    ("a clause without values", node_affinity({"key": "a", "operator": "In"}), "spec.affinity", "must be specified"),
    ("unknown operator", node_affinity({"key": "a", "operator": "Near"}), "spec.affinity", "not a valid selector"),
    (
        "a claim without a source",
        {**containers(), "resourceClaims": [{"name": "c"}]},
        "spec.resourceClaims[0]",
        "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`",
    ),
    (
        "a gate and a node",
        {**containers(), "schedulingGates": [{"name": "a"}], "nodeName": "n1"},
        "spec.nodeName",
        "cannot be set until all schedulingGates have been cleared",
    ),
    ("no containers", {}, "spec.containers", "Required value"),
]  # fmt: skip


@pytest.mark.parametrize(("spec", "field", "words"), [each[1:] for each in REFUSED], ids=[each[0] for each in REFUSED])
async def test_invalid_pod_is_rejected(api: HttpApi, spec: dict[str, Any], field: str, words: str) -> None:
    reply = await api.post(PODS, {"metadata": {"name": "p"}, "spec": spec})
    assert (reply.status, reply.reason) == (422, "Invalid")
    causes = reply.body["details"]["causes"]
    assert any(cause["field"].startswith(field) and words in cause["message"] for cause in causes), causes


ACCEPTED: list[tuple[str, dict[str, Any]]] = [
    ("whole devices", asking(limits={GPU: "2"})),
    ("devices of Kubernetes itself", asking(requests={"example.kubernetes.io/part": "500m"})),
    ("exactly the limit", asking(requests={"cpu": "1000m"}, limits={"cpu": "1"})),
    ("huge pages with memory", asking(limits={"hugepages-2Mi": "4Mi", "memory": "1Gi"})),
    ("a mount", {**containers(volumeMounts=[{"name": "v", "mountPath": "/v"}]), "volumes": [{"name": "v"}]}),
    ("tolerations", {**containers(), "tolerations": [{"operator": "Exists"}, {"key": "k", "value": "v"}]}),
    ("a clause", node_affinity({"key": "a", "operator": "In", "values": ["b"]})),
    ("a claim", {**asking(claims=[{"name": "c"}]), "resourceClaims": [{"name": "c", "resourceClaimName": "x"}]}),
]


@pytest.mark.parametrize("spec", [each[1] for each in ACCEPTED], ids=[each[0] for each in ACCEPTED])
async def test_valid_pod_is_accepted(api: HttpApi, spec: dict[str, Any]) -> None:
    reply = await api.post(PODS, {"metadata": {"name": "p"}, "spec": spec})
    assert reply.status == 201, reply.message


async def test_pod_without_spec_is_rejected(api: HttpApi) -> None:
    reply = await api.post(PODS, {"metadata": {"name": "p"}})
    assert (reply.status, reply.message) == (422, 'Pod "p" is invalid: spec.containers: Required value')


async def test_templates_follow_pod_rules(api: HttpApi) -> None:
    template = {"spec": {"restartPolicy": "Never", **asking(requests={GPU: "1"})}}
    reply = await api.post(JOBS, {"metadata": {"name": "j"}, "spec": {"template": template}})
    assert reply.status == 422
    assert "spec.template.spec.containers[0].resources.limits: Required value" in reply.message


FINALIZERS = [
    ("a domain", "test.dev/mine", 201),
    ("the server's own", "foregroundDeletion", 201),
    ("no domain", "mine", 422),
]


@pytest.mark.parametrize(("name", "status"), [each[1:] for each in FINALIZERS], ids=[each[0] for each in FINALIZERS])
async def test_unqualified_finalizer_is_rejected(api: HttpApi, name: str, status: int) -> None:
    body = {"metadata": {"name": "p", "finalizers": [name]}, "spec": containers()}
    assert (await api.post(PODS, body)).status == status
