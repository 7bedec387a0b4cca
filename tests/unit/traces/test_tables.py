"""Traces that are tables: openb, declared columns, and sacct."""

from __future__ import annotations

from pathlib import Path

import pytest

from stromboli.traces.opening import open_trace
from stromboli.traces.trace import TraceError, TraceJob, TraceNode
from tests.testing.traces.files import OPENB_NODES, OPENB_PODS, PHILLY, SACCT, write

MIB, GIB = 1 << 20, 1 << 30


def only(path: str, **options: str) -> TraceJob:
    (job,) = open_trace(path, **options).jobs()
    return job


# -- openb --------------------------------------------------------------------------------------------------------


def test_openb_pods_and_nodes_are_read(tmp_path: Path) -> None:
    pods = write(tmp_path / "pods.csv", [OPENB_PODS, "a,6000,12288,1,460,V100|T4,LS,Succeeded,10,40,15"], end="\r\n")
    nodes = write(tmp_path / "nodes.csv", [OPENB_NODES, "n0,64000,262144,2,P100", "n1,96000,1024,0,"])
    trace = open_trace(pods, nodes=nodes)
    assert list(trace.jobs()) == [
        TraceJob("a", 10, 25, cpu=6000, memory=12288 * MIB, gpu=460, gpu_models=("V100", "T4"), waited=5, queue="LS",
                 status="completed", line=2)
    ]  # fmt: skip
    assert trace.nodes == [
        TraceNode("n0", 64000, 262144 * MIB, 2000, "P100"), TraceNode("n1", 96000, 1024 * MIB, 0, "")
    ]  # fmt: skip


def test_openb_list_without_times_has_endless_jobs_in_order(tmp_path: Path) -> None:
    header = "name,cpu_milli,memory_mib,num_gpu,gpu_milli"
    trace = open_trace(write(tmp_path / "pods.csv", [header, "b,1000,1,2,1000", "a,1000,1,0,0"]))
    assert [(job.name, job.submitted, job.run_time, job.gpu) for job in trace.jobs()] == [
        ("b", 0, None, 2000), ("a", 0, None, 0)
    ]  # fmt: skip


@pytest.mark.parametrize(("row", "rule"), [
    ("a,x,1,0,0,,LS,Running,0,5,0", "invalid cpu_milli"),
    ("a,1,1,2,500,,LS,Running,0,5,0", "invalid GPUs"),
    ("a,1,1,0,0,,LS,Running,0,5,9", "ends before it starts"),
])  # fmt: skip
def test_bad_openb_row_is_skipped(row: str, rule: str, tmp_path: Path) -> None:
    trace = open_trace(write(tmp_path / "pods.csv", [OPENB_PODS, row]))
    assert not list(trace.jobs())
    assert list(trace.rejected.by_rule) == [rule]


def test_bad_openb_node_is_an_error(tmp_path: Path) -> None:
    pods, nodes = write(tmp_path / "p.csv", [OPENB_PODS]), write(tmp_path / "n.csv", [OPENB_NODES, "n0,many,1,0,"])
    with pytest.raises(TraceError, match=r"n\.csv:2: invalid cpu_milli: 'many'; correct the row or remove the node"):
        open_trace(pods, nodes=nodes)


# -- declared columns -----------------------------------------------------------------------------------------------


def test_philly_table_is_recognised_and_ordered(tmp_path: Path) -> None:
    rows = [
        "b,u2,v,Killed,2017-10-03 04:00:10,None,None,1",
        "c,u2,v,Pass,2017-10-03 04:00:20,2017-10-03 04:00:30,2017-10-03 05:00:30,2",
        "a,u1,v,Pass,2017-10-03 04:00:00,2017-10-03 04:00:00,2017-10-03 04:10:00,1",
    ]
    trace = open_trace(write(tmp_path / "jobs.csv", [PHILLY, *rows]))
    found = [(job.name, job.submitted, job.run_time, job.gpu, job.waited) for job in trace.jobs()]
    assert found == [("a", 0, 600, 1000, 0), ("c", 20, 3600, 2000, 10)]
    assert list(trace.rejected.by_rule) == ["no run time"]
    assert trace.header.start == 1507003200


def test_pai_table_without_header_is_read_by_its_mapping(tmp_path: Path) -> None:
    row = "job,worker,2.0,Terminated,100.0,160.0,600.0,29.3,50.0,V100"
    job = only(write(tmp_path / "pai.csv", [row]), mapping="pai-2020")
    assert (job.pods, job.cpu, job.gpu, job.gpu_models, job.run_time) == (2, 6000, 500, ("V100",), 60)
    assert job.memory == round(29.3 * GIB)


def test_declared_columns_with_units_and_zones(tmp_path: Path) -> None:
    mapping = tmp_path / "mapping.yaml"
    mapping.write_text(
        "delimiter: ';'\ncolumns:\n  submitted: {column: when, format: iso}\n  run_time: {column: minutes, scale: 60}\n"
        "  pods: tasks\n  cpu: {column: cores, scale: 1000, of: job}\n  requested: {column: limit, optional: true}\n"
    )
    rows = ["# exported", "", "when;minutes;tasks;cores", "2026-01-01T01:00:00+01:00;1.5;4;8"]
    trace = open_trace(write(tmp_path / "jobs.csv", rows), mapping=str(mapping))
    (job,) = trace.jobs()
    assert (job.run_time, job.pods, job.cpu, job.requested) == (90, 4, 2000, None)
    assert trace.header.start == 1767225600


