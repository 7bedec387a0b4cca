"""Requests of several test processes, as the test of permissions reads them afterwards."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from testbed import request_records
from testbed.plane import ACCOUNTS, Asked, ControlPlane


def plane(folder: Path, account: str) -> ControlPlane:
    request = {
        "user": {"username": ACCOUNTS[account]},
        "verb": "list",
        "objectRef": {"resource": "pods"},
        "responseStatus": {"code": 200},
    }
    log = folder / f"{account}.log"
    log.write_bytes(msgspec.json.encode(request) + b"\n")
    return ControlPlane("real", {}, log)


@pytest.fixture(autouse=True)
def new_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(request_records, "_ENDED", set())
    monkeypatch.delenv(request_records.FOLDER, raising=False)


def test_requests_to_ended_servers_are_kept_in_the_process(tmp_path: Path) -> None:
    for account in ("scheduler", "binder"):
        request_records.record(plane(tmp_path, account))
    assert request_records.recorded() == {Asked(name, "list", "", "pods", 200) for name in ("scheduler", "binder")}


def test_requests_of_ended_processes_are_read_from_the_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(request_records.FOLDER, str(tmp_path / "records"))
    for account in ("scheduler", "binder"):
        monkeypatch.setattr(request_records, "_ENDED", set())
        request_records.record(plane(tmp_path, account))
    monkeypatch.setattr(request_records, "_ENDED", set())
    assert request_records.recorded() == {Asked(name, "list", "", "pods", 200) for name in ("scheduler", "binder")}
