"""Promises that hold for any request: the server never breaks, and watches never lie."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from stromboli.embedded.api import Api, Asked
from stromboli.embedded.calls import parse_call
from stromboli.embedded.control_plane import ControlPlane
from stromboli.embedded.refusals import Refused
from stromboli.embedded.watches import Watch
from tests.embedded.http_api import (
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

THINGS = "/apis/test.dev/v1/namespaces/default/things"
SCHEMA = {"type": "object", "properties": {"spec": {"type": "object", "properties": {"size": {"type": "integer"}}}}}


class DirectApi:
    """The API without a network."""

    def __init__(self) -> None:
        self.plane = ControlPlane()
        self._api = Api(self.plane)

    def ask(self, method: str, path: str, body: Any = None, media: str = "application/json", query: str = "") -> int:
        """The status code; anything but an answer or a refusal is an error of the server."""
        asked = self._asked(method, path, b"" if body is None else json.dumps(body).encode(), media, query)
        try:
            return self._api.answer(asked).status
        except Refused as refused:
            return refused.code

    def state(self, path: str) -> dict[str, Any]:
        items = json.loads(self._api.answer(self._asked("GET", path)).body)["items"]
        return {item["metadata"]["name"]: item["metadata"]["resourceVersion"] for item in items}

    def watch(self, path: str, query: str = "") -> Watch:
        return self._api.watch(self._asked("GET", path, query=f"watch=true&{query}"))

    def _asked(self, method: str, path: str, body: bytes = b"", media: str = "", query: str = "") -> Asked:
        call = parse_call(method, path, query)
        assert call is not None
        return Asked(call, self._api.resource(call), "", media, body)


SCALARS = st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from(["", "a", "b", "1", "x/y", "Pod"])
FIELDS = st.sampled_from(
    [
        "metadata", "spec", "status", "name", "labels", "annotations", "finalizers", "containers", "resources",
        "limits", "requests", "cpu", "schedulingGates", "tolerations", "conditions", "type", "target", "selector", "matchLabels",
        "versions", "names", "plural", "kind", "group", "scope", "schema", "value", "size", "uid", "preconditions",
        "deleteOptions", "matchExpressions", "managedFields", "ownerReferences", "resourceVersion", "priorityClassName",
    ]
)  # fmt: skip
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(FIELDS, inner, max_size=4), max_leaves=12
)
COLLECTIONS = (PODS, NODES, CONFIG_MAPS, BUDGETS, CLASSES, CRDS, THINGS)
MEDIA = ("application/json", MERGE, JSON_PATCH, STRATEGIC)


def furnished() -> DirectApi:
    api = DirectApi()
    assert api.ask("POST", CRDS, definition("things", "Thing", SCHEMA)) == 201
    assert api.ask("POST", PODS, pod("a")) == 201
    for collection in (NODES, CONFIG_MAPS, THINGS):
        assert api.ask("POST", collection, {"metadata": {"name": "a"}}) == 201
    assert api.ask("POST", BUDGETS, {"metadata": {"name": "a"}, "spec": {"selector": {}}}) == 201
    assert api.ask("POST", CLASSES, {"metadata": {"name": "a"}, "value": 1}) == 201
    return api


@settings(max_examples=200, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.lists(
        st.tuples(
            st.sampled_from(["POST", "PUT", "PATCH", "DELETE"]),
            st.sampled_from(COLLECTIONS),
            st.sampled_from(["", "/a", "/a/status", "/a/binding", "/a/eviction"]),
            st.sampled_from(MEDIA),
            VALUES | st.fixed_dictionaries({"metadata": st.just({"name": "a"}), "spec": VALUES, "status": VALUES}),
        ),
        min_size=1,
        max_size=4,
    )
)
def test_no_request_breaks_the_server(requests: list[tuple[str, str, str, str, Any]]) -> None:
    api = furnished()
    for method, collection, below, media, body in requests:
        try:
            status = api.ask(method, collection + below, body, media)
        except Refused as refused:
            status = refused.code
        assert status in (200, 201, 400, 403, 404, 405, 409, 410, 415, 422, 429, 500)
    for collection in (PODS, NODES, CONFIG_MAPS, BUDGETS, CLASSES, CRDS):
        api.state(collection)


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
            api.ask("POST", f"{PODS}/{name}/binding", binding(f"n{value}"))
        case "delete":
            api.ask("DELETE", f"{PODS}/{name}")
        case "kill":
            api.ask("DELETE", f"{PODS}/{name}", {"gracePeriodSeconds": 0})


@given(STEPS, st.sampled_from(["", "labelSelector=team%3D1", "fieldSelector=spec.nodeName%3Dn1"]), st.integers(0, 25))
def test_a_watch_shows_exactly_what_a_list_shows(steps: list[tuple[str, str, int]], selector: str, start: int) -> None:
    """Whoever follows a watch from any moment knows what is there, with the right versions, at the end."""
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
