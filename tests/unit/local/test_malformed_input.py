"""Any input is accepted or rejected: no crash, and no change of the arguments."""

import contextlib
import copy
from datetime import UTC, datetime
from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from stromboli.local.api_server.registry import ServedResource
from stromboli.local.discovery.tables import BUILT_IN_COLUMNS, table
from stromboli.local.patching.apply import ApplyConflict, ApplyRejected, apply
from stromboli.local.patching.managed_fields import record_update
from stromboli.local.patching.patches import MalformedPatch, PatchFailed, json_patch
from stromboli.local.patching.strategic_merge import strategic_merge
from tests.unit.local.json_values import JSON

NOW = "2026-11-15T12:00:00Z"
PODS = ServedResource("", "v1", "pods", "pod", "Pod", "PodList", True, status_subresource=True)

#: Names with a meaning for the code under test.
SIGNIFICANT = st.sampled_from(
    [
        "$patch",
        "$retainKeys",
        "$setElementOrder/containers",
        "$setElementOrder/finalizers",
        "$deleteFromPrimitiveList/finalizers",
        "containers",
        "finalizers",
        "ports",
        "containerPort",
        "name",
        "selector",
        "status",
        "conditions",
        "f:spec",
        "manager",
        "fieldsV1",
    ]
)
WORDS = st.sampled_from(["delete", "replace", "merge", "a", ""]) | st.integers(0, 2) | st.none() | st.booleans()
FOUL = st.recursive(
    WORDS, lambda below: st.lists(below, max_size=3) | st.dictionaries(SIGNIFICANT, below, max_size=3), max_leaves=12
)
FOUL_OBJECTS = st.dictionaries(SIGNIFICANT, FOUL, max_size=4)


@given(FOUL_OBJECTS, FOUL)
def test_strategic_merges(target: dict[str, Any], patch: Any) -> None:
    kept = copy.deepcopy((target, patch))
    with contextlib.suppress(MalformedPatch):
        msgspec.json.encode(strategic_merge(target, patch))
    assert (target, patch) == kept


OPERATIONS = st.fixed_dictionaries(
    {"op": st.sampled_from(["add", "remove", "replace", "move", "copy", "test", "other"])},
    optional={
        "path": st.sampled_from(["", "/a", "/a/0", "/a/-", "/b/a", "x", 3]),
        "from": st.just("/a"),
        "value": JSON,
    },
)


@given(JSON, st.lists(OPERATIONS, max_size=4) | JSON)
def test_json_patches(target: Any, operations: Any) -> None:
    with contextlib.suppress(MalformedPatch, PatchFailed):
        json_patch(target, operations)


def pod(spec: Any, managed_fields: Any = None) -> dict[str, Any]:
    metadata = {"name": "p"} if managed_fields is None else {"name": "p", "managedFields": managed_fields}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


ENTRIES = st.lists(
    st.fixed_dictionaries({"manager": st.sampled_from(["me", "you"])}, optional={"fieldsV1": FOUL, "time": WORDS})
    | FOUL,
    max_size=3,
)


@given(FOUL, FOUL, ENTRIES, st.booleans())
def test_applies(live: Any, wanted: Any, entries: Any, force: bool) -> None:
    with contextlib.suppress(ApplyConflict, ApplyRejected):
        merged = apply(pod(live, entries), pod(wanted), "me", force, PODS, NOW)
        msgspec.json.encode(merged)


@given(FOUL, FOUL, ENTRIES, ENTRIES)
def test_managed_fields(old: Any, new: Any, before: Any, after: Any) -> None:
    msgspec.json.encode(record_update(pod(old, before), pod(new, after), "me", "", PODS, NOW))


@given(st.sampled_from(sorted(BUILT_IN_COLUMNS)), FOUL_OBJECTS, FOUL_OBJECTS)
def test_tables(kind: tuple[str, str], spec: dict[str, Any], status: dict[str, Any]) -> None:
    resource = ServedResource(kind[0], "v1", kind[1], "", "Kind", "KindList", True)
    entry = {"metadata": {"name": "x"}, "spec": spec, "status": status}
    msgspec.json.encode(table(resource, [entry], now=datetime(2026, 11, 15, tzinfo=UTC)))
