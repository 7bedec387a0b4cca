"""Server-side apply and field ownership."""

import copy
import re
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stromboli.local.api_server.registry import ServedResource
from stromboli.local.patching.apply import ApplyConflict, ApplyRejected, apply
from stromboli.local.patching.field_sets import decode_fields, encode_fields
from stromboli.local.patching.managed_fields import record_update

CONFIG_MAPS = ServedResource("", "v1", "configmaps", "configmap", "ConfigMap", "ConfigMapList", True)
PODS = ServedResource("", "v1", "pods", "pod", "Pod", "PodList", True, status_subresource=True)
NOW, LATER = "2026-11-15T12:00:00Z", "2026-11-15T13:00:00Z"

Object = dict[str, Any]


def config(name: str = "c", **data: str) -> Object:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}


def pod(*containers: Object, **metadata: Any) -> Object:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p", **metadata},
        "spec": {"containers": [*containers]},
    }


def applied(live: Object | None, body: Object, manager: str = "me", *, force: bool = False, now: str = NOW) -> Object:
    resource = PODS if body["kind"] == "Pod" else CONFIG_MAPS
    kept = copy.deepcopy((live, body))
    after = apply(live, body, manager, force, resource, now)
    assert (live, body) == kept, "inputs are never changed"
    return after


def owners(entry: Object) -> dict[str, Object]:
    return {each["manager"]: each["fieldsV1"] for each in entry["metadata"]["managedFields"]}


def test_applied_fields_are_owned() -> None:
    live = applied(None, config(a="1"))
    assert owners(live) == {"me": {"f:data": {"f:a": {}}}}


def test_repeated_apply_writes_nothing() -> None:
    live = applied(None, config(a="1"))
    assert applied(live, config(a="1"), now=LATER) is live


def test_field_no_longer_applied_is_removed() -> None:
    live = applied(None, config(a="1", b="2"))
    live = applied(live, config(b="2"))
    assert live["data"] == {"b": "2"}
    assert owners(live) == {"me": {"f:data": {"f:b": {}}}}


def test_field_with_second_owner_is_kept() -> None:
    live = applied(None, config(a="1", b="2"))
    live = applied(live, config(a="1"), "you")
    live = applied(live, config(b="2"))
    assert live["data"] == {"a": "1", "b": "2"}
    assert owners(live) == {"me": {"f:data": {"f:b": {}}}, "you": {"f:data": {"f:a": {}}}}


def test_change_of_owned_field_conflicts_unless_forced() -> None:
    live = applied(None, config(a="1"))
    with pytest.raises(ApplyConflict) as refused:
        applied(live, config(a="2"), "you")
    assert str(refused.value) == 'Apply failed with 1 conflict: conflict with "me": .data.a'
    assert refused.value.causes == [
        {"reason": "FieldManagerConflict", "message": 'conflict with "me"', "field": ".data.a"}
    ]
    live = applied(live, config(a="2"), "you", force=True)
    assert live["data"] == {"a": "2"}
    assert owners(live) == {"you": {"f:data": {"f:a": {}}}}


def test_conflicts_are_listed_by_owner() -> None:
    live = applied(None, config(a="1", b="1"))
    with pytest.raises(ApplyConflict) as refused:
        applied(live, config(a="2", b="2"), "you")
    assert str(refused.value) == 'Apply failed with 2 conflicts: conflicts with "me":\n- .data.a\n- .data.b'


def test_update_takes_ownership_and_later_apply_conflicts() -> None:
    live = applied(None, config(a="1"))
    edited = record_update(live, {**live, "data": {"a": "9"}}, "kubectl-edit", "", CONFIG_MAPS, LATER)
    assert owners(edited) == {"kubectl-edit": {"f:data": {"f:a": {}}}}
    with pytest.raises(ApplyConflict, match=f'"kubectl-edit" using v1 at {LATER}: .data.a'):
        applied(edited, config(a="1"))


def test_removed_field_has_no_owner() -> None:
    live = applied(None, config(a="1", b="1"))
    edited = record_update(live, {**live, "data": {"b": "1"}}, "kubectl-edit", "", CONFIG_MAPS, LATER)
    assert owners(edited) == {"me": {"f:data": {"f:b": {}}}}


