"""Policies of the deep-learning literature on training jobs: first come first served, Tiresias, and SRTF:

    python -m benchmarks.deep_learning --seeds 5
    python -m benchmarks.deep_learning --trace jobs.csv --columns philly

By default, each seed draws a trace like that of Microsoft's Philly cluster (Jeon et al., ATC 2019): most jobs have one
GPU, some up to 16, and run times have a heavy tail. A preempted job goes back to its last checkpoint, a minute ago at
most, and a job starts half a minute after its placement. Tiresias does not know run times; SRTF does. Results are
JSON: means over seeds with 95 % confidence intervals, in seconds, and mean completion times relative to `fcfs`.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from stromboli.lab.comparison.statistics import mean_of
from stromboli.lab.measures import measures_of
from stromboli.lab.policy import PolicySource
from stromboli.lab.running import simulate
from stromboli.registry import built_in_registry
from stromboli.simulator.traced.chance import parse_distribution
from stromboli.simulator.traced.options import ReplayOptions
from stromboli.traces.opening import open_trace
from stromboli.traces.trace import Trace, TraceJob, TraceNode

FOLDER = Path("examples/policies")
POLICIES: dict[str, tuple[str, ...]] = {
    "fcfs": (), "tiresias": ("attained_service:AttainedService",), "srtf": ("shortest_remaining:ShortestRemaining",),
}  # fmt: skip
#: GPUs of jobs with their parts; run times are lognormal, in seconds.
SIZES = {1: 0.70, 2: 0.08, 4: 0.10, 8: 0.10, 16: 0.02}
MEDIAN_LOG, SIGMA, SHORTEST, LONGEST = 6.9, 1.9, 60.0, 2 * 86400.0
GPUS_PER_NODE = 8


def drawn_trace(seed: int, jobs: int, nodes: int, load: float) -> Trace:
    """Return jobs whose work is a fraction of the capacity between the first and the last arrival."""
    chance = random.Random(seed)
    sizes = chance.choices(list(SIZES), list(SIZES.values()), k=jobs)
    times = [min(max(chance.lognormvariate(MEDIAN_LOG, SIGMA), SHORTEST), LONGEST) for _ in sizes]
    work = sum(size * time for size, time in zip(sizes, times, strict=True))
    between, moment, drawn = work / (load * nodes * GPUS_PER_NODE) / jobs, 0.0, []
    for number, (size, run_time) in enumerate(zip(sizes, times, strict=True), 1):
        pods = -(-size // GPUS_PER_NODE)
        drawn.append(TraceJob(f"job-{number}", round(moment), round(run_time), pods=pods, gpu=1000 * size // pods))
        moment += chance.expovariate(1 / between)
    return Trace("drawn", "drawn", lambda: iter(drawn))


def compared(traces: Sequence[tuple[int, Trace]], nodes: Sequence[TraceNode]) -> dict[str, Any]:
    """Return the figures of each policy over the traces, each with its seed."""
    sys.path.insert(0, str(FOLDER / "deep_learning"))
    runs: dict[str, list[dict[str, Any]]] = {}
    for name, plugins in POLICIES.items():
        policy = PolicySource(name, next(FOLDER.rglob(f"{name}.conf")).read_text(), built_in_registry, plugins)
        for seed, trace in traces:
            options = ReplayOptions(
                seed=seed, estimates="actual" if name == "srtf" else "none", checkpoint_interval=60.0,
                start_latency=parse_distribution("30s"),
            )  # fmt: skip
            run = simulate(trace, policy.program(), options, policy=name, nodes=nodes)
            runs.setdefault(name, []).append(measures_of(run))
    base = sum(run["turnaround"]["mean"] for run in runs["fcfs"])
    return {name: _figures(found, base) for name, found in runs.items()}


def _figures(runs: Sequence[dict[str, Any]], base: float) -> dict[str, Any]:
    return {
        "mean_completion": mean_of([run["turnaround"]["mean"] for run in runs]).as_plain(),
        "p95_completion": mean_of([run["turnaround"]["p95"] for run in runs]).as_plain(),
        "relative_to_fcfs": round(sum(run["turnaround"]["mean"] for run in runs) / base, 3),
        "preemptions": mean_of([run["preemptions"] for run in runs]).as_plain(),
        "lost_gpu_hours": mean_of([run["lostHours"] for run in runs]).as_plain(),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=5, metavar="N")
    parser.add_argument("--jobs", type=int, default=600, metavar="N")
    parser.add_argument("--nodes", type=int, default=8, metavar="N", help=f"nodes of {GPUS_PER_NODE} GPUs")
    parser.add_argument("--load", type=float, default=1.1, help="of drawn traces")
    parser.add_argument("--trace", metavar="FILE", help="a table of jobs instead of drawn ones")
    parser.add_argument("--columns", default="philly", metavar="NAME|FILE", help="the mapping of its columns")
    chosen = parser.parse_args()
    nodes = [TraceNode(f"node-{number}", 96_000, 0, 1000 * GPUS_PER_NODE) for number in range(chosen.nodes)]
    if chosen.trace:
        traces = [(1, open_trace(chosen.trace, "columns", mapping=chosen.columns))]
    else:
        seeds = range(1, chosen.seeds + 1)
        traces = [(seed, drawn_trace(seed, chosen.jobs, chosen.nodes, chosen.load)) for seed in seeds]
    print(json.dumps(compared(traces, nodes), indent=2))


if __name__ == "__main__":
    main()
