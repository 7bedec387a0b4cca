"""Which format a file has, and files that are no traces."""

from __future__ import annotations

from pathlib import Path

import pytest

from stromboli.traces.opening import format_of, open_trace
from stromboli.traces.trace import TraceError, in_order, ordered
from tests.testing.histories import example_records, write_records
from tests.testing.traces.files import OPENB_PODS, PHILLY, SACCT, SWF_HEADER, swf, write
from tests.unit.cli.test_replay_command import a_dump

FORMATS = {
    "swf by header": ("log", [*SWF_HEADER, swf(1, 0, 5)], "swf"),
    "swf by fields": ("log.txt", [swf(1, 0, 5)], "swf"),
    "swf by name": ("log.swf", [], "swf"),
    "openb": ("pods.csv", [OPENB_PODS], "openb"),
    "philly": ("jobs.csv", [PHILLY], "columns"),
    "sacct": ("jobs.txt", [SACCT], "sacct"),
    "comments before the columns": ("jobs.csv", ["# a", "", PHILLY], "columns"),
}


@pytest.mark.parametrize("compressed", [False, True], ids=["plain", "compressed"])
@pytest.mark.parametrize("name", FORMATS)
def test_format_is_found_by_content(name: str, compressed: bool, tmp_path: Path) -> None:
    file, lines, form = FORMATS[name]
    path = write(tmp_path / (f"{file}.gz" if compressed else file), lines, compressed=compressed)
    assert format_of(path) == form


def test_dump_is_a_trace_with_its_nodes(tmp_path: Path) -> None:
    trace = open_trace(a_dump(tmp_path))
    assert trace.format == "dump"
    assert trace.nodes
    assert [job.name for job in trace.jobs()]


@pytest.mark.parametrize(("name", "content", "message"), [
    ("a.txt", b"", "the file is empty; a trace has at least one job"),
    ("a.txt", b"hello\nworld\n", "no format begins with 'hello'"),
    ("a.csv", b"a,b\n1,2\n", "no format begins with 'a,b'"),
    ("a.swf", b"\x1f\x8b\x08\x00broken", "is the file complete"),
])  # fmt: skip
def test_file_that_is_no_trace_is_an_error(name: str, content: bytes, message: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(TraceError, match=message):
        list(open_trace(str(path)).jobs())


def test_missing_file_and_folder_are_errors(tmp_path: Path) -> None:
    for path, message in ((tmp_path / "none", "does not exist"), (tmp_path, "is a directory")):
        with pytest.raises(TraceError, match=message):
            open_trace(str(path))


def test_mapping_for_another_format_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match="a mapping of columns has no effect on the format swf"):
        open_trace(write(tmp_path / "a.swf", [swf(1, 0, 5)]), "swf", mapping="philly")


def test_time_that_goes_backwards_is_an_error_with_the_line(tmp_path: Path) -> None:
    trace = open_trace(write(tmp_path / "a.swf", [swf(1, 50, 5), swf(2, 40, 5)]))
    with pytest.raises(TraceError, match=r"a\.swf:2: job 2 was submitted at 40 s, before job 1 at 50 s; .*--sort"):
        list(in_order(trace.source, trace.jobs()))
    assert [job.name for job in ordered(trace, sort=True).jobs()] == ["2", "1"]


def test_history_is_a_trace_of_its_finished_jobs(tmp_path: Path) -> None:
    path = str(tmp_path / "history.db")
    write_records(path, *example_records())
    trace = open_trace(path)
    jobs = {job.name: job for job in trace.jobs()}
    assert sorted(jobs) == ["team-a/broken", "team-a/finetune", "team-b/urgent"]
    urgent = jobs["team-b/urgent"]
    assert (urgent.pods, urgent.cpu, urgent.gpu, urgent.run_time, urgent.waited) == (4, 8000, 1000, 3583, 17)
    assert {name: rule.rows for name, rule in trace.rejected.by_rule.items()} == {"did not run": 1, "has not ended": 1}


def test_history_without_its_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match="does not exist"):
        open_trace(str(tmp_path / "history.db"))