def test_object_without_apply_has_no_managed_fields() -> None:
    body = config(a="1")
    assert record_update(None, body, "scheduler", "", CONFIG_MAPS, NOW) is body
    assert record_update(config(a="0"), body, "scheduler", "", CONFIG_MAPS, NOW) is body


def test_update_without_managed_fields_keeps_them() -> None:
    live = applied(None, config(a="1"))
    written = record_update(live, config(a="1"), "controller", "", CONFIG_MAPS, LATER)
    assert written["metadata"]["managedFields"] == live["metadata"]["managedFields"]


def test_update_may_replace_managed_fields() -> None:
    live = applied(None, config(a="1"))
    moved = copy.deepcopy(live)
    moved["metadata"]["managedFields"][0]["manager"] = "heir"
    assert owners(record_update(live, moved, "kubectl", "", CONFIG_MAPS, LATER)) == {"heir": {"f:data": {"f:a": {}}}}
    moved["metadata"]["managedFields"] = [{}]
    assert "managedFields" not in record_update(live, moved, "kubectl", "", CONFIG_MAPS, LATER)["metadata"]


def test_fields_before_first_apply_have_earlier_manager() -> None:
    with pytest.raises(ApplyConflict, match=r'"before-first-apply" using v1: \.data\.a'):
        applied(config(a="1"), config(a="2"))
    live = applied(config(a="1", b="1"), config(a="1"))
    assert live["data"] == {"a": "1", "b": "1"}
    assert applied(live, config(b="1"))["data"] == {"a": "1", "b": "1"}


def test_client_side_apply_migrates_without_conflict() -> None:
    annotation = "kubectl.kubernetes.io/last-applied-configuration"
    first = config(a="1")
    sent = {**first, "metadata": {"name": "c", "annotations": {annotation: msgspec.json.encode(first).decode()}}}
    live = record_update(None, sent, "kubectl-client-side-apply", "", CONFIG_MAPS, NOW)
    with pytest.raises(ApplyConflict):
        applied(live, config(a="2"), "other")
    live = applied(live, config(a="2"), "kubectl")
    assert live["data"] == {"a": "2"}
    assert msgspec.json.decode(live["metadata"]["annotations"][annotation]) == config(a="2")


def test_containers_are_owned_field_by_field() -> None:
    live = applied(None, pod({"name": "a", "image": "1"}))
    live = applied(live, pod({"name": "b", "image": "1"}), "you")
    assert [each["name"] for each in live["spec"]["containers"]] == ["a", "b"]
    live = applied(live, pod({"name": "a", "image": "2", "env": [{"name": "X", "value": "1"}]}))
    assert live["spec"]["containers"][0] == {"name": "a", "image": "2", "env": [{"name": "X", "value": "1"}]}
    with pytest.raises(ApplyConflict, match=r'\.spec\.containers\[name="a"\]\.image'):
        applied(live, pod({"name": "a", "image": "3"}), "you")
    live = applied(live, pod({"name": "a", "image": "2"}))
    assert live["spec"]["containers"] == [{"name": "a", "image": "2"}, {"name": "b", "image": "1"}]


def test_item_no_longer_applied_is_removed_with_defaults() -> None:
    live = applied(None, pod({"name": "a", "image": "1"}, {"name": "b", "image": "1"}))
    live["spec"]["containers"][1]["imagePullPolicy"] = "Always"
    live = applied(live, pod({"name": "a", "image": "1"}))
    assert live["spec"]["containers"] == [{"name": "a", "image": "1"}]


def test_port_key_includes_default_protocol() -> None:
    tcp, udp = {"containerPort": 53}, {"containerPort": 53, "protocol": "UDP"}
    live = applied(None, pod({"name": "a", "ports": [tcp]}))
    live = applied(live, pod({"name": "a", "ports": [udp]}), "you")
    assert live["spec"]["containers"][0]["ports"] == [tcp, udp]


def test_finalizers_are_owned_one_by_one() -> None:
    live = applied(None, pod({"name": "a"}, finalizers=["x"]))
    live = applied(live, pod({"name": "a"}, finalizers=["y"]), "you")
    assert live["metadata"]["finalizers"] == ["x", "y"]
    assert applied(live, pod({"name": "a"}))["metadata"]["finalizers"] == ["y"]


