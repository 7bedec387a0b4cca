"""`stromboli trace`: summaries, conversions and synthetic traces."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from stromboli.cli import main
from tests.testing.traces.files import OPENB_NODES, OPENB_PODS, SWF_HEADER, swf, write


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["trace", *arguments])


@pytest.fixture
def log(tmp_path: Path) -> str:
    lines = [swf(1, 0, 100, 4, requested=50, wait=5, user=1, queue=1), "1 2 3", swf(2, 400, 10, 2, user=2, queue=2)]
    return write(tmp_path / "a.swf", [*SWF_HEADER, *lines])


def test_info_summarises_jobs_cluster_and_skipped_rows(log: str) -> None:
    result = run("info", log)
    assert result.exit_code == 0
    assert (
        result.stdout
        == """\
Trace:       a.swf (swf)
Cluster:     4 nodes, 8 processors
Jobs:        2 of 2 users
Skipped:     1 rows
Arrivals:    within 6m40s
Load:        13.1% of cpu
Statuses:    completed 2
Overdue:     1 jobs ran longer than requested

           MEAN  MEDIAN    P95    MAX
RUN TIME    55s     10s  1m40s  1m40s
REQUESTED   50s     50s    50s    50s
WAITED       5s      5s     5s     5s
PODS          3       2      4      4

QUEUE  JOBS
batch     1
short     1
"""
    )
    assert "warning: 1 row skipped, not 18 fields:" in result.stderr


def test_info_of_openb_counts_gpus(tmp_path: Path) -> None:
    pods = write(tmp_path / "p.csv", [OPENB_PODS, "a,4000,1024,1,500,,LS,Succeeded,0,100,0"])
    nodes = write(tmp_path / "n.csv", [OPENB_NODES, "n0,64000,262144,2,P100"])
    found = json.loads(run("info", pods, "--trace-nodes", nodes, "-o", "json").stdout)
    assert (found["nodes"], found["gpus"], found["jobsWithGpus"]) == (1, 2, 1)


def test_info_of_unordered_trace_names_the_remedy(tmp_path: Path) -> None:
    result = run("info", write(tmp_path / "a.swf", [swf(1, 5, 5), swf(2, 0, 5)]))
    assert result.exit_code == 0
    assert "1 jobs were submitted before their predecessors; convert with --sort" in result.stderr


@pytest.mark.parametrize("target", ["b.swf", "b.csv", "b.swf.gz", "b.csv.gz"])
def test_converted_trace_has_the_same_jobs(target: str, log: str, tmp_path: Path) -> None:
    result = run("convert", log, str(tmp_path / target))
    assert (result.exit_code, result.stdout) == (0, "")
    before, after = (json.loads(run("info", each, "-o", "json").stdout) for each in (log, str(tmp_path / target)))
    for key in ("jobs", "span", "runTime", "requested", "waited", "pods", "queues", "statuses"):
        assert after[key] == before[key]
    assert sorted(each.name for each in tmp_path.iterdir()) == sorted(["a.swf", target])


def test_conversion_stops_at_time_that_goes_backwards(tmp_path: Path) -> None:
    path = write(tmp_path / "a.swf", [swf(1, 50, 5), swf(2, 40, 5)])
    result = run("convert", path, str(tmp_path / "b.swf"))
    assert result.exit_code == 1
    assert "a.swf:2: job 2 was submitted at 40 s, before job 1 at 50 s" in result.stderr
    assert not (tmp_path / "b.swf").exists()
    assert run("convert", path, "--sort", "--jobs", "1").stdout.splitlines()[-1].split()[:2] == ["1", "40"]


def test_generated_trace_depends_on_the_seed_only(tmp_path: Path) -> None:
    texts = [run("generate", "lublin", "--jobs", "20", "--seed", seed).stdout for seed in ("1", "1", "2")]
    assert texts[0] == texts[1] != texts[2]
    assert "; MaxProcs: 128" in texts[0]


def test_poisson_writes_gpus_to_a_table(tmp_path: Path) -> None:
    target = str(tmp_path / "a.csv")
    arguments = ("--nodes", "4", "--gpus-per-node", "8", "--gpus", "0.5", "--sizes", "1:0.5,4:0.5", "--jobs", "50")
    assert run("generate", "poisson", target, *arguments).exit_code == 0
    found = json.loads(run("info", target, "-o", "json").stdout)
    assert (found["jobs"], found["jobsWithGpus"], found["pods"]["max"]) == (50, 50, 4)


@pytest.mark.parametrize(("arguments", "message"), [
    (("poisson",), "Missing option '--nodes'"),
    (("poisson", "--cpus-per-node", "4"), "need --nodes"),
    (("poisson", "--nodes", "4", "--gpus", "1"), "--gpus needs nodes with GPUs"),
    (("poisson", "--nodes", "4", "--gpus", "1.5", "--gpus-per-node", "2"), "a fraction below 1, or a whole number"),
    (("poisson", "--nodes", "4", "--sizes", "0:1"), "is not a list such as 1:0.5,8:0.3"),
    (("poisson", "--nodes", "4", "--cpus", "0"), "give no load"),
])  # fmt: skip
def test_wrong_usage_of_generate_is_rejected(arguments: tuple[str, ...], message: str) -> None:
    result = run("generate", *arguments)
    assert result.exit_code == 2
    assert message in result.stderr


def test_file_that_cannot_be_written_is_an_error(log: str, tmp_path: Path) -> None:
    result = run("convert", log, str(tmp_path / "none" / "b.swf"))
    assert (result.exit_code, result.stdout) == (1, "")
    assert "No such file or directory" in result.stderr
