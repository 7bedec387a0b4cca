"""Properties of all requests: the server never fails internally, and watches agree with lists."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from stromboli.local.api_server.api import Api, ResourceRequest
from stromboli.local.api_server.control_plane import ControlPlane
from stromboli.local.api_server.errors import StatusError
from stromboli.local.api_server.watches import StoreWatch
from stromboli.local.http.calls import parse_call
from tests.integration.api_server.http_api import (
    BUDGETS,
    CLASSES,
    CONFIG_MAPS,
    CRDS,
    JSON_PATCH,
    MERGE,
    NODES,
    PODS,
    STRATEGIC,
    binding,
    definition,
    pod,
)

pytestmark = pytest.mark.only("embedded", because="it looks into the server itself")

THINGS = "/apis/test.dev/v1/namespaces/default/things"
SCHEMA = {"type": "object", "properties": {"spec": {"type": "object", "properties": {"size": {"type": "integer"}}}}}


class DirectApi:
    """The API without a network."""

    def __init__(self) -> None:
        self.plane = ControlPlane()
        self._api = Api(self.plane)

    def ask(self, method: str, path: str, body: Any = None, media: str = "application/json", query: str = "") -> int:
        """The status code; anything but a response or a StatusError is a failure of the server."""
        content = b"" if body is None else json.dumps(body).encode()
        try:
            return self._api.answer(self._asked(method, path, content, media, query)).status
        except StatusError as refused:
            return refused.code

    def state(self, path: str) -> dict[str, Any]:
        items = json.loads(self._api.answer(self._asked("GET", path)).body)["items"]
        return {item["metadata"]["name"]: item["metadata"]["resourceVersion"] for item in items}

    def watch(self, path: str, query: str = "") -> StoreWatch:
        return self._api.watch(self._asked("GET", path, query=f"watch=true&{query}"))

    def _asked(self, method: str, path: str, body: bytes = b"", media: str = "", query: str = "") -> ResourceRequest:
        call = parse_call(method, path, query)
        assert call is not None
        return ResourceRequest(call, self._api.resource(call), "", media, body)


SCALARS = st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from(["", "a", "b", "1", "x/y", "Pod"])
FIELDS = st.sampled_from(
    [
        "metadata",
        "spec",
        "status",
        "name",
        "labels",
        "annotations",
        "finalizers",
        "containers",
        "resources",
        "limits",
        "requests",
        "cpu",
        "schedulingGates",
        "tolerations",
        "conditions",
        "type",
        "target",
        "selector",
        "matchLabels",
        "versions",
        "names",
        "plural",
        "kind",
        "group",
        "scope",
        "schema",
        "value",
        "size",
        "uid",
        "preconditions",
        "deleteOptions",
        "matchExpressions",
        "managedFields",
        "ownerReferences",
        "resourceVersion",
        "priorityClassName",
    ]
)
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(FIELDS, inner, max_size=4), max_leaves=12
)

THING = {"apiVersion": "test.dev/v1", "kind": "Thing"}


def furnished() -> DirectApi:
    api = DirectApi()
    assert api.ask("POST", CRDS, definition("things", "Thing", SCHEMA)) == 201
    assert api.ask("POST", PODS, pod("a")) == 201
    for collection in (NODES, CONFIG_MAPS):
        assert api.ask("POST", collection, {"metadata": {"name": "a"}}) == 201
    assert api.ask("POST", THINGS, {**THING, "metadata": {"name": "a"}}) == 201
    assert api.ask("POST", BUDGETS, {"metadata": {"name": "a"}, "spec": {"selector": {}}}) == 201
    assert api.ask("POST", CLASSES, {"metadata": {"name": "a"}, "value": 1}) == 201
    return api


BUDGET = {
    "metadata": {"name": "b"},
    "spec": {
        "minAvailable": 1,
        "selector": {"matchLabels": {"a": "b"}, "matchExpressions": [{"key": "a", "operator": "In", "values": ["b"]}]},
    },
}
RICH_POD = {
    **pod(
        "b", schedulingGates=[{"name": "g"}], tolerations=[{"key": "k", "operator": "Exists"}], priorityClassName="a"
    ),
    "metadata": {"name": "b", "labels": {"a": "b"}, "annotations": {"a": "b"}, "finalizers": ["a.dev/x"]},
    "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]},
}
EVICTION: dict[str, Any] = {
    "metadata": {"name": "a"},
    "deleteOptions": {"gracePeriodSeconds": 1, "preconditions": {"uid": "u"}},
}
RICH_SCHEMA = {
    "type": "object",
    "properties": {
        "spec": {
            "type": "object",
            "required": ["size"],
            "properties": {
                "size": {"type": "integer", "minimum": 1, "default": 1},
                "tags": {"type": "array", "items": {"type": "string", "enum": ["a"]}, "x-kubernetes-list-type": "set"},
                "map": {"type": "object", "additionalProperties": {"type": "string", "pattern": "a"}},
                "choice": {"x-kubernetes-int-or-string": True, "anyOf": [{"type": "integer"}, {"type": "string"}]},
            },
        },
    },
}
RICH_DEFINITION = definition(
    "others",
    "Other",
    RICH_SCHEMA,
    subresources={"status": {}},
    additionalPrinterColumns=[{"name": "Size", "type": "integer", "jsonPath": ".spec.size"}],
    selectableFields=[{"jsonPath": ".spec.size"}],
)
SPLICED = {
    "metadata": {"labels": {"x": "y"}, "finalizers": ["b.dev/y"], "$setElementOrder/finalizers": ["b.dev/y"]},
    "spec": {
        "tolerations": [{"key": "k"}],
        "containers": [{"name": "main", "image": "x", "env": None}],
        "$setElementOrder/containers": [{"name": "main"}],
    },
}
#: Valid requests, which may be mutated anywhere.
REQUESTS: list[tuple[str, str, str, dict[str, Any]]] = [
    ("POST", PODS, "application/json", RICH_POD),
    ("PATCH", f"{PODS}/a", MERGE, {"metadata": {"labels": {"a": "b"}}, "spec": pod()["spec"]}),
    ("PATCH", f"{PODS}/a", STRATEGIC, SPLICED),
    ("PATCH", f"{PODS}/a/status", STRATEGIC, {"status": RICH_POD["status"]}),
    ("POST", f"{PODS}/a/binding", "application/json", binding("n1", "a", annotations={"a": "b"}, labels={"c": "d"})),
    ("POST", f"{PODS}/a/eviction", "application/json", EVICTION),
    ("POST", BUDGETS, "application/json", BUDGET),
    ("POST", CLASSES, "application/json", {"metadata": {"name": "b"}, "value": 1, "globalDefault": True}),
    ("POST", CRDS, "application/json", RICH_DEFINITION),
    ("PATCH", f"{CRDS}/things.test.dev", MERGE, definition("things", "Thing", RICH_SCHEMA)),
    ("POST", THINGS, "application/json", {**THING, "metadata": {"name": "b"}, "spec": {"size": 1}}),
    ("PATCH", f"{NODES}/a/status", MERGE, {"status": {"allocatable": {"cpu": "1"}, "conditions": [{"type": "Ready"}]}}),
    ("DELETE", f"{PODS}/a", "application/json", EVICTION["deleteOptions"]),
    ("POST", "/api/v1/namespaces", "application/json", {"metadata": {"name": "b"}, "spec": {"finalizers": ["a"]}}),
    (
        "POST",
        "/api/v1/namespaces/default/secrets",
        "application/json",
        {"metadata": {"name": "b"}, "stringData": {"a": "b"}},
    ),
    ("PATCH", f"{CONFIG_MAPS}/a", JSON_PATCH, {"op": "add", "path": "/data", "value": {"a": "b"}}),
]


@st.composite
def spoilt_requests(draw: st.DrawFn) -> tuple[str, str, str, Any]:
    """A valid request with one or two values replaced."""
    method, path, media, body = draw(st.sampled_from(REQUESTS))
    spoilt = json.loads(json.dumps(body))
    for _ in range(draw(st.integers(0, 2))):
        spoilt = _spoilt(draw, spoilt)
    return method, path, media, [spoilt] if media == JSON_PATCH else spoilt


def _spoilt(draw: st.DrawFn, value: Any) -> Any:
    places = list(value) if isinstance(value, dict) else list(range(len(value))) if isinstance(value, list) else []
    if not places or draw(st.integers(0, 3)) == 0:
        return draw(VALUES)
    place = draw(st.sampled_from(places))
    value[place] = _spoilt(draw, value[place])
    return value


def has_invalid_target(path: str, body: Any) -> bool:
    """Kubernetes, too, responds with 500 to a binding without a target node."""
    target = body.get("target") if isinstance(body, dict) else None
    is_node = isinstance(target, dict) and target.get("name") and target.get("kind") in (None, "", "Node")
    return path.endswith("/binding") and not is_node


@settings(max_examples=200, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(spoilt_requests(), min_size=1, max_size=4))
def test_mutated_request_never_gets_500(requests: list[tuple[str, str, str, Any]]) -> None:
    api = furnished()
    for method, path, media, body in requests:
        status = api.ask(method, path, body, media)
        assert 200 <= status < 500 or has_invalid_target(path, body)
        for collection in (PODS, NODES, CONFIG_MAPS, BUDGETS, CLASSES, CRDS):
            api.state(collection)


def test_unmutated_requests_succeed() -> None:
    for method, path, media, body in REQUESTS:
        status = furnished().ask(method, path, [body] if media == JSON_PATCH else body, media)
        assert status in (200, 201) or body is EVICTION or method == "DELETE", (method, path, status)


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["create", "label", "bind", "delete", "kill"]), st.sampled_from("abc"), st.integers(0, 1)
    ),
    max_size=25,
)


def play(api: DirectApi, step: tuple[str, str, int]) -> None:
    action, name, value = step
    match action:
        case "create":
            api.ask("POST", PODS, {**pod(name), "metadata": {"name": name, "labels": {"team": str(value)}}})
        case "label":
            api.ask("PATCH", f"{PODS}/{name}", {"metadata": {"labels": {"team": str(value)}}}, MERGE)
        case "bind":
            api.ask("POST", f"{PODS}/{name}/binding", binding(f"n{value}", name))
        case "delete":
            api.ask("DELETE", f"{PODS}/{name}")
        case "kill":
            api.ask("DELETE", f"{PODS}/{name}", {"gracePeriodSeconds": 0})


@given(STEPS, st.sampled_from(["", "labelSelector=team%3D1", "fieldSelector=spec.nodeName%3Dn1"]), st.integers(0, 25))
def test_watch_and_list_agree(steps: list[tuple[str, str, int]], selector: str, start: int) -> None:
    """A client that follows a watch from any version has all objects in the right versions at the end."""
    api = DirectApi()
    for step in steps[:start]:
        play(api, step)
    watch = api.watch(PODS, selector)
    known: dict[str, str] = {}
    lines: list[bytes] = []
    opening = watch.opening()
    for step in steps[start:]:
        play(api, step)
        lines += opening
        lines += [line for change in watch.news() if (line := watch.line(change)) is not None]
    lines += opening
    for line in lines:
        event = json.loads(line)
        metadata = event["object"]["metadata"]
        is_known = metadata["name"] in known
        assert is_known is (event["type"] != "ADDED"), "appears once, changes and goes only while it is there"
        known[metadata["name"]] = metadata["resourceVersion"]
        if event["type"] == "DELETED":
            del known[metadata["name"]]
    query = api._asked("GET", PODS, query=selector)
    items = json.loads(api._api.answer(query).body)["items"]
    assert known == {item["metadata"]["name"]: item["metadata"]["resourceVersion"] for item in items}