def test_status_subresource() -> None:
    live = applied(None, {**pod({"name": "a"}), "status": {"phase": "Running"}})
    assert "status" not in live
    body = {**pod({"name": "zzz"}), "status": {"phase": "Running"}}
    live = apply(live, body, "me", False, PODS, NOW, "status")
    assert live["status"] == {"phase": "Running"}
    assert live["spec"]["containers"] == [{"name": "a"}]
    assert [entry.get("subresource") for entry in live["metadata"]["managedFields"]] == [None, "status"]


SCHEMA = {
    "properties": {
        "spec": {
            "properties": {
                "policies": {
                    "x-kubernetes-list-type": "map",
                    "x-kubernetes-list-map-keys": ["name"],
                    "items": {"properties": {"name": {"type": "string"}}},
                },
                "plain": {"items": {"type": "string"}},
            }
        }
    }
}
JOBS = ServedResource("x.io", "v1", "jobs", "job", "Job", "JobList", True, schema=SCHEMA, is_custom=True)


def job(**spec: Any) -> Object:
    return {"apiVersion": "x.io/v1", "kind": "Job", "metadata": {"name": "j"}, "spec": spec}


def test_custom_resource_merges_by_schema() -> None:
    live = apply(None, job(policies=[{"name": "a"}], plain=["x"]), "me", False, JOBS, NOW)
    live = apply(live, job(policies=[{"name": "b"}]), "you", False, JOBS, NOW)
    assert live["spec"] == {"policies": [{"name": "a"}, {"name": "b"}], "plain": ["x"]}
    with pytest.raises(ApplyConflict, match=r"\.spec\.plain"):
        apply(live, job(plain=["x", "y"]), "you", False, JOBS, NOW)


def test_managed_fields_cannot_be_applied() -> None:
    body = config(a="1")
    body["metadata"]["managedFields"] = [{"manager": "x"}]
    with pytest.raises(ApplyRejected):
        applied(None, body)


UNCLEAR = {
    "an item without its key": (pod({"image": "x"}), '.spec.containers: element 0: omits the key field "name"'),
    "two items with one key": (pod({"name": "a"}, {"name": "a"}), 'duplicate entries for key [name="a"]'),
    "one deeper": (
        pod({"name": "a", "env": [{"value": "1"}]}),
        '.spec.containers[name="a"].env: element 0: omits the key field "name"',
    ),
    "a value twice in a set": (pod({"name": "a"}, finalizers=["x", "x"]), ".metadata.finalizers: duplicate entries"),
}


@pytest.mark.parametrize("name", UNCLEAR)
def test_applied_items_need_distinct_keys(name: str) -> None:
    body, expected = UNCLEAR[name]
    with pytest.raises(ApplyRejected, match=re.escape(expected)):
        applied(None, body)


def test_apply_keeps_identity() -> None:
    live = applied(None, config(a="1"))
    live["metadata"] |= {"uid": "1", "resourceVersion": "5", "creationTimestamp": NOW}
    body = config(a="2")
    body["metadata"] |= {"uid": "2", "creationTimestamp": None}
    after = applied(live, body)
    assert {name: after["metadata"][name] for name in ("uid", "resourceVersion", "creationTimestamp")} == {
        "uid": "1",
        "resourceVersion": "5",
        "creationTimestamp": NOW,
    }


DATA = st.dictionaries(st.sampled_from("abcd"), st.sampled_from("12"), max_size=4)
STEPS = st.lists(st.tuples(st.sampled_from(["me", "you", "they"]), DATA), min_size=1, max_size=8)


@given(STEPS)
def test_applies_are_idempotent_and_keep_other_managers(steps: list[tuple[str, dict[str, str]]]) -> None:
    live: Object | None = None
    for manager, data in steps:
        live = applied(live, config(**data), manager, force=True)
        assert applied(live, config(**data), manager, now=LATER) is live
        assert data.items() <= live.get("data", {}).items()
    owned = {
        path for entry in (live or {})["metadata"].get("managedFields", ()) for path in decode_fields(entry["fieldsV1"])
    }
    assert set((live or {}).get("data", {})) == {path[1].removeprefix("f:") for path in owned if len(path) > 1}


PATHS = st.lists(st.sampled_from(["f:a", "f:b", 'k:{"name":"x"}', 'v:"y"']), min_size=1, max_size=3).map(tuple)


@given(st.frozensets(PATHS, max_size=6))
def test_field_sets_round_trip(fields: frozenset[tuple[str, ...]]) -> None:
    assert decode_fields(encode_fields(fields)) == fields
