"""Protobuf bodies: messages of all types, and no silent loss."""

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stromboli.local.protobuf.decoding import Malformed, decode_body, fields
from stromboli.local.protobuf.messages import messages


def number(field: int, value: int) -> bytes:
    return varint(field << 3) + varint(value % (1 << 64))


def run(field: int, value: bytes | str) -> bytes:
    content = value.encode() if isinstance(value, str) else value
    return varint(field << 3 | 2) + varint(len(content)) + content


def varint(value: int) -> bytes:
    encoded = bytearray()
    while value > 0x7F:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*encoded, value])


def body(api_version: str, kind: str, message: bytes) -> bytes:
    return b"k8s\x00" + run(1, run(1, api_version) + run(2, kind)) + run(2, message)


def entry(name: str, value: bytes | str) -> bytes:
    return run(1, name) + run(2, value)


NAMED = run(1, run(1, "x"))

BODIES: dict[str, tuple[bytes, dict[str, Any]]] = {
    "texts and maps": (
        body("v1", "ConfigMap", NAMED + run(2, entry("a", "1")) + run(2, entry("b", ""))),
        {"metadata": {"name": "x"}, "data": {"a": "1", "b": ""}},
    ),
    "bytes become base64": (
        body("v1", "Secret", NAMED + run(2, entry("k", b"\x00\xff")) + run(3, "Opaque")),
        {"metadata": {"name": "x"}, "data": {"k": "AP8="}, "type": "Opaque"},
    ),
    "a negative number": (
        body("scheduling.k8s.io/v1", "PriorityClass", NAMED + number(2, -5) + number(3, 0)),
        {"metadata": {"name": "x"}, "value": -5},
    ),
    "significant zero": (
        body("apps/v1", "Deployment", NAMED + run(2, number(1, 0) + number(5, 0))),
        {"metadata": {"name": "x"}, "spec": {"replicas": 0}},
    ),
    "a number or a text": (
        body(
            "policy/v1",
            "PodDisruptionBudget",
            NAMED + run(2, run(1, number(1, 1) + number(2, 0) + run(3, "50%")) + run(3, number(1, 0) + number(2, 0))),
        ),
        {"metadata": {"name": "x"}, "spec": {"minAvailable": "50%", "maxUnavailable": 0}},
    ),
    "quantities": (
        body("v1", "ResourceQuota", NAMED + run(2, run(1, entry("cpu", run(1, "500m"))))),
        {"metadata": {"name": "x"}, "spec": {"hard": {"cpu": "500m"}}},
    ),
    "times, set and unset": (
        body("v1", "Namespace", run(1, run(1, "x") + run(8, number(1, 1_700_000_000)) + run(9, b""))),
        {"metadata": {"name": "x", "creationTimestamp": "2023-11-14T22:13:20Z"}},
    ),
    "times to the microsecond": (
        body("coordination.k8s.io/v1", "Lease", run(2, run(4, number(1, 1_700_000_000) + number(2, 5000)))),
        {"spec": {"renewTime": "2023-11-14T22:13:20.000005Z"}},
    ),
    "fields that stand in the surrounding object": (
        body("v1", "Pod", run(2, run(1, run(1, "v") + run(2, run(19, run(1, run(1, "c"))))))),
        {"spec": {"volumes": [{"name": "v", "configMap": {"name": "c"}}]}},
    ),
    "significant empty message": (
        body("v1", "Pod", run(2, run(1, run(1, "v") + run(2, run(2, b""))))),
        {"spec": {"volumes": [{"name": "v", "emptyDir": {}}]}},
    ),
    "owners of fields": (
        body("v1", "ConfigMap", run(1, run(17, run(1, "me") + run(7, run(1, '{"f:data":{}}'))))),
        {"metadata": {"managedFields": [{"manager": "me", "fieldsV1": {"f:data": {}}}]}},
    ),
    "an event of the newer group": (
        body("events.k8s.io/v1", "Event", run(10, "hello") + run(8, run(3, "p"))),
        {"note": "hello", "regarding": {"name": "p"}},
    ),
    "an event of the older group": (
        body("v1", "Event", run(4, "hello") + run(2, run(3, "p"))),
        {"message": "hello", "involvedObject": {"name": "p"}},
    ),
}


@pytest.mark.parametrize("name", BODIES)
def test_bodies(name: str) -> None:
    sent, expected = BODIES[name]
    decoded = decode_body(sent)
    assert {field: value for field, value in decoded.items() if field not in ("apiVersion", "kind")} == expected


REFUSED = {
    "JSON": (b"{}", "does not begin as a Kubernetes message"),
    "an unknown kind": (body("x.io/v1", "Thing", b""), "Thing is not understood in binary form: send JSON"),
    "an unknown field": (body("v1", "ConfigMap", number(99, 1)), "field 99 of ConfigMap is not understood"),
    "a number for a text": (body("v1", "ConfigMap", number(1, 1)), "got a number"),
    "a text for a number": (body("scheduling.k8s.io/v1", "PriorityClass", run(2, "x")), "got text"),
    "a field that is cut off": (body("v1", "ConfigMap", b"\x0a\x7f"), "ends beyond its message"),
    "a number without an end": (body("v1", "ConfigMap", b"\xff" * 12), "ends too early or never"),
    "a group": (body("v1", "ConfigMap", b"\x0b"), "unknown wire type 3"),
    "a time beyond all calendars": (
        body("v1", "Namespace", run(1, run(8, number(1, 1 << 60)))),
        "is no time",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_invalid_yaml_is_rejected(name: str) -> None:
    sent, expected = REFUSED[name]
    with pytest.raises(Malformed, match=expected):
        decode_body(sent)


@given(st.sampled_from(sorted(messages())), st.binary(max_size=60))
def test_any_body_is_decoded_or_rejected(kind: str, message: bytes) -> None:
    try:
        decoded = decode_body(body("v1", kind, message))
    except (Malformed, UnicodeDecodeError, msgspec.DecodeError):
        return
    msgspec.json.encode(decoded)


@given(st.lists(st.tuples(st.integers(1, 100), st.integers(0, (1 << 64) - 1) | st.binary(max_size=20)), max_size=5))
def test_fields_round_trip(sent: list[tuple[int, int | bytes]]) -> None:
    encoded = b"".join(number(f, v) if isinstance(v, int) else run(f, v) for f, v in sent)
    assert list(fields(encoded)) == sent


def test_every_type_is_known() -> None:
    plain = {"string", "int", "bool", "bytes", "Quantity", "IntOrString", "RawJson", "Time", "MicroTime"}
    named = {form.type for forms in messages().values() for form in forms.values()}
    assert named - plain <= messages().keys()
