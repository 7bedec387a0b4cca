"""What is removed from objects of others: what the own field managers wrote, and nothing else."""

from __future__ import annotations

from typing import Any

import pytest

from stromboli.install.owned_fields import is_own_name, release_of

ANNOTATION, LABEL = "scheduling.stromboli.dev/allocated-hypernode", "scheduling.stromboli.dev/discovered-by"
OURS = {"manager": "stromboli", "operation": "Update", "fieldsV1": {"f:status": {"f:allocated": {}}}}
THEIRS = {"manager": "volcano", "operation": "Apply", "fieldsV1": {"f:status": {"f:state": {}}}}
CONDITION = {"type": "scheduling.stromboli.dev/Placed", "status": "True"}
KEPT = {"type": "Scheduled", "status": "True"}


def wrote(manager: str, **fields: str) -> dict[str, Any]:
    """The entry of a manager that wrote an annotation or a label."""
    return {
        "manager": manager,
        "fieldsV1": {"f:metadata": {f"f:{kind}": {f"f:{name}": {}} for kind, name in fields.items()}},
    }


def object_with(*entries: Any, conditions: Any = None, **metadata: Any) -> dict[str, Any]:
    return {"metadata": {"name": "x", "managedFields": list(entries), **metadata}, "status": {"conditions": conditions}}


CASES: dict[str, tuple[dict[str, Any], dict[str, Any], list[str]]] = {
    "nothing of ours": (object_with(THEIRS), {}, []),
    "no owner at all": ({"metadata": {"name": "x"}}, {}, []),
    "fields": (object_with(OURS, THEIRS), {"metadata": {"managedFields": [THEIRS]}}, ["fields of stromboli"]),
    "all fields": (object_with(OURS), {"metadata": {"managedFields": [{}]}}, ["fields of stromboli"]),
    "fields of the controllers": (
        object_with({**OURS, "manager": "stromboli-controller"}),
        {"metadata": {"managedFields": [{}]}},
        ["fields of stromboli-controller"],
    ),
    "an annotation that we wrote": (
        object_with(wrote("stromboli", annotations=ANNOTATION), annotations={ANNOTATION: "r0", "note": "b"}),
        {"metadata": {"managedFields": [{}], "annotations": {ANNOTATION: None}}},
        ["fields of stromboli", f"annotation {ANNOTATION}"],
    ),
    "an annotation of a user": (
        object_with(wrote("kubectl", annotations=ANNOTATION), annotations={ANNOTATION: "1h"}), {}, []
    ),
    "a label that we wrote": (
        object_with(wrote("stromboli", labels=LABEL), labels={LABEL: "rack"}),
        {"metadata": {"managedFields": [{}], "labels": {LABEL: None}}},
        ["fields of stromboli", f"label {LABEL}"],
    ),
    "a finalizer": (
        object_with(finalizers=["stromboli.dev/wait", "example.com/kept"]),
        {"metadata": {"finalizers": ["example.com/kept"]}},
        ["finalizer stromboli.dev/wait"],
    ),
    "the only finalizer": (
        object_with(finalizers=["stromboli.dev/wait"]),
        {"metadata": {"finalizers": None}},
        ["finalizer stromboli.dev/wait"],
    ),
    "a condition": (
        object_with(conditions=[CONDITION, KEPT]),
        {"status": {"conditions": [KEPT]}},
        ["condition scheduling.stromboli.dev/Placed"],
    ),
}  # fmt: skip


@pytest.mark.parametrize(("document", "patch", "parts"), CASES.values(), ids=CASES)
def test_release_removes_only_what_is_ours(document: Any, patch: Any, parts: list[str]) -> None:
    assert release_of(document) == (patch, parts)


NAMES = {
    "stromboli.dev/commit": True,
    "scheduling.stromboli.dev/Placed": True,
    "notstromboli.dev/commit": False,
    "stromboli.dev": False,
    "example.com/stromboli.dev": False,
}


@pytest.mark.parametrize(("name", "own"), NAMES.items())
def test_own_names_are_in_the_own_domain(name: str, own: bool) -> None:
    assert is_own_name(name) is own
