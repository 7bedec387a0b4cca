"""The Standard Workload Format of the Parallel Workloads Archive: 18 numbers per job, and a header of comments.

Version 2.2, https://www.cs.huji.ac.il/labs/parallel/workload/swf.html. A job of N processors has N pods of one
processor each. Lines are ordered by submit time.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import isfinite

from stromboli.traces.rejects import RejectedRows, RowProblem
from stromboli.traces.source import lines_of
from stromboli.traces.trace import CANCELLED, COMPLETED, FAILED, UNKNOWN, Trace, TraceError, TraceHeader, TraceJob

NAME = "swf"
FIELDS = 18
STATUS_CODES = {1: COMPLETED, 0: FAILED, 5: CANCELLED, -1: UNKNOWN}
#: Lines of parts of a job that was swapped out or checkpointed; another line has the whole.
_PARTIAL = (2, 3, 4)
_KIB = 1024


def read_swf(path: str) -> Trace:
    header, queues = _header(path)
    rejected = RejectedRows()
    return Trace(path, NAME, lambda: _jobs(path, queues, rejected), header, rejected=rejected)


def _header(path: str) -> tuple[TraceHeader, dict[int, str]]:
    header, queues = TraceHeader(), {}
    for number, line in lines_of(path):
        if line.strip() and not line.lstrip().startswith(";"):
            break
        name, separator, value = line.lstrip("; \t").partition(":")
        value = value.strip()
        if not separator or not value:
            continue
        if name == "Queue":
            key, _, title = value.partition(" ")
            if key.isdecimal() and title.strip():
                queues[int(key)] = title.split()[0]
        elif name == "Computer":
            header.computer = value
        elif name in ("MaxNodes", "MaxProcs", "UnixStartTime"):
            _set(header, name, value, f"{path}:{number}")
    return header, queues


def _set(header: TraceHeader, name: str, value: str, place: str) -> None:
    """Set a fact of the header; remarks may follow the number, and -1 means unknown."""
    text = value.split()[0].rstrip(",;")
    if not text.lstrip("-").isdecimal():
        raise TraceError(f"{place}: {name} is {text!r}, but a whole number is expected; correct the line or remove it")
    amount = int(text)
    if amount <= 0:
        return
    if name == "UnixStartTime":
        header.start = float(amount)
    elif name == "MaxNodes":
        header.nodes = amount
    else:
        header.processors = amount


def _jobs(path: str, queues: dict[int, str], rejected: RejectedRows) -> Iterator[TraceJob]:
    rejected.clear()
    for number, line in lines_of(path):
        if not line.strip() or line.lstrip().startswith(";"):
            continue
        try:
            yield _job(line.split(), number, queues)
        except RowProblem as problem:
            rejected.add(problem.rule, f"{path}:{number}", problem.detail)


def _job(fields: list[str], number: int, queues: dict[int, str]) -> TraceJob:
    if len(fields) != FIELDS:
        raise RowProblem("not 18 fields", f"{len(fields)}")
    try:
        values = [float(text) for text in fields]
    except ValueError as error:
        raise RowProblem("not a number", str(error)) from error
    if not all(map(isfinite, values)):
        raise RowProblem("not a number", " ".join(fields))
    submitted, wait, run_time, allocated, requested_processors = values[1], values[2], values[3], values[4], values[7]
    status, requested, memory = int(values[10]), values[8], values[9]
    processors = int(requested_processors if requested_processors > 0 else allocated)
    if status in _PARTIAL:
        raise RowProblem("part of a job", f"status {status}")
    if submitted < 0:
        raise RowProblem("no submit time", fields[1])
    if run_time < 0 or (run_time == 0 and status == 5):
        raise RowProblem("did not run", f"run time {fields[3]}, status {status}")
    if processors <= 0:
        raise RowProblem("no processors", f"allocated {fields[4]}, requested {fields[7]}")
    queue = int(values[14])
    return TraceJob(
        name=fields[0], submitted=submitted, run_time=run_time, pods=processors, cpu=1000,
        memory=int(memory * _KIB) if memory > 0 else 0, requested=requested if requested > 0 else None,
        waited=wait if wait >= 0 else None, user=_number(values[11]), group=_number(values[12]),
        queue=queues.get(queue, str(queue)) if queue >= 0 else "", status=STATUS_CODES.get(status, UNKNOWN),
        line=number,
    )  # fmt: skip


def _number(value: float) -> str:
    return str(int(value)) if value >= 0 else ""
