"""`stromboli simulate --trace`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from stromboli.cli import main
from tests.testing.traces.files import OPENB_NODES, OPENB_PODS, SWF_HEADER, swf, write

EASY = Path(__file__).parents[3] / "examples" / "day" / "easy.conf"


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["simulate", *arguments])


@pytest.fixture
def log(tmp_path: Path) -> str:
    """Return a log of a machine of 8 processors on 4 nodes."""
    lines = [
        swf(1, 0, 600, 8, requested=900, user=1, queue=1), swf(2, 60, 600, 6, requested=300, user=2, queue=2),
        swf(3, 90, 30, 2, user=1, queue=1), "1 2 3",
    ]  # fmt: skip
    return write(tmp_path / "a.swf", [*SWF_HEADER, *lines])


def test_table_has_queues_sizes_and_totals(log: str) -> None:
    result = run("--trace", log, "--queues", "queue")
    assert result.exit_code == 0
    assert (
        result.stdout
        == """\
QUEUE  JOBS  WAITING  MEAN WAIT  MEDIAN    P95    MAX  TURNAROUND  SLOWDOWN
batch     2        0      4m15s      0s  8m30s  8m30s       9m30s      9.50
short     1        0      9m00s   9m00s  9m00s  9m00s      14m00s      2.80
all       3        0      5m50s   8m30s  9m00s  9m00s      11m00s      7.27

SIZE  JOBS  WAITING  MEAN WAIT  MEDIAN    P95    MAX  TURNAROUND  SLOWDOWN
2-4      1        0      8m30s   8m30s  8m30s  8m30s       9m00s     18.00
5-16     2        0      4m30s      0s  9m00s  9m00s      12m00s      1.90

