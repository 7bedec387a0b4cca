r"""Slurm's accounting: the output of `sacct --parsable2`, with the fields that its first line names.

    sacct -a -X --parsable2 \
      -o JobID,User,Account,Partition,State,Submit,Start,End,Timelimit,NNodes,NCPUS,ReqMem,AllocTRES

A job of N nodes has N pods of equal size. Rows of job steps are skipped. Times have no zone, and are read as UTC.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime

import msgspec

from stromboli.traces.rejects import RejectedRows, RowProblem
from stromboli.traces.source import rows_of
from stromboli.traces.trace import (
    CANCELLED,
    COMPLETED,
    FAILED,
    UNKNOWN,
    Trace,
    TraceError,
    TraceHeader,
    TraceJob,
    sorted_jobs,
)

NAME = "sacct"
DELIMITER = "|"
_NEEDED = ("JobID", "Submit", "Start", "End")
_STATUSES = {
    "COMPLETED": COMPLETED, "FAILED": FAILED, "TIMEOUT": FAILED, "OUT_OF_MEMORY": FAILED, "NODE_FAIL": FAILED,
    "BOOT_FAIL": FAILED, "DEADLINE": FAILED, "PREEMPTED": CANCELLED, "CANCELLED": CANCELLED, "REVOKED": CANCELLED,
}  # fmt: skip
_NO_TIME = ("", "None", "Unknown", "N/A")
_NO_LIMIT = ("", "UNLIMITED", "Partition_Limit", "INVALID")
_CLOCK = re.compile(r"(?:(\d+)-)?(?:(\d+):)?(\d+):(\d+)(?:\.\d+)?")
_AMOUNT = re.compile(r"([0-9.]+)([KMGTP]?)([nc]?)")
_UNITS = {"": 20, "K": 10, "M": 20, "G": 30, "T": 40, "P": 50}


def is_sacct(line: str) -> bool:
    """Report whether the first line names the fields of sacct."""
    return set(_NEEDED) <= set(line.strip().split(DELIMITER))


def read_sacct(path: str) -> Trace:
    rejected = RejectedRows()
    jobs = sorted_jobs(_jobs(path, rejected))
    start = jobs[0].submitted if jobs else None
    shifted = [msgspec.structs.replace(job, submitted=job.submitted - (start or 0.0)) for job in jobs]
    return Trace(path, NAME, lambda: iter(shifted), TraceHeader(start=start), rejected=rejected)


def _jobs(path: str, rejected: RejectedRows) -> Iterator[TraceJob]:
    rows = rows_of(path, DELIMITER, quoted=False)
    _, names = next(rows, (1, list[str]()))
    if missing := [name for name in _NEEDED if name not in names]:
        raise TraceError(
            f"{path}:1: no fields {', '.join(missing)}; export them with sacct --parsable2 -o {','.join(_NEEDED)},..."
        )
    for number, row in rows:
        entry = dict(zip(names, row, strict=False))
        if "." in entry["JobID"]:
            continue
        try:
            if len(row) != len(names):  # names of jobs may contain the delimiter
                raise RowProblem("other number of fields", f"{len(row)} instead of {len(names)}")
            yield _job(entry, number)
        except RowProblem as problem:
            rejected.add(problem.rule, f"{path}:{number}", problem.detail)


def _job(row: Mapping[str, str], number: int) -> TraceJob:
    submitted, started, ended = (_moment(row, name) for name in ("Submit", "Start", "End"))
    if submitted is None:
        raise RowProblem("no submit time")
    if started is None:
        raise RowProblem("did not run", f"state {row.get('State', '')}")
    if ended is None:
        raise RowProblem("has not ended", f"state {row.get('State', '')}")
    if ended < started or started < submitted:
        raise RowProblem("time goes backwards", f"submit {row['Submit']}, start {row['Start']}, end {row['End']}")
    pods, amounts = _size(row)
    state = row.get("State", "").partition(" ")[0].rstrip("+")
    return TraceJob(
        name=row["JobID"], submitted=submitted, run_time=ended - started, pods=pods, requested=_limit(row),
        waited=started - submitted, user=row.get("User", ""), group=row.get("Account", ""),
        queue=row.get("Partition", ""), status=_STATUSES.get(state, UNKNOWN), line=number,
        cpu=amounts["cpu"], memory=amounts["memory"], gpu=amounts["gpu"],
    )  # fmt: skip


def _moment(row: Mapping[str, str], name: str) -> float | None:
    text = row.get(name, "")
    if text in _NO_TIME:
        return None
    try:
        return datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()
    except ValueError as error:
        raise RowProblem(f"invalid {name}", repr(text)) from error


def _limit(row: Mapping[str, str]) -> float | None:
    """Return the requested run time in seconds."""
    minutes = row.get("TimelimitRaw", "")
    if minutes.isdecimal():
        return int(minutes) * 60.0
    text = row.get("Timelimit", "")
    if text in _NO_LIMIT:
        return None
    found = _CLOCK.fullmatch(text)
    if found is None:
        raise RowProblem("invalid Timelimit", repr(text))
    days, hours, minutes_part, seconds = (int(part or 0) for part in found.groups())
    return ((days * 24.0 + hours) * 60 + minutes_part) * 60 + seconds


def _size(row: Mapping[str, str]) -> tuple[int, dict[str, int]]:
    """Return the number of pods, and the amounts of each."""
    tres = _tres(row.get("AllocTRES", "")) or _tres(row.get("ReqTRES", ""))
    pods = _whole(row.get("NNodes") or tres.get("node", "") or "1", "NNodes")
    processors = row.get("NCPUS") or row.get("AllocCPUS") or row.get("ReqCPUS") or tres.get("cpu", "")
    total = _whole(processors, "NCPUS")
    if total < 1 or pods < 1:
        raise RowProblem("no processors", f"NNodes {pods}, NCPUS {processors}")
    typed = [value for name, value in tres.items() if name.startswith("gres/gpu:")]
    gpus = sum(_whole(value, "gres/gpu") for value in ([tres["gres/gpu"]] if "gres/gpu" in tres else typed))
    if gpus % pods:
        raise RowProblem("invalid GPUs", f"{gpus} on {pods} nodes")
    memory = _memory(tres["mem"], total, pods) if "mem" in tres else _memory(row.get("ReqMem", ""), total, pods)
    return pods, {"cpu": -(-total * 1000 // pods), "memory": memory, "gpu": gpus // pods * 1000}


def _tres(text: str) -> dict[str, str]:
    return dict(part.split("=", 1) for part in text.split(",") if "=" in part)


def _whole(text: str, name: str) -> int:
    if not text.isdecimal():
        raise RowProblem(f"invalid {name}", repr(text))
    return int(text)


def _memory(text: str, processors: int, pods: int) -> int:
    """Return bytes per pod. Old versions of Slurm write the memory of a processor (c) or of a node (n)."""
    if text in ("", "0", "0n", "0c", "?"):
        return 0
    found = _AMOUNT.fullmatch(text)
    if found is None:
        raise RowProblem("invalid memory", repr(text))
    try:
        amount = round(float(found[1]) * (1 << _UNITS[found[2]]))
    except ValueError as error:
        raise RowProblem("invalid memory", repr(text)) from error
    if found[3] == "n":
        return amount
    return -(-amount * processors // pods) if found[3] == "c" else -(-amount // pods)
