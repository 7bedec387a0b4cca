"""Requests to servers that have ended: kept in this process, and in a folder that several test processes share."""

from __future__ import annotations

import os
import uuid
from pathlib import Path

import msgspec

from testbed.plane import Asked, ControlPlane

#: This variable names the folder.
FOLDER = "STROMBOLI_REQUEST_RECORDS"
_ENDED: set[Asked] = set()


def record(plane: ControlPlane) -> None:
    """Keep the requests to a server that is about to end."""
    requests = set(plane.asked())
    _ENDED.update(requests)
    if folder := records_folder():
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{uuid.uuid4()}.json").write_bytes(msgspec.json.encode(list(requests)))


def recorded() -> set[Asked]:
    """All requests that this process kept, and all in the folder."""
    files = folder.glob("*.json") if (folder := records_folder()) else ()
    return _ENDED.union(*(msgspec.json.decode(file.read_bytes(), type=list[Asked]) for file in files))


def records_folder() -> Path | None:
    named = os.environ.get(FOLDER)
    return Path(named) if named else None
