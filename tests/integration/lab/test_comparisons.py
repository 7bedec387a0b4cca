"""Comparisons in processes: the same bytes from any number of workers, on Dask, and after an interruption."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from stromboli.cli import main
from stromboli.traces.formats.writing import write_swf
from stromboli.traces.generators.lublin import lublin

POLICIES = Path(__file__).parents[3] / "examples" / "policies"
JOBS, SEEDS = 40, 2


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("traces") / "jobs.swf"
    with path.open("w") as file:
        write_swf(lublin(JOBS, 32, 3), file)
    return path


def arguments(trace: Path, results: Path, *further: str) -> list[str]:
    confs = [part for name in ("fcfs", "easy") for part in ("--conf", str(POLICIES / f"{name}.conf"))]
    chance = ("--start-latency", "exponential:30s", "--failures", "exponential:500h", "--layout", "pool")
    return [
        "simulate",
        "--trace",
        str(trace),
        *confs,
        "--seeds",
        str(SEEDS),
        "--results",
        str(results),
        *chance,
        *further,
    ]


def compare(trace: Path, results: Path, *further: str) -> Result:
    result = CliRunner().invoke(main, arguments(trace, results, *further))
    assert result.exit_code == 0, result.output
    return result


def content(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


@pytest.fixture(scope="module")
def alone(trace: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """Return the results of one process, and the figures."""
    folder = tmp_path_factory.mktemp("alone")
    return folder, compare(trace, folder, "--workers", "1", "-o", "json").stdout


def test_results_are_the_same_bytes_for_any_number_of_workers(
    trace: Path, alone: tuple[Path, str], tmp_path: Path
) -> None:
    report = ("--report", str(tmp_path / "report.html"))
    printed = compare(trace, tmp_path / "two", "--workers", "2", "-o", "json", *report).stdout
    assert content(tmp_path / "two") == content(alone[0])
    assert printed == alone[1]
    page = (tmp_path / "report.html").read_bytes()
    compare(trace, alone[0], "--workers", "1", *report)
    assert (tmp_path / "report.html").read_bytes() == page
    assert len(content(alone[0])) == 2 * SEEDS


def test_results_of_dask_workers_are_the_same_bytes(trace: Path, alone: tuple[Path, str], tmp_path: Path) -> None:
    """A real scheduler and a real worker, which is another process and gets the trace by message."""
    pytest.importorskip("distributed", reason="the extra dask is not installed")
    from distributed import LocalCluster

    with LocalCluster(n_workers=1, threads_per_worker=1, processes=True, dashboard_address=None) as cluster:
        printed = compare(trace, tmp_path / "dask", "--dask", cluster.scheduler_address, "-o", "json").stdout
    assert content(tmp_path / "dask") == content(alone[0])
    assert printed == alone[1]


def test_killed_comparison_continues(trace: Path, alone: tuple[Path, str], tmp_path: Path) -> None:
    results = tmp_path / "results"
    command = [sys.executable, "-m", "stromboli", *arguments(trace, results, "--workers", "1")]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
        deadline = time.monotonic() + 120
        while not list(results.glob("*.run")) and time.monotonic() < deadline and process.poll() is None:
            time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
    kept = content(results)
    assert kept
    assert compare(trace, results, "--workers", "1", "-o", "json").stdout == alone[1]
    after = {name: data for name, data in content(results).items() if name.endswith(".run")}
    assert after == content(alone[0])


def test_finished_runs_are_not_run_again(trace: Path, alone: tuple[Path, str]) -> None:
    before = {path: path.stat().st_mtime_ns for path in alone[0].iterdir()}
    assert compare(trace, alone[0], "-o", "json").stdout == alone[1]
    assert {path: path.stat().st_mtime_ns for path in alone[0].iterdir()} == before


def test_damaged_result_is_run_again(trace: Path, alone: tuple[Path, str], tmp_path: Path) -> None:
    for name, data in content(alone[0]).items():
        (tmp_path / name).write_bytes(data)
    damaged = min(tmp_path.iterdir())
    damaged.write_bytes(damaged.read_bytes()[:100])
    assert compare(trace, tmp_path, "--workers", "1", "-o", "json").stdout == alone[1]
    assert content(tmp_path) == content(alone[0])


def test_further_seed_keeps_the_runs_of_the_others(trace: Path, alone: tuple[Path, str], tmp_path: Path) -> None:
    for name, data in content(alone[0]).items():
        (tmp_path / name).write_bytes(data)
    found = json.loads(compare(trace, tmp_path, "--seeds", str(SEEDS + 1), "--workers", "1", "-o", "json").stdout)
    assert found["seeds"] == [1, 2, 3]
    assert len(content(tmp_path)) == 2 * (SEEDS + 1)


def test_unreachable_dask_scheduler_is_an_error(trace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stromboli.lab.comparison.dask._CONNECT_TIMEOUT", 0.2)
    result = CliRunner().invoke(main, arguments(trace, tmp_path / "none", "--dask", "tcp://127.0.0.1:1"))
    assert result.exit_code == 1
    assert "tcp://127.0.0.1:1: no Dask scheduler answers" in result.stderr
