"""Error responses: one table for the local and the real server."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

import pytest

from tests.integration.api_server.http_api import (
    APPLY,
    BUDGETS,
    CLASSES,
    CONFIG_MAPS,
    CRDS,
    MERGE,
    NAMESPACES,
    NODES,
    PODS,
    QUEUES,
    STRATEGIC,
    HttpApi,
    binding,
    definition,
    pod,
)

DEFAULT = "/api/v1/namespaces/default"
SECRETS, CLAIMS = f"{DEFAULT}/secrets", f"{DEFAULT}/persistentvolumeclaims"
LEASES = "/apis/coordination.k8s.io/v1/namespaces/default/leases"
EVENTS = "/apis/events.k8s.io/v1/namespaces/default/events"
STORAGE = "/apis/storage.k8s.io/v1"
DRIVERS = f"{STORAGE}/csidrivers"
QUEUE = {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue", "metadata": {"name": "q"}}
MAP = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}}


def named(name: str, **parts: Any) -> dict[str, Any]:
    return {"metadata": {"name": name}, **parts}


class Row(NamedTuple):
    name: str
    method: str
    path: str
    body: Any
    status: int
    words: str
    media: str = "application/json"
    query: Mapping[str, str] = MappingProxyType({})
    #: Collections and their objects before the request.
    given: Sequence[tuple[str, dict[str, Any]]] = ()


def _pod_with(**parts: Any) -> dict[str, Any]:
    return {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "main", "image": "x", **parts}]}}


THE_POD, THE_MAP = (PODS, pod()), (CONFIG_MAPS, MAP)
STRICT = {"fieldValidation": "Strict"}
SLIPS = [
    Row("a slip in a container", "POST", PODS, _pod_with(resorces={}), 400,
        'Pod in version "v1" cannot be handled as a Pod: strict decoding error: '
        'unknown field "spec.containers[0].resorces"', query=STRICT),
    Row("slips everywhere", "POST", PODS,
        {"metadata": {"name": "p", "foo": 1}, "spec": {"containers": [{"env": [{"valeu": ""}]}]}, "bar": 2}, 400,
        'unknown field "metadata.foo", unknown field "spec.containers[0].env[0].valeu", unknown field "bar"',
        query=STRICT),
    Row("a capital letter", "POST", CONFIG_MAPS, {**MAP, "Data": {}}, 400, 'unknown field "Data"', query=STRICT),
    Row("a slip in a replacement", "PUT", f"{CONFIG_MAPS}/c", {**MAP, "dta": {}}, 400,
        'strict decoding error: unknown field "dta"', query=STRICT, given=[THE_MAP]),
    Row("a slip in a merge", "PATCH", f"{PODS}/p", {"spec": {"foo": 1}}, 422,
        'strict decoding error: unknown field "spec.foo"', MERGE, STRICT, [THE_POD]),
    Row("a slip in a strategic merge", "PATCH", f"{PODS}/p", {"spec": {"containers": [{"name": "main", "z": 1}]}}, 422,
        'strict decoding error: unknown field "spec.containers[0].z"', STRATEGIC, STRICT, [THE_POD]),
    Row("a slip in a status", "PATCH", f"{PODS}/p/status", {"status": {"foo": 1}}, 422,
        'strict decoding error: unknown field "status.foo"', MERGE, STRICT, [THE_POD]),
    Row("a slip in what is applied", "PATCH", f"{CONFIG_MAPS}/c", {**MAP, "dta": {}}, 500,
        "failed to create typed patch object (/c; /v1, Kind=ConfigMap): .dta: field not declared in schema", APPLY,
        {"fieldManager": "m"}),
]  # fmt: skip

_OPTIONS = 'Options.meta.k8s.io "" is invalid: '
_DRY = f'{_OPTIONS}dryRun: Unsupported value: ["Some"]: supported values: "All"'
_VALIDATION = f'{_OPTIONS}fieldValidation: Unsupported value: "Some": supported values: "", "Ignore", "Strict", "Warn"'
OPTIONS = [
    Row("a dry run of a kind", "POST", CONFIG_MAPS, MAP, 422, f"Create{_DRY}", query={"dryRun": "Some"}),
    Row("a dry patch", "PATCH", f"{CONFIG_MAPS}/c", {}, 422, f"Patch{_DRY}", MERGE, {"dryRun": "Some"}, [THE_MAP]),
    Row("a dry deletion", "DELETE", f"{CONFIG_MAPS}/c", None, 422, f"Delete{_DRY}", query={"dryRun": "Some"},
        given=[THE_MAP]),
    Row("a dry deletion, in the body", "DELETE", f"{CONFIG_MAPS}/c", {"dryRun": ["Some"]}, 422, f"Delete{_DRY}",
        given=[THE_MAP]),
    Row("a dry deletion of all", "DELETE", CONFIG_MAPS, None, 422, f"Delete{_DRY}", query={"dryRun": "Some"}),
    Row("some validation", "POST", CONFIG_MAPS, MAP, 422, f"Create{_VALIDATION}", query={"fieldValidation": "Some"}),
    Row("a patch by force", "PATCH", f"{CONFIG_MAPS}/c", {}, 422, "force: Forbidden: may not be specified for non",
        MERGE, {"force": "true"}, [THE_MAP]),
    Row("a long manager", "PATCH", f"{CONFIG_MAPS}/c", {}, 422, "fieldManager: Too long", MERGE,
        {"fieldManager": "x" * 129}, [THE_MAP]),
    Row("apply without field manager", "PATCH", f"{CONFIG_MAPS}/c", MAP, 422,
        f"Patch{_OPTIONS}fieldManager: Required value: is required for apply patch", APPLY),
    Row("unknown match", "GET", CONFIG_MAPS, None, 422, 'Unsupported value: "Some": supported values: "Exact", "NotOld',
        query={"resourceVersionMatch": "Some", "resourceVersion": "1"}),
    Row("match without version", "GET", CONFIG_MAPS, None, 422,
        "resourceVersionMatch is forbidden unless resourceVersion is", query={"resourceVersionMatch": "Exact"}),
    Row("exactly whatever", "GET", CONFIG_MAPS, None, 422, 'resourceVersionMatch "exact" is forbidden for resource',
        query={"resourceVersionMatch": "Exact", "resourceVersion": "0"}),
    Row("a match in a watch", "GET", CONFIG_MAPS, None, 422, "is forbidden for watch unless sendInitialEvents is",
        query={"watch": "true", "resourceVersionMatch": "NotOlderThan"}),
    Row("a list as a stream", "GET", CONFIG_MAPS, None, 422, "sendInitialEvents is forbidden for list",
        query={"sendInitialEvents": "true"}),
    Row("no limit", "GET", CONFIG_MAPS, None, 400, 'parsing "many": invalid syntax', query={"limit": "many"}),
    Row("no version", "GET", CONFIG_MAPS, None, 400, 'invalid resource version: resourceVersion: Invalid value: "new"',
        query={"resourceVersion": "new"}),
    Row("invalid continue token", "GET", CONFIG_MAPS, None, 400, "continue key is not valid", query={"continue": "?"}),
    Row("unsupported media type", "GET", CONFIG_MAPS, None, 406, "", query={"accept": "text/html"}),
    Row("no such part", "GET", CONFIG_MAPS, None, 400, 'includeObject: Invalid value: "Some"',
        query={"includeObject": "Some", "accept": "application/json;as=Table;v=v1;g=meta.k8s.io"}),
    Row("orphans in two ways", "DELETE", f"{CONFIG_MAPS}/c",
        {"orphanDependents": True, "propagationPolicy": "Foreground"}, 422,
        f'Delete{_OPTIONS}propagationPolicy: Invalid value: "Foreground": orphanDependents and', given=[THE_MAP]),
    Row("no such propagation", "DELETE", f"{CONFIG_MAPS}/c", {"propagationPolicy": "Some"}, 422,
        'Unsupported value: "Some": supported values: "Foreground", "Background", "Orphan", "nil"', given=[THE_MAP]),
    Row("all namespaces at once", "DELETE", NAMESPACES, None, 405, "the server does not allow this method"),
]  # fmt: skip

BINDINGS = [
    Row("binding without name", "POST", f"{PODS}/p/binding", {"target": {"name": "n"}}, 400,
        "name in URL does not match name in Binding object", given=[THE_POD]),
    Row("of another", "POST", f"{PODS}/p/binding", binding(name="q"), 400,
        "name in URL does not match name in Binding object", given=[THE_POD]),
    Row("binding without target", "POST", f"{PODS}/p/binding", named("p"), 500, "target.name: Required value",
         given=[THE_POD]),
    Row("to a pod", "POST", f"{PODS}/p/binding", named("p", target={"kind": "Pod", "name": "n"}), 500,
        'target.kind: Unsupported value: "Pod": supported values: "Node", "<empty>"', given=[THE_POD]),
    Row("elsewhere", "POST", f"{PODS}/p/binding", binding(namespace="kube-system"), 400,
        "the namespace of the provided object does not match", given=[THE_POD]),
]  # fmt: skip

EVENT: dict[str, Any] = {
    "metadata": {"name": "e"}, "eventTime": "2026-01-01T00:00:00.000000Z", "type": "Normal", "reason": "R",
    "action": "A", "reportingController": "volcano", "reportingInstance": "volcano-0", "note": "n",
    "regarding": {"kind": "Pod", "namespace": "default", "name": "p"},
}  # fmt: skip
THE_EVENT = (EVENTS, EVENT)
MOMENT = "2026-01-01T00:00:00.000000Z"
EVENT_ROWS = [
    Row("without a time", "POST", EVENTS, {**EVENT, "eventTime": None}, 422, "eventTime: Required value"),
    Row("to the second", "POST", EVENTS, {**EVENT, "eventTime": "2026-01-01T00:00:00Z"}, 400, "parsing time"),
    Row("event of unknown type", "POST", EVENTS, {**EVENT, "type": "Odd"}, 422, "has invalid value: Odd"),
    Row("event without reporter", "POST", EVENTS, {**EVENT, "reportingController": ""}, 422,
         "reportingController: Required value"),
    Row("without a deed", "POST", EVENTS, {**EVENT, "action": ""}, 422, "action: Required value"),
    Row("event with an older time", "POST", EVENTS, {**EVENT, "deprecatedLastTimestamp": "2026-01-01T00:00:00Z"}, 422,
        "lastTimestamp: Invalid value: \"\": needs to be unset"),
    Row("a long note", "POST", EVENTS, {**EVENT, "note": "x" * 1025}, 422, "message: Invalid value"),
    Row("a long deed", "POST", EVENTS, {**EVENT, "action": "x" * 129}, 422, "can have at most 128 characters"),
    Row("about nowhere", "POST", EVENTS.replace("default", "kube-public"), {**EVENT, "regarding": {}}, 422,
        'involvedObject.namespace: Invalid value: "": does not match event.namespace'),
    Row("about somewhere else", "POST", f"{DEFAULT}/events", named("e", involvedObject={"namespace": "x"}), 422,
        'involvedObject.namespace: Invalid value: "x": does not match event.namespace'),
    Row("core event with a time and without reporter", "POST", f"{DEFAULT}/events", named("e", eventTime=MOMENT), 422,
        "reportingComponent: Required value"),
    Row("changed note", "PATCH", f"{EVENTS}/e", {"note": "other"}, 422, "field is immutable", MERGE,
        given=[THE_EVENT]),
    Row("a series of one", "PATCH", f"{EVENTS}/e", {"series": {"count": 1, "lastObservedTime": MOMENT}}, 422,
        "should be at least 2", MERGE, given=[THE_EVENT]),
    Row("by its old name", "GET", EVENTS, None, 400, "field label not supported: involvedObject.name",
        query={"fieldSelector": "involvedObject.name=p"}),
]  # fmt: skip

_UNSEEN = "metadata.resourceVersion: Invalid value: 0: must be specified for an update"
_CLAIM = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
_TAINT = {"key": "a", "effect": "NoSchedule"}
SECRET = named("s", type="Opaque", stringData={"a": "b"}, immutable=True)
RULES = [
    Row("lease without resourceVersion", "PUT", f"{LEASES}/l", named("l", spec={}), 422,
        f'leases.coordination.k8s.io "l" is invalid: {_UNSEEN}', given=[(LEASES, named("l"))]),
    Row("a lease to the second", "POST", LEASES, named("l", spec={"renewTime": "2026-01-01T00:00:00Z"}), 400,
        'parsing time "2026-01-01T00:00:00Z"'),
    Row("a lease of no time", "POST", LEASES, named("l", spec={"leaseDurationSeconds": 0}), 422,
        "spec.leaseDurationSeconds: Invalid value: 0: must be greater than 0"),
    Row("driver without resourceVersion", "PUT", f"{DRIVERS}/d", named("d", spec={}), 422, _UNSEEN,
        given=[(DRIVERS, named("d", spec={}))]),
    Row("budget without resourceVersion", "PUT", f"{BUDGETS}/b", named("b", spec={"minAvailable": 2}), 422, _UNSEEN,
        given=[(BUDGETS, named("b", spec={"minAvailable": 1}))]),
    Row("a budget with two bounds", "POST", BUDGETS, named("b", spec={"minAvailable": 1, "maxUnavailable": 1}), 422,
        "minAvailable and maxUnavailable cannot be both set"),
    Row("a budget of text", "POST", BUDGETS, named("b", spec={"minAvailable": "x"}), 422, "a valid percent string"),
    Row("more than all", "POST", BUDGETS, named("b", spec={"minAvailable": "150%"}), 422, "not be greater than 100%"),
    Row("a namespace with dots", "POST", NAMESPACES, named("a.b"), 422, "metadata.name"),
    Row("a key with a space", "POST", CONFIG_MAPS, {**MAP, "data": {"a b": "c"}}, 422, "a valid config key must"),
    Row("a key twice", "POST", CONFIG_MAPS, {**MAP, "data": {"a": "b"}, "binaryData": {"a": "Yg=="}}, 422,
        "duplicate of key present in binaryData"),
    Row("what was not to change", "PATCH", f"{SECRETS}/s", {"data": {"a": "Yw=="}}, 422,
        "data: Forbidden: field is immutable when `immutable` is set", MERGE, given=[(SECRETS, SECRET)]),
    Row("another type of secret", "PATCH", f"{SECRETS}/s", {"type": "other"}, 422, "type: Invalid value", MERGE,
        given=[(SECRETS, SECRET)]),
    Row("claim without size", "POST", CLAIMS, named("c", spec={}), 422,
        "at least 1 access mode is required, spec.resources[storage]: Required value"),
    Row("unknown access mode", "POST", CLAIMS, named("c", spec={**_CLAIM, "accessModes": ["Odd"]}), 422,
        'spec.accessModes: Unsupported value: "Odd": supported values: "ReadOnlyMany"'),
    Row("another use", "PATCH", f"{CLAIMS}/c", {"spec": {"accessModes": ["ReadOnlyMany"]}}, 422,
        "spec: Forbidden: spec is immutable after creation except resources.requests", MERGE,
        given=[(CLAIMS, named("c", spec=_CLAIM))]),
    Row("a class without a maker", "POST", f"{STORAGE}/storageclasses", named("s"), 422, "provisioner: Required value"),
    Row("unknown taint effect", "POST", NODES, named("n", spec={"taints": [{**_TAINT, "effect": "Odd"}]}), 422,
        'metadata.taints[0].effect: Unsupported value: "Odd": supported values: "NoSchedule"'),
    Row("a taint twice", "POST", NODES, named("n", spec={"taints": [_TAINT, _TAINT]}), 422,
        "taints must be unique by key and effect pair"),
    Row("negative amount", "POST", NODES, named("n", status={"capacity": {"cpu": "-1"}}), 422,
        'status.capacity.cpu: Invalid value: "-1": must be greater than or equal to 0'),
    Row("half a device", "POST", NODES, named("n", status={"capacity": {"a.dev/gpu": "500m"}}), 422,
        "must be an integer"),
    Row("another provider", "PATCH", f"{NODES}/n", {"spec": {"providerID": "b"}}, 422, "may not change providerID",
        MERGE, given=[(NODES, named("n", spec={"providerID": "a"}))]),
    Row("deleted by a patch", "PATCH", f"{CONFIG_MAPS}/c", {"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}},
        422, 'metadata.deletionTimestamp: Invalid value: "2026-01-01T00:00:00Z": field is immutable', MERGE,
        given=[THE_MAP]),
    Row("a class of the system", "DELETE", f"{CLASSES}/system-node-critical", None, 403,
        "this is a system priority class and cannot be deleted"),
    Row("other uid", "DELETE", f"{CONFIG_MAPS}/c", {"preconditions": {"uid": "x"}}, 409,
        'Operation cannot be fulfilled on ConfigMap "c": the UID in the precondition (x) does not', given=[THE_MAP]),
    Row("more time", "PATCH", f"{PODS}/p", {"spec": {"activeDeadlineSeconds": 20}}, 422,
        "spec.activeDeadlineSeconds: Invalid value: 20: must be less than or equal to previous value", MERGE,
        given=[(PODS, pod(activeDeadlineSeconds=10))]),
    Row("all the time", "PATCH", f"{PODS}/p", {"spec": {"activeDeadlineSeconds": None}}, 422,
        "must not update from a positive integer to nil value", MERGE, given=[(PODS, pod(activeDeadlineSeconds=10))]),
    Row("applied without a kind", "PATCH", f"{CONFIG_MAPS}/c", named("c"), 400, "invalid object type: /, Kind=", APPLY,
        {"fieldManager": "m"}),
    Row("applied with managers", "PATCH", f"{CONFIG_MAPS}/c", {**MAP, "metadata": {"name": "c", "managedFields": []}},
        400, "metadata.managedFields must be nil", APPLY, {"fieldManager": "m"}),
    Row("a test that fails", "PATCH", f"{CONFIG_MAPS}/c", [{"op": "test", "path": "/data", "value": 1}], 422,
        "the server rejected our request due to an error in our request", "application/json-patch+json",
        given=[THE_MAP]),
]  # fmt: skip

CUSTOM = [
    Row("without a kind", "POST", QUEUES, {**QUEUE, "kind": ""}, 400, "Object 'Kind' is missing"),
    Row("of another kind", "POST", QUEUES, {**QUEUE, "kind": "Row"}, 422, 'kind: Invalid value: "Row": must be Queue'),
    Row("with slips", "POST", QUEUES, {**QUEUE, "spec": {"x": 1}, "y": 1}, 400,
        'Queue in version "v1beta1" cannot be handled as a Queue: strict decoding error: unknown field "spec.x", '
        'unknown field "y"', query=STRICT),
    Row("with slips in a merge", "PATCH", f"{QUEUES}/q", {"spec": {"x": 1}}, 422,
        'strict decoding error: unknown field "spec.x"', MERGE, STRICT, [(QUEUES, QUEUE)]),
    Row("with slips in what is applied", "PATCH", f"{QUEUES}/q", {**QUEUE, "spec": {"x": 1}}, 500,
        ".spec.x: field not declared in schema", APPLY, {"fieldManager": "m"}),
    Row("queue without resourceVersion", "PUT", f"{QUEUES}/q", QUEUE, 422,
        f'queues.scheduling.volcano.sh "q" is invalid: {_UNSEEN}', given=[(QUEUES, QUEUE)]),
]  # fmt: skip


async def check(api: HttpApi, row: Row) -> None:
    for collection, body in row.given:
        reply = await api.post(collection, body)
        assert reply.status == 201, reply.message
    reply = await api.call(row.method, row.path, row.body, media=row.media, **row.query)
    assert (reply.status, row.words in _said(reply.body)) == (row.status, True), (reply.status, reply.body)


def _said(body: Any) -> str:
    return str(body.get("message", "")) if isinstance(body, dict) else str(body)


ROWS = [*SLIPS, *OPTIONS, *BINDINGS, *EVENT_ROWS, *RULES]


@pytest.mark.parametrize("row", ROWS, ids=[row.name for row in ROWS])
async def test_invalid_object_is_rejected(api: HttpApi, row: Row) -> None:
    await check(api, row)


@pytest.mark.parametrize("row", CUSTOM, ids=[row.name for row in CUSTOM])
async def test_invalid_custom_resource_is_rejected(volcano: HttpApi, row: Row) -> None:
    await check(volcano, row)


async def test_unknown_fields_are_warned_about_and_dropped(api: HttpApi) -> None:
    slipped = _pod_with(resorces={}, env=[])
    warnings = await api.post(PODS, slipped)
    assert (warnings.status, warnings.headers.getall("Warning")) == (
        201, ['299 - "unknown field \\"spec.containers[0].resorces\\""'],
    )  # fmt: skip
    assert not {"resorces", "env"} & warnings.body["spec"]["containers"][0].keys()
    patched = await api.patch(f"{PODS}/p", {"bar": 1})
    assert (patched.body, patched.headers.getall("Warning")) == (warnings.body, ['299 - "unknown field \\"bar\\""'])
    silent = await api.patch(f"{PODS}/p", {"bar": 1}, fieldValidation="Ignore")
    assert (silent.body, "Warning" in silent.headers) == (warnings.body, False)


async def test_pod_gets_default_tolerations(api: HttpApi) -> None:
    async def tolerated(*given: dict[str, str]) -> list[tuple[str | None, int | None]]:
        spec = (await api.post(PODS, pod(tolerations=list(given)), dryRun="All")).body["spec"]
        return [(each.get("key"), each.get("tolerationSeconds")) for each in spec["tolerations"]]

    ready, reached = ("node.kubernetes.io/not-ready", 300), ("node.kubernetes.io/unreachable", 300)
    assert await tolerated() == [ready, reached]
    assert await tolerated({"operator": "Exists"}) == [(None, None)]
    assert await tolerated({"key": ready[0], "operator": "Exists"}) == [(ready[0], None), reached]
    assert await tolerated({"operator": "Exists", "effect": "NoSchedule"}) == [(None, None), ready, reached]


ARRANGED = [
    ("new ones first", {"conditions": [{"type": "C", "status": "True"}]}, "CAB"),
    ("among those that are named", {"conditions": [{"type": "B", "status": "x"}, {"type": "C", "status": "x"}]}, "ABC"),
    ("as they are named", {"conditions": [{"type": "B", "status": "x"}, {"type": "A", "status": "x"}]}, "BA"),
    ("in the order that is asked for", {"$setElementOrder/conditions": [{"type": "B"}, {"type": "A"}]}, "BA"),
]


@pytest.mark.parametrize(("patch", "order"), [case[1:] for case in ARRANGED], ids=[case[0] for case in ARRANGED])
async def test_order_of_merged_lists(api: HttpApi, patch: dict[str, Any], order: str) -> None:
    await api.post(PODS, pod())
    both = {"conditions": [{"type": "A", "status": "True"}, {"type": "B", "status": "True"}]}
    await api.patch(f"{PODS}/p/status", {"status": both})
    merged = (await api.patch(f"{PODS}/p/status", {"status": patch}, media=STRATEGIC)).body["status"]["conditions"]
    assert "".join(condition["type"] for condition in merged) == order


SHOWN = [
    ("a storage class", f"{STORAGE}/storageclasses", named("x", provisioner="x"), "StorageClass"),
    ("a driver", DRIVERS, named("x", spec={}), "CSIDriver"),
    ("a quota", f"{DEFAULT}/resourcequotas", named("x", spec={"hard": {"pods": "1"}}), "ResourceQuota"),
    ("a claim", CLAIMS, named("x", spec=_CLAIM), "PersistentVolumeClaim"),
    ("a lease", LEASES, named("x"), "Status"),
    ("a budget", BUDGETS, named("x", spec={"minAvailable": 1}), "Status"),
]


@pytest.mark.parametrize(("path", "body", "kind"), [case[1:] for case in SHOWN], ids=[case[0] for case in SHOWN])
async def test_deletion_response(api: HttpApi, path: str, body: dict[str, Any], kind: str) -> None:
    await api.post(path, body)
    assert (await api.delete(f"{path}/x")).body["kind"] == kind


async def test_list_at_version_zero_ignores_limit(api: HttpApi) -> None:
    for name in "abc":
        await api.post(CONFIG_MAPS, named(name))
    assert len((await api.get(CONFIG_MAPS, resourceVersion="0", limit="2")).body["items"]) == 3
    assert len((await api.get(CONFIG_MAPS, limit="2")).body["items"]) == 2


async def test_get_of_object_ignores_watch_parameter(api: HttpApi) -> None:
    await api.post(CONFIG_MAPS, MAP)
    assert (await api.get(f"{CONFIG_MAPS}/c", watch="true")).body["kind"] == "ConfigMap"


async def test_initial_status_and_finalizers_of_storage(api: HttpApi) -> None:
    volume = {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "hostPath": {"path": "/x"}}
    created = (await api.post("/api/v1/persistentvolumes", named("v", spec=volume))).body["spec"]
    assert (created["persistentVolumeReclaimPolicy"], created["volumeMode"]) == ("Retain", "Filesystem")
    kind = (await api.post(f"{STORAGE}/storageclasses", named("s", provisioner="x"))).body
    assert (kind["reclaimPolicy"], kind["volumeBindingMode"]) == ("Delete", "Immediate")


async def test_binding_through_bindings_collection(api: HttpApi) -> None:
    await api.post(PODS, pod())
    assert (await api.post(f"{DEFAULT}/bindings", binding("n1"))).status == 201
    assert (await api.get(f"{PODS}/p")).body["spec"]["nodeName"] == "n1"
    assert (await api.post(f"{DEFAULT}/bindings", binding(name="unknown"))).status == 404
    assert (await api.post(f"{DEFAULT}/bindings", {"target": {"name": "n1"}})).status == 400


GENERATIONS = [
    ("a service", f"{DEFAULT}/services", named("x", spec={"ports": [{"port": 80}]}), None),
    ("a range", f"{DEFAULT}/limitranges", named("x", spec={"limits": [{"type": "Pod", "max": {"cpu": "1"}}]}), None),
    ("what a node can mount", f"{STORAGE}/csinodes", named("x", spec={"drivers": []}), None),
    ("a class of devices", "/apis/resource.k8s.io/v1/deviceclasses", named("x", spec={}), 1),
    ("a budget", BUDGETS, named("x", spec={"minAvailable": 1}), 1),
    ("a pod", PODS, pod("x"), 1),
]


@pytest.mark.parametrize(
    ("path", "body", "generation"), [case[1:] for case in GENERATIONS], ids=[case[0] for case in GENERATIONS]
)
async def test_kinds_with_generation(api: HttpApi, path: str, body: dict[str, Any], generation: int | None) -> None:
    reply = await api.post(path, body)
    assert (reply.status, reply.body["metadata"].get("generation")) == (201, generation)


async def test_exhausted_budget_sets_condition(api: HttpApi) -> None:
    await api.post(PODS, {**pod(), "metadata": {"name": "p", "labels": {"a": "b"}}})
    await api.post(f"{PODS}/p/binding", binding())
    await api.patch(f"{PODS}/p/status", {"status": {"phase": "Running"}})
    await api.post(BUDGETS, named("b", spec={"minAvailable": 0, "selector": {"matchLabels": {"a": "b"}}}))
    await api.patch(f"{BUDGETS}/b/status", {"status": {"observedGeneration": 1, "disruptionsAllowed": 1}})
    assert (await api.post(f"{PODS}/p/eviction", named("p"))).status == 201
    (condition,) = (await api.get(f"{BUDGETS}/b")).body["status"]["conditions"]
    assert condition.pop("lastTransitionTime")
    assert condition == {
        "type": "DisruptionAllowed", "status": "False", "reason": "InsufficientPods", "message": "",
        "observedGeneration": 1,
    }  # fmt: skip


WHOLE = {"type": "integer"}
SIZES = {"type": "object", "properties": {"size": WHOLE}}
FLEETS = "/apis/test.dev/v1/namespaces/default/fleets"
FLEET = {"apiVersion": "test.dev/v1", "kind": "Fleet"}


async def test_custom_resource_has_scale(api: HttpApi) -> None:
    paths = {"specReplicasPath": ".spec.size", "statusReplicasPath": ".status.size"}
    schema = {"type": "object", "properties": {"spec": SIZES, "status": SIZES}}
    await api.define(definition("fleets", "Fleet", schema, subresources={"status": {}, "scale": paths}))
    await api.post(FLEETS, {**FLEET, **named("f", spec={"size": 2})})
    await api.patch(f"{FLEETS}/f/status", {"status": {"size": 1}})
    scale = (await api.get(f"{FLEETS}/f/scale")).body
    assert (scale["kind"], scale["spec"], scale["status"]) == ("Scale", {"replicas": 2}, {"replicas": 1})
    assert (await api.patch(f"{FLEETS}/f/scale", {"spec": {"replicas": 5}})).body["spec"] == {"replicas": 5}
    changed = (await api.get(f"{FLEETS}/f")).body
    assert (changed["spec"], changed["metadata"]["generation"]) == ({"size": 5}, 2)
    refused = await api.patch(f"{FLEETS}/f/scale", {"spec": {"replicas": -1}})
    assert (refused.status, ".spec.size: Invalid value: -1: should be a non" in refused.message) == (422, True)
    await api.post(FLEETS, {**FLEET, **named("none")})
    assert (await api.get(f"{FLEETS}/none/scale")).status == 500


@pytest.mark.only("embedded", because="the real one enforces them")
async def test_unenforced_rules_are_warned_about(api: HttpApi) -> None:
    schema = {"type": "object", "properties": {"size": {**WHOLE, "x-kubernetes-validations": [{"rule": "self > 1"}]}}}
    warnings = await api.post(CRDS, definition("fleets", "Fleet", schema))
    (warning,) = warnings.headers.getall("Warning")
    assert "openAPIV3Schema.properties[size]: x-kubernetes-validations are stored but not enforced" in warning


async def test_new_node_is_not_ready(api: HttpApi) -> None:
    mine = {"key": "a", "effect": "NoSchedule"}
    created = await api.post(NODES, named("n", spec={"taints": [mine]}))
    assert created.body["spec"]["taints"] == [mine, {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}]
    freed = await api.patch(f"{NODES}/n", {"spec": {"taints": [mine]}})
    assert freed.body["spec"]["taints"] == [mine]
