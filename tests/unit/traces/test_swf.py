"""The Standard Workload Format: fields, headers, and lines that are skipped."""

from __future__ import annotations

from pathlib import Path

import pytest

from stromboli.traces.opening import open_trace
from stromboli.traces.trace import TraceError, TraceJob
from tests.testing.traces.files import SWF_HEADER, swf, write


def jobs(tmp_path: Path, *lines: str) -> list[TraceJob]:
    return list(open_trace(write(tmp_path / "a.swf", lines)).jobs())


def test_fields_of_a_job_are_read(tmp_path: Path) -> None:
    line = swf(7, 100, 60, 4, requested=120, wait=5, status=5, user=3, queue=2, memory=1024)
    (job,) = jobs(tmp_path, *SWF_HEADER, line)
    assert job == TraceJob(
        name="7", submitted=100, run_time=60, pods=4, cpu=1000, memory=1 << 20, requested=120, waited=5, user="3",
        queue="short", status="cancelled", line=8,
    )  # fmt: skip


def test_header_describes_the_cluster(tmp_path: Path) -> None:
    trace = open_trace(write(tmp_path / "a.swf", SWF_HEADER))
    assert (trace.header.nodes, trace.header.processors, trace.header.start) == (4, 8, 1_000_000)


@pytest.mark.parametrize("lines", [
    ["", ";", ";MaxNodes:\t4 (two racks)", "", swf(1, 0, 5)],
    ["  ; MaxNodes: 4", swf(1, 0, 5)],
    ["; Caf\udce9: 1", "; MaxNodes: 4", "; UnixStartTime: -1", swf(1, 0, 5)],
], ids=["blank lines and remarks", "indented comment", "other encoding and unknown start"])  # fmt: skip
def test_headers_of_archives_are_tolerated(lines: list[str], tmp_path: Path) -> None:
    path = tmp_path / "a.swf"
    path.write_bytes("".join(f"{line}\r\n" for line in lines).encode("utf-8", "surrogateescape"))
    trace = open_trace(str(path))
    assert (trace.header.nodes, trace.header.start) == (4, None)
    assert [job.name for job in trace.jobs()] == ["1"]


def test_compressed_file_without_ending_is_read(tmp_path: Path) -> None:
    trace = open_trace(write(tmp_path / "log", [swf(1, 0.5, 5.25)], compressed=True))
    assert [(job.submitted, job.run_time) for job in trace.jobs()] == [(0.5, 5.25)]


@pytest.mark.parametrize(("line", "rule"), [
    ("1 2 3", "not 18 fields"),
    (swf(1, 0, 5).replace("5", "x", 1), "not a number"),
    (swf(1, 0, 5).replace("5", "nan", 1), "not a number"),
    (swf(1, -1, 5), "no submit time"),
    (swf(1, 0, -1), "did not run"),
    (swf(1, 0, 0, status=5), "did not run"),
    (swf(1, 0, 5, -1), "no processors"),
    (swf(1, 0, 5, status=3), "part of a job"),
])  # fmt: skip
def test_bad_line_is_skipped_by_its_rule_and_named(line: str, rule: str, tmp_path: Path) -> None:
    trace = open_trace(write(tmp_path / "a.swf", [swf(1, 0, 5), line, swf(2, 1, 5)]))
    assert [job.name for job in trace.jobs()] == ["1", "2"]
    assert list(trace.rejected.by_rule) == [rule]
    (warning,) = trace.rejected.warnings()
    assert warning.startswith(f"1 row skipped, {rule}: {tmp_path}/a.swf:2")


def test_reading_again_counts_rejected_rows_anew(tmp_path: Path) -> None:
    trace = open_trace(write(tmp_path / "a.swf", ["1 2", swf(1, 0, 5)]))
    assert [len(list(trace.jobs())) for _ in range(2)] == [1, 1]
    assert trace.rejected.rows == 1


def test_many_bad_rows_are_counted_and_the_first_are_named(tmp_path: Path) -> None:
    trace = open_trace(write(tmp_path / "a.swf", ["; x", *["1 2"] * 1200]))
    assert not list(trace.jobs())
    (warning,) = trace.rejected.warnings()
    assert warning.startswith("1,200 rows skipped, not 18 fields:")
    assert warning.endswith("a.swf:4: 2, ...")


def test_unreadable_header_is_an_error_with_its_line(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match=r"a\.swf:1: MaxNodes is 'many', but a whole number is expected"):
        jobs(tmp_path, "; MaxNodes: many")
