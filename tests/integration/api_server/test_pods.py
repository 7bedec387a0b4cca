"""Pods: defaults, immutable fields, binding and eviction."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.integration.api_server.http_api import BUDGETS, CLASSES, DEADLINE, PODS, STRATEGIC, HttpApi, binding, pod


async def test_pod_defaults(api: HttpApi) -> None:
    body = (await api.post(PODS, {**pod(), "status": {"phase": "Running"}})).body
    spec = body["spec"]
    assert (spec["restartPolicy"], spec["terminationGracePeriodSeconds"], spec["dnsPolicy"]) == (
        "Always",
        30,
        "ClusterFirst",
    )
    assert (spec["schedulerName"], spec["priority"]) == ("default-scheduler", 0)
    assert spec["containers"][0]["imagePullPolicy"] == "IfNotPresent"
    assert body["status"] == {"phase": "Pending", "qosClass": "Burstable"}


QUALITIES = [
    ("no requests", {}, "BestEffort"),
    ("something asked", {"requests": {"cpu": "1"}}, "Burstable"),
    ("limits alone", {"limits": {"cpu": "1", "memory": "1Gi"}}, "Guaranteed"),
    ("one limit", {"limits": {"cpu": "1"}}, "Burstable"),
    ("less than the limit", {"requests": {"cpu": "1"}, "limits": {"cpu": "2", "memory": "1Gi"}}, "Burstable"),
    (
        "the same in other words",
        {"requests": {"cpu": "1000m", "memory": "1Ki"}, "limits": {"cpu": 1, "memory": "1024"}},
        "Guaranteed",
    ),
    ("zero amounts", {"requests": {"cpu": "0m"}, "limits": {"memory": "0Gi"}}, "BestEffort"),
    ("devices alone", {"limits": {"nvidia.com/gpu": "1"}}, "BestEffort"),
]


@pytest.mark.parametrize(
    ("resources", "quality"), [case[1:] for case in QUALITIES], ids=[case[0] for case in QUALITIES]
)
async def test_quality_of_service(api: HttpApi, resources: dict[str, Any], quality: str) -> None:
    body = (await api.post(PODS, pod(containers=[{"name": "main", "image": "train:1", "resources": resources}]))).body
    assert body["status"]["qosClass"] == quality
    found = body["spec"]["containers"][0]["resources"]
    assert set(found.get("limits", {})) <= set(found.get("requests", {}))


async def create_class(api: HttpApi, name: str, **facts: Any) -> None:
    """A priority class; a real server needs a moment until pods can use it."""
    await api.post(CLASSES, {"metadata": {"name": name}, **facts})
    tried = pod("try") if facts.get("globalDefault") else pod("try", priorityClassName=name)
    async with asyncio.timeout(DEADLINE):
        while (await api.post(PODS, tried, dryRun="All")).body.get("spec", {}).get("priorityClassName") != name:
            await asyncio.sleep(0.05)


async def test_priority_is_set_from_class(api: HttpApi) -> None:
    await create_class(api, "high", value=1000, preemptionPolicy="Never")
    high = (await api.post(PODS, pod("a", priorityClassName="high"))).body["spec"]
    assert (high["priority"], high["preemptionPolicy"]) == (1000, "Never")
    unknown = await api.post(PODS, pod("b", priorityClassName="none"))
    assert (unknown.status, unknown.reason) == (403, "Forbidden")
    assert "no PriorityClass with name none was found" in unknown.message
    own = await api.post(PODS, pod("c", priorityClassName="high", priority=7))
    assert (own.status, own.reason) == (403, "Forbidden")
    await create_class(api, "usual", value=5, globalDefault=True)
    usual = (await api.post(PODS, pod("d"))).body["spec"]
    assert (usual["priority"], usual["priorityClassName"]) == (5, "usual")
    system = (await api.post(PODS, pod("e", priorityClassName="system-node-critical"))).body["spec"]
    assert system["priority"] == 2_000_001_000


CLASS_RULES = [
    ("a second default", {"metadata": {"name": "x"}, "value": 1, "globalDefault": True}, 403),
    ("too high", {"metadata": {"name": "x"}, "value": 1_000_000_001}, 422),
    ("a reserved name", {"metadata": {"name": "system-mine"}, "value": 1}, 422),
]


@pytest.mark.parametrize(("body", "status"), [case[1:] for case in CLASS_RULES], ids=[case[0] for case in CLASS_RULES])
async def test_priority_class_rules(api: HttpApi, body: dict[str, Any], status: int) -> None:
    await create_class(api, "usual", value=5, globalDefault=True)
    assert (await api.post(CLASSES, body)).status == status
    assert (await api.patch(f"{CLASSES}/usual", {"value": 6})).status == 422


UPDATES = [
    ("another image", {"spec": {"containers": [{"name": "main", "image": "train:2"}]}}, 200),
    ("another request", {"spec": {"containers": [{"name": "main", "resources": {"requests": {"cpu": "2"}}}]}}, 422),
    ("another node", {"spec": {"nodeName": "mine"}}, 422),
    ("another selector", {"spec": {"nodeSelector": {"a": "b"}}}, 422),
    ("one more toleration", {"spec": {"tolerations": [{"key": "k", "operator": "Exists"}]}}, 200),
    ("a new gate", {"spec": {"schedulingGates": [{"name": "late"}]}}, 422),
    ("labels", {"metadata": {"labels": {"a": "b"}}}, 200),
    ("another scheduler", {"spec": {"schedulerName": "x"}}, 422),
]


@pytest.mark.parametrize(("patch", "status"), [case[1:] for case in UPDATES], ids=[case[0] for case in UPDATES])
async def test_pod_spec_is_immutable(api: HttpApi, patch: dict[str, Any], status: int) -> None:
    await api.post(PODS, pod())
    reply = await api.patch(f"{PODS}/p", patch, media=STRATEGIC)
    assert reply.status == status, reply.body


async def test_repeated_manifest_changes_nothing(api: HttpApi) -> None:
    body = (await api.post(PODS, pod())).body
    assert (await api.put(f"{PODS}/p", pod())).body == body


INVALID = [
    ("no containers", pod(containers=[]), 422, "spec.containers"),
    ("a container without a name", pod(containers=[{"image": "x"}]), 422, "spec.containers[0].name"),
    (
        "two of one name",
        pod(containers=[{"name": "a", "image": "x"}, {"name": "a", "image": "x"}]),
        422,
        "spec.containers[1].name",
    ),
    ("no spec", {"metadata": {"name": "p"}}, 422, "spec.containers"),
    ("containers of another type", pod(containers="many"), 400, "spec.containers"),
]


@pytest.mark.parametrize(("body", "status", "field"), [case[1:] for case in INVALID], ids=[case[0] for case in INVALID])
async def test_invalid_pod(api: HttpApi, body: dict[str, Any], status: int, field: str) -> None:
    reply = await api.post(PODS, body)
    assert reply.status == status, reply.body
    assert field in reply.message


async def test_binding_is_one_write(api: HttpApi) -> None:
    created = (await api.post(PODS, {**pod(), "metadata": {"name": "p", "annotations": {"a": "1"}}})).body
    await api.patch(f"{PODS}/p/status", {"status": {"nominatedNodeName": "n1"}})
    uid = created["metadata"]["uid"]
    reply = await api.post(f"{PODS}/p/binding", binding("n1", uid=uid, annotations={"gpu": "3"}, labels={"x": "y"}))
    assert (reply.status, reply.body["kind"], reply.body["status"]) == (201, "Status", "Success")
    bound = (await api.get(f"{PODS}/p")).body
    assert bound["spec"]["nodeName"] == "n1"
    assert bound["metadata"]["annotations"] == {"a": "1", "gpu": "3"}
    assert bound["metadata"]["labels"] == {"x": "y"}
    assert "nominatedNodeName" not in bound["status"]
    condition = bound["status"]["conditions"][0]
    assert (condition["type"], condition["status"]) == ("PodScheduled", "True")


async def test_bound_pod_gets_topology_labels(api: HttpApi) -> None:
    zone = {"topology.kubernetes.io/zone": "a"}
    await api.post("/api/v1/nodes", {"metadata": {"name": "n1", "labels": {**zone, "kubernetes.io/hostname": "n1"}}})
    await api.post(PODS, pod("p"))
    await api.post(f"{PODS}/p/binding", binding("n1"))
    await api.post(PODS, pod("q", nodeName="n1"))
    for name in ("p", "q"):
        assert (await api.get(f"{PODS}/{name}")).body["metadata"]["labels"] == zone


async def test_late_binding_is_rejected(api: HttpApi) -> None:
    uid = (await api.post(PODS, pod())).body["metadata"]["uid"]
    other = await api.post(f"{PODS}/p/binding", binding(uid="other"))
    assert (other.status, other.reason) == (409, "Conflict")
    assert f"UID in precondition: other, UID in object meta: {uid}" in other.message
    await api.post(f"{PODS}/p/binding", binding("n1"))
    again = await api.post(f"{PODS}/p/binding", binding("n2"))
    assert again.status == 409
    assert again.message == (
        'Operation cannot be fulfilled on pods/binding "p": pod p is already assigned to node "n1"'
    )
    await api.delete(f"{PODS}/p")
    assert "is being deleted" in (await api.post(f"{PODS}/p/binding", binding("n2"))).message
    assert (await api.post(f"{PODS}/gone/binding", binding(name="gone"))).status == 404


async def test_gated_pod_cannot_be_bound(api: HttpApi) -> None:
    gated = (await api.post(PODS, pod(schedulingGates=[{"name": "a"}, {"name": "b"}]))).body
    assert gated["status"]["conditions"][0]["reason"] == "SchedulingGated"
    refused = await api.post(f"{PODS}/p/binding", binding())
    assert (refused.status, refused.reason) == (409, "Conflict")
    assert "pod p has non-empty .spec.schedulingGates" in refused.message
    assert (await api.patch(f"{PODS}/p", {"spec": {"schedulingGates": [{"name": "b"}]}})).status == 200
    assert (await api.patch(f"{PODS}/p", {"spec": {"nodeSelector": {"zone": "a"}}})).status == 200
    assert (await api.patch(f"{PODS}/p", {"spec": {"schedulingGates": None}})).status == 200
    assert (await api.post(f"{PODS}/p/binding", binding())).status == 201


async def test_status_subresource(api: HttpApi) -> None:
    await api.post(PODS, pod())
    condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}
    await api.patch(f"{PODS}/p", {"status": {"phase": "Running"}})
    assert (await api.get(f"{PODS}/p")).body["status"]["phase"] == "Pending"
    await api.patch(f"{PODS}/p/status", {"status": {"conditions": [condition]}}, media=STRATEGIC)
    more = {"status": {"conditions": [{"type": "Ready", "status": "False"}]}, "spec": {"nodeName": "mine"}}
    body = (await api.patch(f"{PODS}/p/status", more, media=STRATEGIC)).body
    assert {each["type"] for each in body["status"]["conditions"]} == {"PodScheduled", "Ready"}
    assert "nodeName" not in body["spec"]


async def running(api: HttpApi, name: str = "p", **labels: str) -> dict[str, Any]:
    await api.post(PODS, {**pod(name), "metadata": {"name": name, "labels": labels}})
    await api.post(f"{PODS}/{name}/binding", binding(name=name))
    ready = {"status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}}
    body: dict[str, Any] = (await api.patch(f"{PODS}/{name}/status", ready)).body
    return body


async def budget(api: HttpApi, name: str, allowed: int, *, observed: int = 1) -> None:
    spec = {"minAvailable": 1, "selector": {"matchLabels": {"app": "a"}}}
    await api.post(BUDGETS, {"metadata": {"name": name}, "spec": spec})
    status = {"disruptionsAllowed": allowed, "observedGeneration": observed, "desiredHealthy": 1, "currentHealthy": 1}
    await api.patch(f"{BUDGETS}/{name}/status", {"status": status})


def eviction(name: str = "p", **options: Any) -> dict[str, Any]:
    return {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name}, "deleteOptions": options}


async def test_eviction_is_graceful_deletion_with_condition(api: HttpApi) -> None:
    uid = (await running(api))["metadata"]["uid"]
    assert (await api.post(f"{PODS}/p/eviction", eviction(preconditions={"uid": "other"}))).status == 409
    reply = await api.post(f"{PODS}/p/eviction", eviction(preconditions={"uid": uid}))
    assert (reply.status, reply.body["status"]) == (201, "Success")
    body = (await api.get(f"{PODS}/p")).body
    assert body["metadata"]["deletionGracePeriodSeconds"] == 30
    assert [each["reason"] for each in body["status"]["conditions"] if each["type"] == "DisruptionTarget"] == [
        "EvictionByEvictionAPI"
    ]


async def test_eviction_decrements_budget(api: HttpApi) -> None:
    for name in ("p", "q"):
        await running(api, name, app="a")
    await budget(api, "b", 1)
    assert (await api.post(f"{PODS}/p/eviction", eviction())).status == 201
    status = (await api.get(f"{BUDGETS}/b")).body["status"]
    assert (status["disruptionsAllowed"], list(status["disruptedPods"])) == (0, ["p"])
    refused = await api.post(f"{PODS}/q/eviction", eviction("q"))
    assert (refused.status, refused.reason) == (429, "TooManyRequests")
    assert refused.body["details"]["causes"][0]["reason"] == "DisruptionBudget"
    assert "deletionTimestamp" not in (await api.get(f"{PODS}/q")).body["metadata"]


async def test_unprocessed_budget_rejects_eviction(api: HttpApi) -> None:
    await running(api, app="a")
    await budget(api, "b", 1, observed=0)
    reply = await api.post(f"{PODS}/p/eviction", eviction())
    assert (reply.status, reply.headers["Retry-After"]) == (429, "10")


async def test_two_budgets_reject_eviction(api: HttpApi) -> None:
    await running(api, app="a")
    await budget(api, "a", 1)
    await budget(api, "b", 1)
    reply = await api.post(f"{PODS}/p/eviction", eviction())
    assert reply.status == 500
    assert "more than one PodDisruptionBudget" in reply.message


@pytest.mark.parametrize("phase", ["Pending", "Succeeded", "Failed"])
async def test_budget_ignores_finished_and_pending_pods(api: HttpApi, phase: str) -> None:
    await running(api, app="a")
    await budget(api, "b", 0)
    await api.patch(f"{PODS}/p/status", {"status": {"phase": phase}})
    assert (await api.post(f"{PODS}/p/eviction", eviction())).status == 201


@pytest.mark.only("embedded", because="no containers run in a simulated cluster")
async def test_logs_are_not_simulated(api: HttpApi) -> None:
    await api.post(PODS, pod())
    assert (await api.get(f"{PODS}/p/log")).status == 501


async def test_resize_subresource(api: HttpApi) -> None:
    await api.post(PODS, pod())
    bigger = {"spec": {"containers": [{"name": "main", "resources": {"requests": {"cpu": "2"}}}]}}
    body = (await api.patch(f"{PODS}/p/resize", bigger, media=STRATEGIC)).body
    assert body["spec"]["containers"][0]["resources"]["requests"] == {"cpu": "2"}
    other = {"spec": {"containers": [{"name": "main", "image": "other"}]}}
    assert (await api.patch(f"{PODS}/p/resize", other, media=STRATEGIC)).body["spec"] == body["spec"], (
        "and nothing else"
    )
    held = {"requests": {"cpu": "2", "memory": "1Gi"}, "limits": {"cpu": "2", "memory": "1Gi"}}
    better = {"spec": {"containers": [{"name": "main", "resources": held}]}}
    refused = await api.patch(f"{PODS}/p/resize", better, media=STRATEGIC)
    assert (refused.status, "Pod QOS Class may not change" in refused.message) == (422, True)


@pytest.mark.parametrize(
    ("amount", "status"), [("-1", 422), ("many", 400), ("1e3", 201), ("1.5Gi", 201), (2, 201), ("NaN", 400)]
)
async def test_amounts_must_be_quantities(api: HttpApi, amount: Any, status: int) -> None:
    resources = {"requests": {"cpu": amount}}
    assert (
        await api.post(PODS, pod(containers=[{"name": "main", "image": "train:1", "resources": resources}]))
    ).status == status


@pytest.mark.parametrize(
    ("method", "part"),
    [("DELETE", "status"), ("PUT", "binding"), ("POST", "status"), ("POST", ""), ("PATCH", "eviction")],
)
async def test_verbs_of_subresources(api: HttpApi, method: str, part: str) -> None:
    await api.post(PODS, pod())
    path = f"{PODS}/p/{part}" if part else f"{PODS}/p"
    assert (await api.call(method, path, {})).status == 405
    assert (await api.get(f"{PODS}/p")).status == 200


async def test_invalid_option_writes_nothing(api: HttpApi) -> None:
    refused = await api.post(f"{PODS}?dryRun=Some", pod("p"))
    assert refused.status == 422
    assert refused.message == (
        'CreateOptions.meta.k8s.io "" is invalid: dryRun: Unsupported value: ["Some"]: supported values: "All"'
    )
    assert (await api.get(f"{PODS}/p")).status == 404
