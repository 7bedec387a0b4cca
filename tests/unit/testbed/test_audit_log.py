"""Audit log records, as the tests of rights read them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from testbed.plane import ACCOUNTS, Asked, ControlPlane

ANSWERS = [
    ("allowed and done", 201, "allow", 201),
    ("no right", 403, "forbid", 403),
    ("a right, but the namespace is going away", 403, "allow", 409),
    ("record without decision", 403, "", 403),
]


def line(code: int, decision: str) -> bytes:
    record: dict[str, Any] = {
        "user": {"username": ACCOUNTS["scheduler"]},
        "verb": "create",
        "objectRef": {"apiGroup": "events.k8s.io", "resource": "events"},
        "responseStatus": {"code": code},
    }
    if decision:
        record["annotations"] = {"authorization.k8s.io/decision": decision}
    return msgspec.json.encode(record) + b"\n"


@pytest.mark.parametrize(("name", "code", "decision", "code_seen"), ANSWERS, ids=[row[0] for row in ANSWERS])
def test_audit_log_record_gives_status_code(
    tmp_path: Path, name: str, code: int, decision: str, code_seen: int
) -> None:
    log = tmp_path / "audit.log"
    log.write_bytes(line(code, decision))
    plane = ControlPlane("real", {}, log)
    assert list(plane.asked()) == [Asked("scheduler", "create", "events.k8s.io", "events", code_seen)]
