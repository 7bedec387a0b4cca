"""The files that a comparison writes."""

from __future__ import annotations

import csv
import gzip
import json
from itertools import pairwise
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from stromboli.cli import main

EXAMPLES = Path(__file__).parents[3] / "examples"


def compare(*further: object, policies: tuple[str, ...] = ("fcfs", "easy")) -> Result:
    confs = [part for name in policies for part in ("--conf", str(EXAMPLES / "policies" / f"{name}.conf"))]
    trace = ("--trace", str(EXAMPLES / "traces" / "accounting.txt"), "--nodes", "4", "--cpus-per-node", "16")
    return CliRunner().invoke(main, ["simulate", *trace, "--queues", "user", *confs, *map(str, further)])


def test_pictures_are_files_by_name_and_policy(tmp_path: Path) -> None:
    result = compare("--pictures", tmp_path / "pictures", policies=("easy",))
    assert result.exit_code == 0, result.output
    compared = ["slowdown-by-size", "utilisation-cpu", "wait-distribution", "waiting-jobs"]
    each = ["job-gantt", "node-gantt", "node-map", "queue-areas", "queue-shares"]
    expected = sorted([*compared, *(f"{name}-easy" for name in each)])
    found = sorted(path.name for path in (tmp_path / "pictures").iterdir())
    assert found == sorted(f"{name}.{kind}" for name in expected for kind in ("png", "svg"))


@pytest.mark.parametrize(("option", "library"), [
    ("--parquet", "pyarrow"), ("--figures", "pyarrow"), ("--pictures", "vl_convert"), ("--report", "vl_convert"),
])  # fmt: skip
def test_missing_extra_is_an_error_before_the_first_run(
    option: str, library: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(__import__("sys").modules, library, None)
    result = compare(option, tmp_path / "target.parquet", "--results", tmp_path / "results")
    assert result.exit_code == 1
    assert f"{option}: this needs further libraries: pip install 'stromboli[lab]'" in result.stderr
    assert not (tmp_path / "results").exists()


def test_figures_are_rows_by_run_and_group(tmp_path: Path) -> None:
    files = [part for kind in ("csv", "parquet") for part in ("--figures", tmp_path / f"figures.{kind}")]
    for option, path in zip(files[::2], files[1::2], strict=True):
        result = compare(option, path, "--seeds", 2, "--workers", 1, "--results", tmp_path / "results", "-o", "json")
        assert result.exit_code == 0, result.output
    with (tmp_path / "figures.csv").open() as file:
        rows = list(csv.DictReader(file))
    keys = [(row["policy"], row["seed"], row["kind"], row["group"], row["figure"]) for row in rows]
    assert len(set(keys)) == len(keys)
    assert {(row["kind"], row["group"]) for row in rows} >= {
        ("all", ""),
        ("queue", "ann"),
        ("user", "eva"),
        ("size", "5-16"),
    }
    found = json.loads(result.stdout)["policies"]["easy"]["runs"][1]
    values = dict(zip(keys, (float(row["value"]) for row in rows), strict=True))
    assert values["easy", "2", "all", "", "wait.mean"] == found["wait"]["mean"]
    assert values["easy", "2", "queue", "ben", "slowdown.p95"] == found["queues"]["ben"]["slowdown"]["p95"]
    stored = pytest.importorskip("pyarrow.parquet").read_table(tmp_path / "figures.parquet").to_pylist()
    assert [(row["policy"], str(row["seed"]), row["kind"], row["group"], row["figure"]) for row in stored] == keys
    assert [row["value"] for row in stored] == list(values.values())


def test_jobs_are_rows_of_parquet_as_of_csv(tmp_path: Path) -> None:
    result = compare("--parquet", tmp_path / "jobs.parquet", "--csv", tmp_path / "jobs.csv", "--workers", 1)
    assert result.exit_code == 0, result.output
    with (tmp_path / "jobs.csv").open() as file:
        rows = list(csv.DictReader(file))
    stored = pytest.importorskip("pyarrow.parquet").read_table(tmp_path / "jobs.parquet").to_pylist()
    assert len(stored) == len(rows) == 80
    for name in ("policy", "name", "user", "outcome", "pods"):
        assert [str(row[name]) for row in stored] == [row[name] for row in rows]
    assert [row["started"] for row in stored] == pytest.approx([float(row["started"]) for row in rows])


def test_chrome_trace_has_a_slice_per_job_and_node(tmp_path: Path) -> None:
    """Slices of a row do not overlap, and each has the times of its job."""
    result = compare("--perfetto", tmp_path / "trace.json.gz", "--csv", tmp_path / "jobs.csv", "--workers", 1)
    assert result.exit_code == 0, result.output
    events = json.loads(gzip.decompress((tmp_path / "trace.json.gz").read_bytes()))["traceEvents"]
    processes = {each["pid"]: each["args"]["name"] for each in events if each["name"] == "process_name"}
    assert set(processes.values()) >= {"fcfs", "easy", "easy: node-0", "fcfs: node-3"}
    rows: dict[tuple[int, int], list[tuple[int, int]]] = {}
    for each in events:
        if each["ph"] == "X":
            rows.setdefault((each["pid"], each["tid"]), []).append((each["ts"], each["ts"] + each["dur"]))
    assert all(first[1] <= second[0] for row in rows.values() for first, second in pairwise(sorted(row)))
    slices = {
        (processes[each["pid"]].partition(":")[0], each["name"], each["ts"]) for each in events if each["ph"] == "X"
    }
    with (tmp_path / "jobs.csv").open() as file:
        jobs = list(csv.DictReader(file))
    assert slices == {(job["policy"], job["name"], round(float(job["started"]) * 1e6)) for job in jobs}
    counters = {each["name"] for each in events if each["ph"] == "C"}
    assert counters == {"waiting jobs", "cpu %"}


def test_one_file_may_be_the_standard_output() -> None:
    result = compare("--figures", "-", policies=("easy",))
    assert result.stdout.splitlines()[0] == "policy,seed,kind,group,figure,value"
    assert "MEAN WAIT" not in result.stdout
    for further in (("--perfetto", "-"), ("-o", "json")):
        rejected = compare("--figures", "-", *further, policies=("easy",))
        assert rejected.exit_code == 2
        assert "cannot both write to the standard output" in rejected.stderr
