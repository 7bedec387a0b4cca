"""Tables whose columns a mapping declares: which column holds which property of a job, in which unit.

    delimiter: ","
    header: [jobid, user, ...]        # only for tables without a line of names
    columns:
      name: jobid
      submitted: {column: submitted_time, format: "%Y-%m-%d %H:%M:%S"}
      started: {column: start_time, format: "%Y-%m-%d %H:%M:%S"}
      ended: {column: end_time, format: "%Y-%m-%d %H:%M:%S"}
      gpu: {column: gpus, scale: 1000, of: job}

Amounts are multiplied by `scale`, and divided by the number of pods if they are those `of: job`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from importlib.resources import files
from math import isfinite
from pathlib import Path
from typing import Any, Literal

import msgspec
import yaml

from stromboli.kube.manifests.errors import path_problem
from stromboli.traces.rejects import RejectedRows, RowProblem
from stromboli.traces.source import first_line, rows_of
from stromboli.traces.trace import STATUSES, UNKNOWN, Trace, TraceError, TraceHeader, TraceJob, sorted_jobs

NAME = "columns"
ISO = "iso"
_TIMES = ("submitted", "started", "ended", "run_time", "requested", "waited", "checkpoint")
_AMOUNTS = ("pods", "cpu", "memory", "gpu")
_TEXTS = ("name", "user", "group", "queue", "status", "gpu_models")


class Column(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """Where a property is, and how it is written."""

    column: str
    #: The factor to seconds, thousandths or bytes.
    scale: float = 1.0
    #: The format of times, as in `strptime`, or `iso` for ISO 8601; without it they are numbers.
    format: str = ""
    of: Literal["pod", "job"] = "pod"
    #: Separates the parts of a list.
    separator: str = "|"
    #: Names of statuses.
    values: dict[str, str] = {}
    #: Whether the table may lack the column.
    optional: bool = False


class ColumnMapping(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    columns: dict[str, Column | str]
    delimiter: str = ","
    header: list[str] = []
    description: str = ""
    #: Whether rows are in order of submit time, so that the table is read as a stream, and times are kept.
    ordered: bool = False
    #: Whether jobs without a run time do not end; otherwise they are rejected.
    endless: bool = False


def mapping_names() -> list[str]:
    """Return the names of the mappings of this package."""
    folder = files("stromboli.traces.formats") / "mappings"
    return sorted(each.name.removesuffix(".yaml") for each in folder.iterdir() if each.name.endswith(".yaml"))


def read_mapping(name: str) -> dict[str, Column]:
    return _columns(load_mapping(name), name)


def load_mapping(name: str) -> ColumnMapping:
    """Load a mapping of this package by its name, or a file. Raises TraceError."""
    try:
        if name in mapping_names():
            text = (files("stromboli.traces.formats") / "mappings" / f"{name}.yaml").read_text("utf-8")
        else:
            text = Path(name).read_text("utf-8")
        return msgspec.convert(yaml.safe_load(text), ColumnMapping)
    except (OSError, UnicodeDecodeError) as error:
        names = ", ".join(mapping_names())
        raise TraceError(f"{path_problem(name, error)}, and no mapping has this name, only {names}") from error
    except (yaml.YAMLError, msgspec.ValidationError) as error:
        raise TraceError(
            f"{name}: {' '.join(str(error).split())}; see the page of traces for a valid mapping"
        ) from error


def _columns(mapping: ColumnMapping, name: str) -> dict[str, Column]:
    columns = {key: Column(each) if isinstance(each, str) else each for key, each in mapping.columns.items()}
    known = (*_TIMES, *_AMOUNTS, *_TEXTS)
    if unknown := [key for key in columns if key not in known]:
        raise TraceError(f"{name}: columns.{unknown[0]} is no property of a job; use {', '.join(known)}")
    if "submitted" not in columns:
        raise TraceError(f"{name}: columns.submitted is missing; every job needs its submit time")
    for key, column in columns.items():
        if invalid := [value for value in column.values.values() if value not in STATUSES]:
            raise TraceError(f"{name}: columns.{key}.values: {invalid[0]!r} is no status; use {', '.join(STATUSES)}")
    return columns


def matching_mapping(path: str) -> str:
    """Return the mapping of this package whose columns the first line of a table names; empty if there is none."""
    line = first_line(path)
    for name in mapping_names():
        mapping = load_mapping(name)
        if mapping.header:
            continue
        present = {text.strip().strip('"') for text in line.split(mapping.delimiter)}
        needed = {each.column for each in _columns(mapping, name).values() if not each.optional}
        if needed <= present:
            return name
    return ""


def read_columns(path: str, name: str) -> Trace:
    mapping = load_mapping(name)
    rejected = RejectedRows()
    table = _Table(path, mapping, _columns(mapping, name))
    if mapping.ordered:
        return Trace(path, NAME, lambda: table.jobs(rejected), rejected=rejected)
    jobs = sorted_jobs(table.jobs(rejected))
    start = min((job.submitted for job in jobs), default=0.0)
    shifted = [msgspec.structs.replace(job, submitted=job.submitted - start) for job in jobs] if start else jobs
    is_date = bool(table.columns["submitted"].format)
    header = TraceHeader(start=start if is_date else None)
    return Trace(path, NAME, lambda: iter(shifted), header, rejected=rejected)


@dataclass(slots=True)
class _Table:
    path: str
    mapping: ColumnMapping
    columns: Mapping[str, Column]

    def jobs(self, rejected: RejectedRows) -> Iterator[TraceJob]:
        rejected.clear()
        rows = rows_of(self.path, self.mapping.delimiter)
        names: Sequence[str] = self.mapping.header or next(rows, (1, []))[1]
        cells = self._cells(names)
        for number, row in rows:
            try:
                if len(row) < len(names):
                    raise RowProblem("too few columns", f"{len(row)} of {len(names)}")
                yield _job({key: read(row) for key, read in cells.items()}, number, endless=self.mapping.endless)
            except RowProblem as problem:
                rejected.add(problem.rule, f"{self.path}:{number}", problem.detail)

    def _cells(self, names: Sequence[str]) -> dict[str, Callable[[Sequence[str]], Any]]:
        """Return a reader of each property. Raises TraceError if the table lacks a column."""
        titles = [name.strip() for name in names]
        cells: dict[str, Callable[[Sequence[str]], Any]] = {}
        for key, column in self.columns.items():
            if column.column in titles:
                cells[key] = partial(_cell, key, column, titles.index(column.column))
            elif not column.optional:
                raise TraceError(
                    f"{self.path}:1: no column {column.column!r} for {key}, only {', '.join(titles[:20])}; "
                    "name another mapping with --columns"
                )
        return cells


def _cell(key: str, column: Column, index: int, row: Sequence[str]) -> Any:
    text = row[index].strip()
    if key in _TEXTS:
        return _text(key, column, text)
    if not text or text.lower() in ("none", "null", "nan", "-"):
        return None
    try:
        if column.format:
            return _moment(text, column.format)
        value = float(text) * column.scale
    except ValueError as error:
        raise RowProblem(f"invalid {key}", f"{column.column} {text!r}") from error
    if not isfinite(value) or (value < 0 and key not in ("submitted", "started", "ended")):
        raise RowProblem(f"invalid {key}", f"{column.column} {text!r}")
    return (value, column.of) if key in _AMOUNTS else value


def _moment(text: str, form: str) -> float:
    """Return seconds since the epoch. A time without a zone is in UTC."""
    moment = datetime.fromisoformat(text) if form == ISO else datetime.strptime(text, form)
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def _text(key: str, column: Column, text: str) -> Any:
    if key == "gpu_models":
        return tuple(filter(None, (part.strip() for part in text.split(column.separator))))
    if key == "status":
        return column.values.get(text, text if text in STATUSES else UNKNOWN)
    return text


def _job(values: Mapping[str, Any], number: int, *, endless: bool) -> TraceJob:
    submitted, started, ended = (values.get(key) for key in ("submitted", "started", "ended"))
    if submitted is None:
        raise RowProblem("no submit time")
    pods = round((values.get("pods") or (1, ""))[0])
    if pods < 1:
        raise RowProblem("no pods", str(pods))
    waited = values.get("waited")
    if waited is None and started is not None:
        waited = started - submitted
    if waited is not None and waited < 0:
        raise RowProblem("starts before it is submitted", f"submitted at {submitted:g}, started at {started:g}")
    texts = {key: values[key] for key in _TEXTS if key in values}
    return TraceJob(
        submitted=submitted, run_time=_run_time(values, started, ended, endless=endless), pods=pods,
        requested=values.get("requested"), waited=waited, checkpoint=values.get("checkpoint"),
        line=number, **{"name": f"line-{number}", **texts},
        cpu=_per_pod("cpu", values.get("cpu"), pods), memory=_per_pod("memory", values.get("memory"), pods),
        gpu=_per_pod("gpu", values.get("gpu"), pods),
    )  # fmt: skip


def _run_time(values: Mapping[str, Any], started: float | None, ended: float | None, *, endless: bool) -> float | None:
    if (run_time := values.get("run_time")) is not None:
        return float(run_time)
    has_run_times = "run_time" in values or {"started", "ended"} <= values.keys()
    if started is None or ended is None:
        if endless or not has_run_times:
            return None
        raise RowProblem("no run time", "did not run, or has not ended")
    if ended < started:
        raise RowProblem("ends before it starts", f"started at {started:g}, ended at {ended:g}")
    return ended - started


def _per_pod(key: str, amount: tuple[float, str] | None, pods: int) -> int:
    if amount is None:
        return 0
    value, of = round(amount[0]), amount[1]
    each = -(-value // pods) if of == "job" else value
    if key == "gpu" and ((of == "job" and value % pods) or (each > 1000 and each % 1000)):
        raise RowProblem("invalid GPUs", f"{value / 1000:g} for {pods} pods")
    return each
