"""Custom resources: served at once, validated by their schemas, with or without a status subresource."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.integration.api_server.http_api import (
    APPLY,
    CRDS,
    DEADLINE,
    GROUPS,
    JSON_PATCH,
    QUEUES,
    STRATEGIC,
    HttpApi,
    definition,
)

THINGS = "/apis/test.dev/v1/namespaces/default/things"
SCHEMA: dict[str, Any] = {
    "type": "object",
    "required": ["spec"],
    "properties": {
        "spec": {
            "type": "object",
            "required": ["size"],
            "properties": {
                "size": {"type": "integer", "format": "int32", "minimum": 1, "maximum": 10},
                "mode": {"type": "string", "enum": ["hard", "soft"], "default": "soft"},
                "name": {"type": "string", "pattern": "^[a-z]+$", "maxLength": 5},
                "amount": {"x-kubernetes-int-or-string": True},
                "tags": {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set", "maxItems": 2},
                "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
                "map": {"type": "object", "additionalProperties": {"type": "integer"}},
                "maybe": {"type": "string", "nullable": True},
                "nested": {
                    "type": "object",
                    "default": {},
                    "properties": {"depth": {"type": "integer", "default": 3}},
                },
            },
        },
        "status": {"type": "object", "properties": {"phase": {"type": "string"}}},
    },
}


@pytest.fixture
async def things(api: HttpApi) -> HttpApi:
    await api.define(definition("things", "Thing", SCHEMA, subresources={"status": {}}))
    return api


def thing(**spec: Any) -> dict[str, Any]:
    return {"apiVersion": "test.dev/v1", "kind": "Thing", "metadata": {"name": "t"}, "spec": {"size": 1, **spec}}


async def test_status_update_ignores_identity_except_version(things: HttpApi) -> None:
    await things.post(THINGS, thing())
    identity = {"metadata": {"uid": "other-uid"}, "status": {"phase": "Running"}}
    assert (await things.patch(f"{THINGS}/t", {**identity, "spec": {"size": 2}})).status == 422
    assert (await things.patch(f"{THINGS}/t/status", identity)).body["status"] == {"phase": "Running"}
    identity["metadata"]["resourceVersion"] = "1"
    assert (await things.patch(f"{THINGS}/t/status", identity)).status == 409


async def test_new_crd_is_served_at_once(things: HttpApi) -> None:
    found = (await things.get(f"{CRDS}/things.test.dev")).body
    assert {each["type"] for each in found["status"]["conditions"] if each["status"] == "True"} == {
        "NamesAccepted",
        "Established",
    }
    listing = (await things.get(THINGS)).body
    assert (listing["kind"], listing["items"]) == ("ThingList", [])


async def test_defaults_are_set_and_unknown_fields_pruned(things: HttpApi) -> None:
    body = (await things.post(THINGS, {**thing(unknown=1, free={"any": 1}), "extra": True})).body
    assert body["spec"] == {"size": 1, "free": {"any": 1}, "mode": "soft", "nested": {"depth": 3}}
    assert "extra" not in body
    assert (await things.get(THINGS)).body["items"][0]["kind"] == "Thing"


async def test_disallowed_null_counts_as_absent(things: HttpApi) -> None:
    body = (await things.post(THINGS, thing(name=None, mode=None, maybe=None, map={"a": None, "b": 1}))).body
    assert body["spec"] == {"size": 1, "mode": "soft", "maybe": None, "map": {"b": 1}, "nested": {"depth": 3}}
    assert (await things.post(THINGS, {**thing(), "metadata": {"name": "u"}, "spec": None})).status == 422


async def test_strict_validation_rejects_unknown_fields(things: HttpApi) -> None:
    reply = await things.post(THINGS, thing(unknown=1), fieldValidation="Strict")
    assert reply.status == 400
    assert 'strict decoding error: unknown field "spec.unknown"' in reply.message


INVALID = [
    ("no size", {"size": None}, "spec.size"),
    ("a size of text", {"size": "big"}, 'spec.size in body must be of type integer: "string"'),
    ("too small", {"size": 0}, "spec.size in body should be greater than or equal to 1"),
    ("too big", {"size": 11}, "spec.size in body should be less than or equal to 10"),
    ("an unknown mode", {"mode": "odd"}, 'spec.mode: Unsupported value: "odd": supported values: "hard", "soft"'),
    ("a wrong pattern", {"name": "A"}, "spec.name in body should match '^[a-z]+$'"),
    ("a long name", {"name": "abcdef"}, "Too long: may not be more than 5 bytes"),
    ("an amount of truth", {"amount": True}, "must be of type integer,string"),
    ("twice the same", {"tags": ["a", "a"]}, "spec.tags[1]: Duplicate value"),
    ("too many", {"tags": ["a", "b", "c"]}, "must have at most 2 items"),
    ("a map of texts", {"map": {"a": "b"}}, "spec.map.a"),
    ("null in a list", {"tags": [None]}, "spec.tags[0]"),
]


@pytest.mark.parametrize(("spec", "words"), [case[1:] for case in INVALID], ids=[case[0] for case in INVALID])
async def test_schema_violation_is_rejected(things: HttpApi, spec: dict[str, Any], words: str) -> None:
    reply = await things.post(THINGS, thing(**spec))
    assert (reply.status, reply.reason) == (422, "Invalid")
    assert words in reply.message
    assert reply.message.startswith('Thing.test.dev "t" is invalid: ')
    assert reply.body["details"]["causes"][0]["field"].startswith("spec.")


@pytest.mark.parametrize("spec", [{"amount": 1}, {"amount": "50%"}, {"maybe": None}, {"map": {"a": 1}}], ids=str)
async def test_schema_conforming_object_is_accepted(things: HttpApi, spec: dict[str, Any]) -> None:
    assert (await things.post(THINGS, thing(**spec))).status == 201


async def test_status_subresource_of_custom_resource(things: HttpApi) -> None:
    created = (await things.post(THINGS, {**thing(), "status": {"phase": "Done"}})).body
    assert "status" not in created
    patch = {"status": {"phase": "Busy"}, "spec": {"size": 5}, "metadata": {"labels": {"a": "b"}}}
    body = (await things.patch(f"{THINGS}/t/status", patch)).body
    assert (body["status"], body["spec"]["size"], body["metadata"]["generation"]) == ({"phase": "Busy"}, 1, 1)
    assert "labels" not in body["metadata"]
    body = (await things.patch(f"{THINGS}/t", patch | {"status": {"phase": "Other"}})).body
    assert (body["status"], body["spec"]["size"], body["metadata"]["generation"]) == ({"phase": "Busy"}, 5, 2)


async def test_update_requires_resource_version(things: HttpApi) -> None:
    body = (await things.post(THINGS, thing())).body
    blind = await things.put(f"{THINGS}/t", thing(size=2))
    assert (blind.status, blind.reason) == (422, "Invalid")
    assert "metadata.resourceVersion" in blind.message
    assert (await things.put(f"{THINGS}/t", {**body, "spec": {"size": 2}})).status == 200


async def test_strategic_merge_of_custom_resource_is_rejected(things: HttpApi) -> None:
    await things.post(THINGS, thing())
    reply = await things.patch(f"{THINGS}/t", {"spec": {"size": 2}}, media=STRATEGIC)
    assert (reply.status, reply.reason) == (415, "UnsupportedMediaType")
    operations = [{"op": "replace", "path": "/spec/size", "value": 2}]
    assert (await things.patch(f"{THINGS}/t", operations, media=JSON_PATCH)).body["spec"]["size"] == 2


async def test_versions_serve_the_same_objects(api: HttpApi) -> None:
    document = definition("things", "Thing", SCHEMA)
    document["spec"]["versions"].append({**document["spec"]["versions"][0], "name": "v1beta1", "storage": False})
    await api.define(document)
    await api.post(THINGS, thing())
    beta = THINGS.replace("/v1/", "/v1beta1/")
    assert (await api.get(f"{beta}/t")).body["apiVersion"] == "test.dev/v1beta1"
    await api.patch(f"{beta}/t", {"spec": {"size": 4}})
    found = (await api.get(f"{THINGS}/t")).body
    assert (found["apiVersion"], found["spec"]["size"]) == ("test.dev/v1", 4)
    async with api.watch(beta) as events:
        event = await events.next()
    assert event is not None
    assert event["object"]["apiVersion"] == "test.dev/v1beta1"


async def test_crd_update_is_served(things: HttpApi) -> None:
    assert (await things.patch(f"{CRDS}/things.test.dev", {"spec": {"scope": "Cluster"}})).status == 422
    relaxed = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    path = "/spec/versions/0/schema/openAPIV3Schema"
    operations = [{"op": "replace", "path": path, "value": relaxed}]
    assert (await things.patch(f"{CRDS}/things.test.dev", operations, media=JSON_PATCH)).status == 200
    async with asyncio.timeout(DEADLINE):
        while (await things.post(THINGS, thing(size="any"))).status != 201:
            await asyncio.sleep(0.05)


def _with_property(schema: dict[str, Any]) -> Any:
    def spoil(body: dict[str, Any]) -> None:
        whole = {"type": "object", "properties": {"x": schema}}
        body["spec"]["versions"][0]["schema"]["openAPIV3Schema"] = whole

    return spoil


TEXT = {"type": "string"}
BAD_DEFINITIONS = [
    ("another name", lambda body: body["metadata"].update(name="x.test.dev"), "metadata.name"),
    ("no scope", lambda body: body["spec"].pop("scope"), "spec.scope"),
    ("no stored version", lambda body: body["spec"]["versions"][0].update(storage=False), "spec.versions"),
    ("a reference", _with_property({"$ref": "#/definitions/x"}), "$ref is not supported"),
    ("a property without a type", _with_property({}), "properties[x].type: Required value"),
    ("unknown type", _with_property({"type": "text"}), "Unsupported value"),
    ("a type in a choice", _with_property({"type": "string", "anyOf": [{"type": "string"}]}), "must be empty to be"),
    ("a list of anything", _with_property({"type": "array"}), "items: Required value"),
    (
        "two kinds of properties",
        _with_property({"type": "object", "properties": {"a": TEXT}, "additionalProperties": TEXT}),
        "mutual",
    ),
    ("no schema", lambda body: body["spec"]["versions"][0].pop("schema"), "openAPIV3Schema"),
]


@pytest.mark.parametrize(
    ("spoil", "field"), [case[1:] for case in BAD_DEFINITIONS], ids=[c[0] for c in BAD_DEFINITIONS]
)
async def test_invalid_crd_is_rejected(api: HttpApi, spoil: Any, field: str) -> None:
    document = definition("things", "Thing", SCHEMA)
    spoil(document)
    reply = await api.post(CRDS, document)
    assert (reply.status, reply.reason) == (422, "Invalid")
    assert field in reply.message


GROUP = {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "PodGroup"}
QUEUE = {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue"}


async def test_pod_group_has_no_status_subresource(volcano: HttpApi) -> None:
    group = {**GROUP, "metadata": {"name": "g"}, "spec": {"minMember": 2}, "status": {"phase": "Pending"}}
    created = (await volcano.post(GROUPS, group)).body
    assert created["status"]["phase"] == "Pending", "a warning at creation"
    assert (await volcano.patch(f"{GROUPS}/g/status", {"status": {"phase": "Inqueue"}})).status == 404
    body = (await volcano.patch(f"{GROUPS}/g", {"status": {"phase": "Inqueue"}})).body
    assert (body["status"]["phase"], body["metadata"]["generation"]) == ("Inqueue", 2)


async def test_queue_has_status_subresource(volcano: HttpApi) -> None:
    queue = {**QUEUE, "metadata": {"name": "q"}, "spec": {"weight": 1}, "status": {"state": "Open"}}
    created = (await volcano.post(QUEUES, queue)).body
    assert created.get("status", {}).get("state") is None
    body = (await volcano.patch(f"{QUEUES}/q/status", {"status": {"state": "Open"}})).body
    assert (body["status"]["state"], body["metadata"]["generation"]) == ("Open", 1)
    assert (await volcano.patch(f"{QUEUES}/q", {"spec": {"weight": 0}})).status == 422


async def test_server_side_apply(volcano: HttpApi) -> None:
    def queue(weight: int) -> dict[str, Any]:
        return {**QUEUE, "metadata": {"name": "q"}, "spec": {"weight": weight}}

    path = f"{QUEUES}/q"
    created = await volcano.patch(path, queue(1), media=APPLY, fieldManager="a")
    assert created.status == 201
    same = await volcano.patch(path, queue(1), media=APPLY, fieldManager="a")
    assert (same.status, same.body) == (200, created.body)
    refused = await volcano.patch(path, queue(2), media=APPLY, fieldManager="b")
    assert (refused.status, refused.reason) == (409, "Conflict")
    assert refused.body["details"]["causes"][0]["field"] == ".spec.weight"
    forced = await volcano.patch(path, queue(2), media=APPLY, fieldManager="b", force="true")
    assert forced.body["spec"]["weight"] == 2
    assert (await volcano.patch(path, queue(2), media=APPLY)).status == 422
