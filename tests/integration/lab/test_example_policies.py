"""The policies of `examples/policies`, and the commands that compare published ones with them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from stromboli.lab.policy import PolicySource
from stromboli.lab.running import simulate
from stromboli.registry import built_in_registry
from stromboli.simulator.results.job_table import JobOutcome
from stromboli.simulator.results.run import SimulationRun
from stromboli.simulator.traced.options import ReplayOptions
from stromboli.traces.formats.writing import write_swf
from stromboli.traces.generators.lublin import lublin
from stromboli.traces.trace import Trace, TraceJob, TraceNode
from tests.testing.traces.runs import job, spans

ROOT = Path(__file__).parents[3]
POLICIES = ROOT / "examples" / "policies"
PLUGINS = {
    "tiresias.conf": ("attained_service:AttainedService",), "srtf.conf": ("shortest_remaining:ShortestRemaining",),
}  # fmt: skip
GPUS = [TraceNode("node", 8000, 0, 4000)]


@pytest.fixture(autouse=True)
def _importable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(POLICIES / "deep_learning")


def run(name: str, jobs: list[TraceJob], **options: Any) -> SimulationRun:
    policy = PolicySource(name, next(POLICIES.rglob(name)).read_text(), built_in_registry, PLUGINS.get(name, ()))
    chosen = ReplayOptions(checkpoint_interval=1.0, **options)
    return simulate(Trace("test", "test", lambda: iter(jobs)), policy.program(), chosen, nodes=GPUS)


def train(name: str, submitted: float, run_time: float, gpus: int = 4) -> TraceJob:
    return job(name, submitted, run_time, cpu=0, gpu=1000 * gpus)


@pytest.mark.parametrize("name", sorted(path.name for path in POLICIES.rglob("*.conf")))
def test_every_policy_runs_all_jobs(name: str) -> None:
    jobs = [train(f"j{number}", 600 * number, 1800 + 300 * (number % 5), 1 + number % 4) for number in range(20)]
    outcomes = run(name, jobs).jobs.column("outcome")
    assert set(outcomes.tolist()) == {JobOutcome.COMPLETED}


def test_job_with_little_gpu_time_preempts_one_with_an_hour() -> None:
    """Four GPUs reach an hour of GPU time after 15 minutes; without run times, nothing else is known."""
    found = run("tiresias.conf", [train("long", 0, 3600), train("short", 1200, 300)], estimates="none")
    assert spans(found)["short"][0] == pytest.approx(1200, abs=5)
    assert spans(found)["short"][1] == pytest.approx(1500, abs=5)
    assert spans(found)["long"][1] == pytest.approx(3900, abs=10)
    assert found.jobs.column("preemptions").tolist() == [1, 0]


def test_jobs_of_one_level_are_served_in_order_of_submission() -> None:
    found = spans(run("tiresias.conf", [train("first", 0, 800), train("second", 100, 300)], estimates="none"))
    assert found["first"][1] <= found["second"][0]


def test_attained_service_survives_preemption() -> None:
    """`a` is at an hour of GPU time when `b` preempts it; `c` preempts it again, although it has just restarted."""
    jobs = [train("a", 0, 3600), train("b", 1200, 300), train("c", 1600, 300)]
    found = run("tiresias.conf", jobs, estimates="none")
    assert found.jobs.column("preemptions").tolist() == [2, 0, 0]


def test_shorter_remaining_time_preempts_and_longer_waits() -> None:
    jobs = [train("long", 0, 3600), train("short", 600, 300), train("nearly", 3500, 900)]
    found = run("srtf.conf", jobs, estimates="actual")
    assert spans(found)["short"][0] == pytest.approx(600, abs=5)
    assert spans(found)["nearly"][0] >= spans(found)["long"][1]
    assert found.jobs.column("preemptions").tolist() == [1, 0, 0]


def printed(*arguments: str) -> dict[str, Any]:
    command = [sys.executable, "-m", *arguments]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True, timeout=120)
    found: dict[str, Any] = json.loads(result.stdout)
    return found


def test_command_compares_backfilling_on_logs(tmp_path: Path) -> None:
    log = tmp_path / "log.swf"
    with log.open("w") as file:
        write_swf(lublin(80, 64, 7), file)
    found = printed("benchmarks.backfilling", str(log), "--jobs", "60", "--estimates", "requested")["log.swf"]
    assert {name: figures["jobs"] for name, figures in found.items()} == {"fcfs": 60, "easy": 60, "conservative": 60}
    assert found["easy"]["mean_wait"] < found["fcfs"]["mean_wait"]


def test_command_compares_policies_of_deep_learning() -> None:
    found = printed("benchmarks.deep_learning", "--seeds", "1", "--jobs", "60", "--nodes", "2", "--load", "1.5")
    assert found["fcfs"]["relative_to_fcfs"] == 1
    assert found["srtf"]["relative_to_fcfs"] <= found["tiresias"]["relative_to_fcfs"] < 1


def test_command_reads_a_table_of_jobs(tmp_path: Path) -> None:
    table = tmp_path / "jobs.csv"
    table.write_text("submitted,name,run_time,pods,gpu\n0,a,7200,1,8000\n3600,b,600,1,8000\n")
    mapping = tmp_path / "columns.yaml"
    mapping.write_text("columns: {submitted: submitted, name: name, run_time: run_time, pods: pods, gpu: gpu}\n")
    options = ("--trace", str(table), "--columns", str(mapping), "--nodes", "1")
    assert printed("benchmarks.deep_learning", *options)["tiresias"]["preemptions"]["mean"] == 1
