"""`stromboli simulate`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from stromboli.cli import main
from stromboli.cli.examples import examples_folder
from tests.testing.cases.case import flattened
from tests.testing.manifests.builders import nodes
from tests.testing.simulations import job, strategy
from tests.unit.cli.conftest import Run


def world(*jobs: Any) -> list[Any]:
    return [*nodes(4, 1), *flattened(jobs)]


LINE = world(job("first", 1, 4, 30), job("second", 1, 4, 10, after=5))
STUCK = world(job("first", 1, 5, 30))


def test_simulation_as_json(run: Run) -> None:
    result = run("simulate", LINE, "-o", "json")
    report = json.loads(result.stdout)
    assert (result.exit_code, result.stderr) == (0, "")
    assert set(report) == {
        *("start", "end", "seconds", "cycles", "waits", "utilisation", "queues", "jobs", "timeline", "warnings"),
    }
    assert (report["seconds"], report["waits"]["max"]) == (2400.0, 1500.0)
    assert report["queues"]["default"]["share"] == {"cpu": 1.0, "memory": 0.0}
    assert report["utilisation"]["mean"] == {"cpu": 1.0, "memory": 0.0}


def test_simulation_as_table(run: Run) -> None:
    result = run("simulate", LINE)
    assert result.exit_code == 0
    assert result.stdout.splitlines() == [
        "JOB             QUEUE    PODS  ARRIVED  STARTED    ENDED  WAITED",
        "default/first   default     1      +0s      +0s  +30m00s      0s",
        "default/second  default     1   +5m00s  +30m00s  +40m00s  25m00s",
        "",
        "QUEUE    JOBS  WAITING  MEAN WAIT  MEDIAN     P95     MAX  SHARE",
        "default     2        0     12m30s      0s  25m00s  25m00s  cpu 100%",
        "",
        "IN USE",
        "cpu  100%  ████████████████████████",
        "",
        "40m00s from 2026-01-01T00:00:00Z in 9 cycles; 2 of 2 jobs started.",
    ]


def test_job_that_never_starts_shows_its_reason(run: Run) -> None:
    result = run("simulate", STUCK)
    assert result.exit_code == 3
    assert "needs 5 cpu, largest node has 4" in result.stdout
    assert "a pod requests cpu 5, but the largest node has cpu 4" in run("simulate", STUCK, "-o", "wide").stdout
    assert "0 of 1 jobs started" in result.stdout


def test_table_of_many_jobs_shows_the_longest_waits(run: Run) -> None:
    many = world(*(job(f"job-{n:02}", 1, 4, 1) for n in range(50)))
    lines = run("simulate", many).stdout.splitlines()
    assert "... longest waits only; 10 more with -o wide" in lines
    assert [line.split()[0] for line in lines[1:41]] == [f"default/job-{n:02}" for n in range(10, 50)]
    wide = run("simulate", many, "-o", "wide").stdout.splitlines()
    assert [line.split()[0] for line in wide[1:51]] == [f"default/job-{n:02}" for n in range(50)]


@pytest.mark.parametrize("until", ["20m", "1200", "2026-01-01T00:20:00Z"])
def test_until_ends_the_simulation(run: Run, until: str) -> None:
    result = run("simulate", LINE, "--until", until, "-o", "json")
    assert result.exit_code == 3
    assert json.loads(result.stdout)["end"] == "2026-01-01T00:20:00Z"


@pytest.mark.parametrize(
    ("until", "code", "words"),
    [
        ("soon", 2, "'soon' is not a duration such as 1s, 500ms or 1m30s"),
        ("20T", 2, "'20T' is not a time such as 2026-01-01T12:00:00Z"),
        ("2020-01-01T00:00:00Z", 1, "error: --until is before the first arrival"),
    ],
)
def test_invalid_until_is_rejected(run: Run, until: str, code: int, words: str) -> None:
    result = run("simulate", LINE, "--until", until)
    assert result.exit_code == code
    assert words in result.stderr


def test_reservations_change_the_start_of_a_gang(run: Run) -> None:
    """The same workload without and with reservations."""
    hour = world(
        job("old", 1, 3, 20), job("large", 1, 4, 10, after=1), *(job(f"s{n}", 1, 1, 15, after=2 + n) for n in range(4))
    )
    Path("easy.conf").write_text(strategy("easy"))
    Path("plain.conf").write_text(strategy("best-effort"))
    waited = {
        name: json.loads(run("simulate", hour, "--conf", f"{name}.conf", "-o", "json").stdout)["jobs"]["default/large"][
            "waited"
        ]
        for name in ("easy", "plain")
    }
    assert waited["easy"] == 19 * 60 < waited["plain"]


def test_invalid_input_is_rejected(run: Run) -> None:
    assert run("simulate", LINE, "--conf", "nowhere.conf").exit_code == 1
    assert run("simulate", LINE, file="nowhere").exit_code == 1
    assert CliRunner().invoke(main, ["simulate"]).exit_code == 2


def test_warning_is_printed_to_standard_error(run: Run) -> None:
    late = world(job("first", 1, 4, 1, annotations={"scheduling.stromboli.dev/arrives-after": "noon"}))
    result = run("simulate", late)
    assert result.exit_code == 0
    subject = "cluster/objects.json:1: Pod default/first-task-0: "
    assert f"warning: {subject}metadata.annotations[scheduling.stromboli.dev/arrives-after]" in result.stderr


def test_number_of_cycles_is_no_option() -> None:
    result = CliRunner().invoke(main, ["simulate", "--help"])
    assert result.exit_code == 0
    assert "--cycles" not in result.stdout


def test_demo_in_virtual_time_has_the_same_sequence() -> None:
    """All jobs but the impossible one run; four pods are preempted and a gang of six is reclaimed."""
    example = examples_folder() / "demo"
    arguments = ["simulate", "-f", str(example), "--conf", str(example / "volcano-scheduler.conf"), "-o", "json"]
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 3
    jobs = json.loads(result.stdout)["jobs"]
    assert {name: job["evictions"] for name, job in jobs.items() if job["evictions"]} == {
        "default/sweep": 6,
        "default/train": 4,
    }
    assert [name for name, job in jobs.items() if job["ended"] is None] == ["default/giant"]