15m00s in 5 cycles; mean wait 5m50s; makespan 15m00s; cpu 92.5% in use.
"""
    )
    assert "warning: 1 row skipped, not 18 fields:" in result.stderr


def test_wide_table_has_users_and_losses(log: str) -> None:
    result = run("--trace", log, "-o", "wide", "--failures", "constant:100s", "--checkpoint", "50s", "--retries", "99")
    assert "USER" in result.stdout
    assert "LOST HOURS" in result.stdout


def test_rows_of_jobs_are_written(log: str, tmp_path: Path) -> None:
    assert run("--trace", log, "--csv", str(tmp_path / "jobs.csv")).exit_code == 0
    printed = run("--trace", log, "--csv", "-").stdout
    assert printed == (tmp_path / "jobs.csv").read_text()
    assert printed.splitlines() == [
        "name,queue,user,group,line,pods,cpu,memory,gpu,submitted,started,ended,run_time,requested,estimate,waited,"
        "preemptions,failures,lost,outcome",
        "1,default,1,,8,8,1000,0,0,0,0,600,600,900,900,0,0,0,0,completed",
        "2,default,2,,9,6,1000,0,0,60,600,900,300,300,300,540,0,0,0,killed",
        "3,default,1,,10,2,1000,0,0,90,600,630,30,,,510,0,0,0,completed",
    ]


def test_json_has_statistics_and_warnings(log: str) -> None:
    found = json.loads(run("--trace", log, "--queues", "user", "-o", "json").stdout)
    assert (found["jobs"], found["makespan"], found["utilisation"]) == (3, 900, {"cpu": 0.925})
    assert set(found["queues"]) == {"1", "2"}
    assert found["rejected"] == {"not 18 fields": 1}
    assert len(found["warnings"]) == 1


def test_policy_decides(log: str, tmp_path: Path) -> None:
    lines = [swf(1, 0, 600, 6, requested=600), swf(2, 60, 600, 8, requested=600), swf(3, 90, 30, 2, requested=9000)]
    trace = write(tmp_path / "b.swf", [*SWF_HEADER, *lines])
    waits = [json.loads(run("--trace", trace, *conf, "-o", "json").stdout)["wait"]["max"]
             for conf in ((), ("--conf", str(EASY)))]  # fmt: skip
    assert waits == [540, 1110]


def test_cluster_of_numbers_replaces_that_of_the_trace(log: str) -> None:
    found = json.loads(run("--trace", log, "--nodes", "2", "--cpus-per-node", "8", "-o", "json").stdout)
    assert (found["nodes"], found["wait"]["max"]) == (2, 0)


def test_cluster_of_manifests_with_its_queues(log: str, tmp_path: Path) -> None:
    cluster = tmp_path / "cluster.yaml"
    cluster.write_text(
        "apiVersion: v1\nkind: Node\nmetadata: {name: a}\nstatus: {allocatable: {cpu: 16, pods: 100}}\n---\n"
        "apiVersion: scheduling.volcano.sh/v1beta1\nkind: Queue\nmetadata: {name: short}\n"
        "spec: {capability: {cpu: 4}}\n"
    )
    found = json.loads(run("--trace", log, "-f", str(cluster), "--queues", "queue", "-o", "json").stdout)
    assert (found["queues"]["batch"]["wait"]["max"], found["queues"]["short"]["wait"]) == (0, None)
    assert run("--trace", log, "-f", str(cluster), "--queues", "queue").exit_code == 3


def test_openb_pods_run_on_their_nodes(tmp_path: Path) -> None:
    pods = write(tmp_path / "p.csv", [OPENB_PODS, *(f"p{n},4000,1024,1,1000,,LS,Succeeded,0,100,0" for n in range(3))])
    nodes = write(tmp_path / "n.csv", [OPENB_NODES, "n0,64000,262144,2,P100"])
    found = json.loads(run("--trace", pods, "--trace-nodes", nodes, "-o", "json").stdout)
    assert (found["wait"]["max"], found["utilisation"]["gpu"]) == (100, 0.75)


@pytest.mark.parametrize(("arguments", "message"), [
    (["--layout", "pool"], "--layout has no effect without --trace"),
    (["--trace", "LOG", "--offline"], "--offline has no effect with --trace"),
    (["--trace", "LOG", "--until", "2026-01-02T00:00:00Z"], "--until with --trace is a duration"),
    (["--trace", "LOG", "--csv", "-", "-o", "json"], "cannot both write to the standard output"),
    (["--trace", "LOG", "--failures", "often"], "'often' is not a duration"),
    (["--trace", "LOG", "--nodes", "2", "-f", "CLUSTER"], "--nodes and the nodes of -f are two clusters"),
])  # fmt: skip
def test_wrong_usage_is_rejected(arguments: list[str], message: str, log: str, tmp_path: Path) -> None:
    cluster = tmp_path / "cluster.yaml"
    cluster.write_text("apiVersion: v1\nkind: Node\nmetadata: {name: a}\nstatus: {allocatable: {cpu: 16}}\n")
    result = run(*(each.replace("LOG", log).replace("CLUSTER", str(cluster)) for each in arguments))
    assert (result.exit_code, result.stdout) == (2, "")
    assert message in result.stderr


@pytest.mark.parametrize(("lines", "message"), [
    ([swf(1, 0, 5)], "the trace names no nodes; name their number with --nodes, or their manifests with -f"),
    (["; MaxProcs: 4", "1 2"], "no jobs: 1 row skipped, not 18 fields"),
    (["; MaxProcs: 4", swf(1, 9, 5), swf(2, 3, 5)], "a.swf:3: job 2 was submitted at 3 s, before job 1 at 9 s"),
    (["; MaxProcs: 4", swf(1, 0, 5, 6)], "no jobs"),
])  # fmt: skip
def test_trace_that_cannot_be_simulated_is_an_error(lines: list[str], message: str, tmp_path: Path) -> None:
    result = run("--trace", write(tmp_path / "a.swf", lines))
    assert result.exit_code == 1
    assert message in result.stderr


def test_jobs_of_manifests_are_rejected(log: str, tmp_path: Path) -> None:
    pod = tmp_path / "pod.yaml"
    pod.write_text("apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {containers: [{name: a, image: a}]}\n")
    result = run("--trace", log, "-f", str(pod))
    assert result.exit_code == 1
    assert "Pod default/a: the jobs are those of the trace" in result.stderr
