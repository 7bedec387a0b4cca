"""Writers: SWF for other simulators, and a table of all properties, which the mapping `stromboli` reads."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from typing import TextIO

from stromboli.traces.formats.swf import STATUS_CODES
from stromboli.traces.trace import Trace, TraceJob

_KIB = 1024
_COLUMNS = tuple(name for name in TraceJob.__struct_fields__ if name != "line")


def write_swf(trace: Trace, file: TextIO) -> list[str]:
    """Write a trace; return a warning for each kind of property that the format cannot hold. The trace is read twice,
    because the names of queues are in the header.
    """
    numbers = {kind: _Numbers() for kind in ("queue", "user", "group")}
    lost = {"GPUs": 0, "parts of a processor": 0, "unknown run times": 0}
    for job in trace.jobs():
        numbers["queue"].add(job.queue)
        lost["GPUs"] += bool(job.gpu)
        lost["parts of a processor"] += bool(job.cpu % 1000)
        lost["unknown run times"] += job.run_time is None
    file.writelines(_header(trace, numbers["queue"]))
    for number, job in enumerate(trace.jobs(), 1):
        file.write(_line(number, job, numbers))
    return [
        f"{what} are not part of SWF: {jobs:,} jobs are written without; --format csv keeps them"
        for what, jobs in lost.items()
        if jobs
    ]


class _Numbers:
    """Numbers of names. A name that is a number stays as it is."""

    def __init__(self) -> None:
        self.names: dict[str, int] = {"": -1}
        self._next = 1

    def add(self, name: str) -> int:
        known = self.names.get(name)
        if known is None:
            known = self.names[name] = int(name) if name.isdecimal() else self._free()
        return known

    def _free(self) -> int:
        used = set(self.names.values())
        while self._next in used:
            self._next += 1
        return self._next


def _header(trace: Trace, queues: _Numbers) -> Iterator[str]:
    header = trace.header
    facts = {
        "Version": "2.2",
        "Computer": header.computer or None,
        "Conversion": "stromboli trace convert",
        "UnixStartTime": None if header.start is None else int(header.start),
        "MaxNodes": trace.node_count,
        "MaxProcs": trace.processors,
    }
    yield from (f"; {name}: {value}\n" for name, value in facts.items() if value is not None)
    named = ((number, name) for name, number in queues.names.items() if name and not name.isdecimal())
    yield from (f"; Queue: {number} {'_'.join(name.split())}\n" for number, name in sorted(named))


def _line(number: int, job: TraceJob, numbers: dict[str, _Numbers]) -> str:
    processors = job.pods * max(1, -(-job.cpu // 1000))
    status = next((code for code, status in STATUS_CODES.items() if status == job.status), -1)
    times = (job.waited, job.run_time, job.requested)
    waited, run_time, requested = (-1 if value is None else value for value in times)
    fields = (
        number, job.submitted, waited, run_time, processors, -1, -1, processors, requested, job.memory // _KIB or -1,
        status, numbers["user"].add(job.user), numbers["group"].add(job.group), -1, numbers["queue"].add(job.queue),
        -1, -1, -1,
    )  # fmt: skip
    return " ".join(map(_text, fields)) + "\n"


def _text(value: float) -> str:
    rounded = round(value, 3)
    return str(int(rounded)) if rounded == int(rounded) else str(rounded)


def write_csv(trace: Trace, file: TextIO) -> list[str]:
    """Write a table of all properties."""
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(_COLUMNS)
    for job in trace.jobs():
        writer.writerow(map(_cell, (getattr(job, name) for name in _COLUMNS)))
    return []


def _cell(value: object) -> object:
    if isinstance(value, tuple):
        return "|".join(value)
    return "" if value is None else _text(value) if isinstance(value, float) else value
