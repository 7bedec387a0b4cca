"""Converted traces contain the same jobs; what a format cannot hold is reported."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path

import pytest

from stromboli.traces.formats.writing import write_csv, write_swf
from stromboli.traces.opening import open_trace
from stromboli.traces.trace import Trace, TraceHeader, TraceJob

JOBS = (
    TraceJob("a", 0.0, 60.0, pods=2, cpu=1000, requested=120.0, waited=3.5, user="ann", queue="long", status="failed"),
    TraceJob("b", 1.25, 10.0, pods=1, cpu=1000, user="7", queue="3", status="completed"),
)
FULL = TraceJob("c", 2.0, None, pods=3, cpu=500, memory=1 << 30, gpu=500, gpu_models=("T4", "V100"), group="g")


def trace_of(*jobs: TraceJob) -> Trace:
    return Trace("test", "test", lambda: iter(jobs), TraceHeader(start=5.0, nodes=4, processors=8, computer="Test"))


def rewritten(trace: Trace, write: Callable[..., list[str]], path: Path) -> Trace:
    with path.open("w", newline="") as file:
        assert write(trace, file) == []
    return open_trace(str(path))


def test_swf_keeps_header_and_jobs(tmp_path: Path) -> None:
    again = rewritten(trace_of(*JOBS), write_swf, tmp_path / "a.swf")
    assert again.header == TraceHeader(start=5.0, nodes=4, processors=8, computer="Test")
    first, second = again.jobs()
    assert (first.submitted, first.run_time, first.pods, first.requested, first.waited) == (0, 60, 2, 120, 3.5)
    assert (first.queue, first.status, second.user, second.queue, second.requested) == (
        "long",
        "failed",
        "7",
        "3",
        None,
    )
    assert first.user not in ("", second.user)


def test_csv_keeps_everything(tmp_path: Path) -> None:
    again = rewritten(trace_of(*JOBS, FULL), write_csv, tmp_path / "a.csv")
    lines = {"a": 2, "b": 3, "c": 4}
    assert [repr(job).replace(f"line={lines[job.name]}", "line=0") for job in again.jobs()] == [
        repr(job) for job in (*JOBS, FULL)
    ]


def test_swf_reports_what_it_loses() -> None:
    warnings = write_swf(trace_of(FULL), io.StringIO())
    assert [warning.partition(" are not")[0] for warning in warnings] == [
        "GPUs", "parts of a processor", "unknown run times"
    ]  # fmt: skip


@pytest.mark.parametrize("write", [write_swf, write_csv])
def test_equal_traces_are_equal_bytes(write: Callable[..., list[str]]) -> None:
    files = [io.StringIO(), io.StringIO()]
    for file in files:
        write(trace_of(*JOBS), file)
    assert files[0].getvalue() == files[1].getvalue()