@pytest.mark.parametrize(("columns", "message"), [
    ("{submit: x}", "columns.submit is no property of a job"),
    ("{run_time: x}", "columns.submitted is missing"),
    ("{submitted: {column: x, unit: s}}", "unknown field `unit`"),
    ("{submitted: x, status: {column: y, values: {Ok: fine}}}", "'fine' is no status"),
    ("{submitted: absent}", "no column 'absent' for submitted, only when"),
])  # fmt: skip
def test_invalid_mapping_is_an_error(columns: str, message: str, tmp_path: Path) -> None:
    mapping = tmp_path / "mapping.yaml"
    mapping.write_text(f"columns: {columns}\n")
    with pytest.raises(TraceError, match=message):
        open_trace(write(tmp_path / "jobs.csv", ["when", "1"]), mapping=str(mapping))


@pytest.mark.parametrize(("row", "rule"), [
    ("0,5,0,1000", "no pods"),
    ("0,-5,1,1000", "invalid run_time"),
    (",5,1,1000", "no submit time"),
    ("0,5,1", "too few columns"),
    ("0,5,1,1500", "invalid GPUs"),
    ("soon,5,1,0", "invalid submitted"),
])  # fmt: skip
def test_bad_row_of_a_table_is_skipped(row: str, rule: str, tmp_path: Path) -> None:
    trace = open_trace(write(tmp_path / "jobs.csv", ["submitted,run_time,pods,gpu", row, "1,5,1,500"]))
    assert [job.gpu for job in trace.jobs()] == [500]
    assert list(trace.rejected.by_rule) == [rule]


# -- sacct ----------------------------------------------------------------------------------------------------------


def test_sacct_jobs_are_read_and_steps_ignored(tmp_path: Path) -> None:
    times = "2024-03-01T10:00:00|2024-03-01T10:05:00|2024-03-01T11:05:00"
    tres = "billing=8,cpu=8,gres/gpu:a100=4,gres/gpu=4,mem=64G,node=2"
    rows = [SACCT, f"12_3|ann|physics|gpu|CANCELLED by 7|{times}|1-00:00:00|2|8|64G|{tres}",
            f"12_3.batch|||||{times}||1|4||cpu=4"]  # fmt: skip
    trace = open_trace(write(tmp_path / "jobs.txt", rows))
    assert list(trace.jobs()) == [
        TraceJob("12_3", 0, 3600, pods=2, cpu=4000, memory=32 * GIB, gpu=2000, requested=86400, waited=300, user="ann",
                 group="physics", queue="gpu", status="cancelled", line=2)
    ]  # fmt: skip
    assert trace.rejected.rows == 0


@pytest.mark.parametrize(("fields", "rule"), [
    ("PENDING|2024-03-01T10:00:00|Unknown|Unknown|10:00|1|1||", "did not run"),
    ("RUNNING|2024-03-01T10:00:00|2024-03-01T10:00:00|Unknown|10:00|1|1||", "has not ended"),
    ("COMPLETED|2024-03-01T10:00:00|2024-03-01T09:00:00|2024-03-01T11:00:00|10:00|1|1||", "time goes backwards"),
    ("COMPLETED|yesterday|2024-03-01T09:00:00|2024-03-01T11:00:00|10:00|1|1||", "invalid Submit"),
    ("COMPLETED|2024-03-01T10:00:00|2024-03-01T10:00:00|2024-03-01T11:00:00|10:00|1|0||", "no processors"),
    ("COMPLETED|2024-03-01T10:00:00|2024-03-01T10:00:00|2024-03-01T11:00:00|long|1|1||", "invalid Timelimit"),
    ("COMPLETED|a|b|2024-03-01T10:00:00|2024-03-01T10:00:00|10:00|1|1||", "other number of fields"),
])  # fmt: skip
def test_bad_sacct_row_is_skipped(fields: str, rule: str, tmp_path: Path) -> None:
    trace = open_trace(write(tmp_path / "jobs.txt", [SACCT, f"5|ann|a|p|{fields}"]))
    assert not list(trace.jobs())
    assert list(trace.rejected.by_rule) == [rule]


@pytest.mark.parametrize(("text", "seconds"), [
    ("1-02:03:04", 93784), ("02:03:04", 7384), ("30:00", 1800), ("UNLIMITED", None), ("", None),
])  # fmt: skip
def test_time_limits_of_sacct(text: str, seconds: float | None, tmp_path: Path) -> None:
    times = "2024-03-01T10:00:00|2024-03-01T10:00:00|2024-03-01T11:00:00"
    job = only(write(tmp_path / "jobs.txt", [SACCT, f"5|ann|a|p|COMPLETED|{times}|{text}|1|1||"]))
    assert job.requested == seconds


@pytest.mark.parametrize(("memory", "size"), [("4000M", 4000 * MIB // 2), ("2Gc", 8 * GIB), ("3Gn", 3 * GIB), ("0", 0)])
def test_memory_of_sacct_is_per_pod(memory: str, size: int, tmp_path: Path) -> None:
    times = "2024-03-01T10:00:00|2024-03-01T10:00:00|2024-03-01T11:00:00"
    job = only(write(tmp_path / "jobs.txt", [SACCT, f"5|ann|a|p|COMPLETED|{times}||2|8|{memory}|"]))
    assert job.memory == size
