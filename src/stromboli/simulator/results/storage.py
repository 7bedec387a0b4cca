"""A run as a file: a zip archive with a JSON document, the texts of the table, and its arrays.

Equal runs are equal bytes: the archive has no times, and its members have a fixed order. The document holds what
describes the run, and whatever statistics its writer adds, so that they are read without the table.
"""

from __future__ import annotations

from array import array
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED, BadZipFile, ZipFile, ZipInfo

import msgspec

from stromboli.simulator.results.job_table import JobTable
from stromboli.simulator.results.run import SimulationRun
from stromboli.traces.trace import TraceNode

_RUN, _TEXTS = "run.json", "texts.json"
_DESCRIPTION = (
    "epoch", "start", "end", "cycles", "seed", "trace", "policy", "weights", "warnings", "rejected",
)  # fmt: skip


class StoredRunError(ValueError):
    """A file that is no complete run."""


def write_run(run: SimulationRun, path: Path, statistics: Mapping[str, Any] | None = None) -> None:
    """Write a run. The file replaces an older one when it is complete."""
    part = path.with_name(f"{path.name}.part")
    table = run.jobs
    try:
        with ZipFile(part, "w") as file:
            description = {name: getattr(run, name) for name in _DESCRIPTION}
            nodes = [msgspec.structs.astuple(node) for node in run.nodes]
            _add(file, _RUN, msgspec.json.encode({**description, "nodes": nodes, "statistics": statistics or {}}))
            texts = {"queue": table.queues.texts, "user": table.users.texts, "group": table.groups.texts}
            _add(file, _TEXTS, msgspec.json.encode({"names": table.names, **texts}))
            for name, values in table.arrays():
                _add(file, f"{name}.{values.typecode}", values.tobytes())
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def _add(file: ZipFile, name: str, content: bytes) -> None:
    member = ZipInfo(name)
    member.compress_type = ZIP_DEFLATED
    file.writestr(member, content, compresslevel=1)


def read_statistics(path: Path) -> dict[str, Any]:
    """Return the statistics of a stored run, without its table. Raises StoredRunError."""
    found: dict[str, Any] = _document(path)["statistics"]
    return found


def _document(path: Path) -> dict[str, Any]:
    try:
        with ZipFile(path) as file:
            document: dict[str, Any] = msgspec.json.decode(file.read(_RUN))
    except (OSError, BadZipFile, KeyError, msgspec.DecodeError) as error:
        raise StoredRunError(f"{path}: no stored run: {error}") from error
    return document


def read_run(path: Path) -> SimulationRun:
    """Raises StoredRunError."""
    document = _document(path)
    with ZipFile(path) as file:
        arrays = {}
        for member in file.namelist():
            name, _, kind = member.rpartition(".")
            if member not in (_RUN, _TEXTS):
                arrays[name] = array(kind, file.read(member))
        texts = msgspec.json.decode(file.read(_TEXTS), type=dict[str, list[str]])
    nodes = [TraceNode(*node) for node in document["nodes"]]
    description = {name: document[name] for name in _DESCRIPTION}
    description["warnings"] = tuple(description["warnings"])
    return SimulationRun(jobs=_table(texts, arrays), nodes=nodes, **description)


def _table(texts: Mapping[str, list[str]], arrays: Mapping[str, array[Any]]) -> JobTable:
    table = JobTable()
    table.names = texts["names"]
    for name, column in (("queue", table.queues), ("user", table.users), ("group", table.groups)):
        column.texts = texts[name]
    for name, values in table.arrays():
        values.extend(arrays[name])
    return table
