"""Merge patches and JSON patches: the tables of their RFCs, and properties of all documents."""

import copy

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stromboli.local.patching.patches import MAX_OPERATIONS, MalformedPatch, PatchFailed, json_patch, merge_patch
from tests.unit.local.json_values import JSON, OBJECTS

MERGES = {
    "a field is replaced": ({"a": "b"}, {"a": "c"}, {"a": "c"}),
    "a field is added": ({"a": "b"}, {"b": "c"}, {"a": "b", "b": "c"}),
    "null removes": ({"a": "b"}, {"a": None}, {}),
    "null removes only its field": ({"a": "b", "b": "c"}, {"a": None}, {"b": "c"}),
    "a list is one value": ({"a": [{"b": "c"}]}, {"a": [1]}, {"a": [1]}),
    "a list takes the place of a plain value": ({"a": "c"}, {"a": ["b"]}, {"a": ["b"]}),
    "objects merge deeply": ({"a": {"b": "c"}}, {"a": {"b": "d", "c": None}}, {"a": {"b": "d"}}),
    "nulls below something new are not kept": ({}, {"a": {"bb": {"ccc": None}}}, {"a": {"bb": {}}}),
    "an object takes the place of a list": (["a", "b"], {"a": "b", "c": None}, {"a": "b"}),
    "a plain patch replaces everything": ({"a": "b"}, ["c"], ["c"]),
    "null inside a list stays": ({}, {"a": [None]}, {"a": [None]}),
}


@pytest.mark.parametrize("name", MERGES)
def test_merge_patch(name: str) -> None:
    target, patch, expected = MERGES[name]
    assert merge_patch(target, patch) == expected


def without_nulls(value: object) -> object:
    return {k: without_nulls(v) for k, v in value.items() if v is not None} if isinstance(value, dict) else value


@given(JSON, JSON)
def test_merge_patch_is_idempotent_and_keeps_inputs(target: object, patch: object) -> None:
    kept = copy.deepcopy((target, patch))
    once = merge_patch(target, patch)
    assert merge_patch(once, patch) == once
    assert (target, patch) == kept


@given(OBJECTS)
def test_merge_into_nothing_is_patch_without_nulls(patch: dict[str, object]) -> None:
    assert merge_patch({}, patch) == without_nulls(patch)


OPERATIONS = {
    "add a field": ({"a": 1}, [{"op": "add", "path": "/b", "value": 2}], {"a": 1, "b": 2}),
    "add over a field": ({"a": 1}, [{"op": "add", "path": "/a", "value": 2}], {"a": 2}),
    "add into a list": ({"a": [1, 3]}, [{"op": "add", "path": "/a/1", "value": 2}], {"a": [1, 2, 3]}),
    "add at the end": ({"a": [1]}, [{"op": "add", "path": "/a/-", "value": 2}], {"a": [1, 2]}),
    "remove a field": ({"a": 1, "b": 2}, [{"op": "remove", "path": "/a"}], {"b": 2}),
    "remove an item": ({"a": [1, 2, 3]}, [{"op": "remove", "path": "/a/1"}], {"a": [1, 3]}),
    "replace a field": ({"a": 1}, [{"op": "replace", "path": "/a", "value": None}], {"a": None}),
    "replace everything": ({"a": 1}, [{"op": "replace", "path": "", "value": [1]}], [1]),
    "move": ({"a": {"b": 1}}, [{"op": "move", "from": "/a/b", "path": "/c"}], {"a": {}, "c": 1}),
    "copy": ({"a": [1]}, [{"op": "copy", "from": "/a", "path": "/b"}], {"a": [1], "b": [1]}),
    "test and go on": (
        {"a": 1},
        [{"op": "test", "path": "/a", "value": 1}, {"op": "remove", "path": "/a"}],
        {},
    ),
    "slashes and tildes in names": ({"c/d": 1, "e~f": 2}, [{"op": "remove", "path": "/c~1d"}], {"e~f": 2}),
}


@pytest.mark.parametrize("name", OPERATIONS)
def test_json_patch(name: str) -> None:
    target, operations, expected = OPERATIONS[name]
    kept = copy.deepcopy((target, operations))
    assert json_patch(target, operations) == expected
    assert (target, operations) == kept


REFUSED = {
    "replace what is not there": ([{"op": "replace", "path": "/x", "value": 1}], PatchFailed),
    "remove what is not there": ([{"op": "remove", "path": "/x"}], PatchFailed),
    "add below what is not there": ([{"op": "add", "path": "/x/y", "value": 1}], PatchFailed),
    "an index beyond the end": ([{"op": "add", "path": "/list/9", "value": 1}], PatchFailed),
    "an index that is none": ([{"op": "add", "path": "/list/01", "value": 1}], PatchFailed),
    "a test that fails": ([{"op": "test", "path": "/a", "value": 2}], PatchFailed),
    "true is not one": ([{"op": "test", "path": "/a", "value": True}], PatchFailed),
    "a move into itself": ([{"op": "move", "from": "/map", "path": "/map/x"}], PatchFailed),
    "an unknown operation": ([{"op": "increment", "path": "/a"}], MalformedPatch),
    "no value": ([{"op": "add", "path": "/a"}], MalformedPatch),
    "no pointer": ([{"op": "add", "path": "a", "value": 1}], MalformedPatch),
    "too many": ([{"op": "test", "path": "/a", "value": 1}] * (MAX_OPERATIONS + 1), MalformedPatch),
    "no list": ({"op": "add", "path": "/a", "value": 1}, MalformedPatch),
}


@pytest.mark.parametrize("name", REFUSED)
def test_invalid_json_patch_is_rejected(name: str) -> None:
    operations, error = REFUSED[name]
    with pytest.raises(error):
        json_patch({"a": 1, "list": [1], "map": {"x": 1}}, operations)


@given(OBJECTS, JSON, st.sampled_from(["a", "b", "new"]))
def test_json_patch_remove_undoes_add(target: dict[str, object], value: object, name: str) -> None:
    target.pop(name, None)
    added = json_patch(target, [{"op": "add", "path": f"/{name}", "value": value}])
    assert added == {**target, name: value}
    assert json_patch(added, [{"op": "remove", "path": f"/{name}"}]) == target
