"""Every write of the binder has crash points before and after it, and a test kills a process at each."""

from __future__ import annotations

import ast
import importlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import stromboli.binding
from stromboli.binding.process.crash_point_client import CrashPointClient, write_name
from stromboli.binding.process.process import BinderProcess
from tests.e2e.binding.test_binder_crashes import KILLED
from tests.properties.binding.test_fault_schedules import WRITES
from tests.properties.binding.test_reservation_fault_schedules import WRITES as WRITES_FOR_GPUS
from tests.unit.binding.requests.test_extended_claims import REPLACED as WRITES_FOR_REPLACED_CLAIMS
from tests.unit.binding.requests.test_extended_claims import WRITES as WRITES_FOR_EXTENDED_CLAIMS

ROOT = Path(stromboli.binding.__file__).parent
VERBS = {"create", "patch", "delete", "bind", "evict"}
#: Files whose resource is only known at run time.
GENERIC = {
    "steps/volumes/writes.py": ("patch persistentvolumeclaims", "patch persistentvolumes"),
    "steps/claims.py": ("patch resourceclaims", "patch resourceclaims/status"),
}
#: Writes of classes that only schedulers use.
OF_SCHEDULERS = {("evictions.py", "delete pods")}


def writes() -> Iterator[tuple[str, str]]:
    """Yield the file and the name of every write."""
    for path in sorted(ROOT.rglob("*.py")):
        module = ".".join(("stromboli", *path.relative_to(ROOT.parent).with_suffix("").parts))
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in VERBS:
                owner = node.func.value
                if (owner.attr if isinstance(owner, ast.Attribute) else getattr(owner, "id", "")).endswith("client"):
                    for name in _names(path.relative_to(ROOT).as_posix(), module, node.func.attr, node):
                        yield path.relative_to(ROOT).as_posix(), name


def _names(file: str, module: str, verb: str, call: ast.Call) -> list[str]:
    if verb == "bind":
        return ["create pods/binding"]
    if verb == "evict":
        return ["create pods/eviction"]
    if file in GENERIC:
        return list(GENERIC[file])
    loaded = importlib.import_module(module)
    parts = [_value(loaded, each.value) for each in call.keywords if each.arg == "subresource"]
    resource = _value(loaded, call.args[0])
    assert resource is not None, f"{file} line {call.lineno}: add it to GENERIC"
    assert None not in parts, f"{file} line {call.lineno}: add it to GENERIC"
    return [f"{verb} {'/'.join((resource.plural, *parts))}"]


def _value(module: object, expression: ast.expr) -> Any:
    """Return the value of a constant; None for an expression that is only known at run time."""
    if isinstance(expression, ast.Constant):
        return expression.value
    return getattr(module, expression.id, None) if isinstance(expression, ast.Name) else None


#: Writes of the event recorder, which all processes share.
RECORDED = [("recorder.py", "create events"), ("recorder.py", "patch events")]


@pytest.mark.parametrize(("file", "write"), sorted({*writes(), *RECORDED} - OF_SCHEDULERS), ids=" ".join)
def test_every_write_has_a_crash_test(file: str, write: str) -> None:
    killed = {each for scenario in KILLED.values() for each in scenario} | {*WRITES, *WRITES_FOR_GPUS}
    killed |= {*WRITES_FOR_EXTENDED_CLAIMS, *WRITES_FOR_REPLACED_CLAIMS}
    assert write in killed, f"{file} has no crash test for {write}"


def test_source_has_writes() -> None:
    assert len(list(writes())) >= 7


def test_binder_uses_only_the_crash_point_client() -> None:
    made = [
        f"{path.name}: {node.func.id}"
        for path in sorted(ROOT.rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id.endswith("Client")
    ]
    assert made == []
    assert BinderProcess.client is CrashPointClient


PATHS = [
    ("POST", "/api/v1/namespaces/a/pods/b/binding", "create pods/binding"),
    ("POST", "/apis/events.k8s.io/v1/namespaces/a/events", "create events"),
    (
        "PATCH",
        "/apis/scheduling.stromboli.dev/v1alpha1/namespaces/a/bindrequests/b/status",
        "patch bindrequests/status",
    ),
    ("PATCH", "/api/v1/nodes/namespaces", "patch nodes"),
    ("PATCH", "/api/v1/persistentvolumes/b", "patch persistentvolumes"),
    ("PUT", "/api/v1/namespaces/a", "update namespaces"),
    ("DELETE", "/api/v1/namespaces/pods/pods/pods", "delete pods"),
    ("GET", "/api/v1/namespaces/a/pods/b", ""),
]


@pytest.mark.parametrize(("method", "path", "name"), PATHS, ids=[case[1] for case in PATHS])
def test_crash_point_has_the_name_of_its_write(method: str, path: str, name: str) -> None:
    assert write_name(method, path) == name
