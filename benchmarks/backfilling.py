"""First come first served, EASY and conservative backfilling on logs of the Parallel Workloads Archive:

    python -m benchmarks.backfilling sdsc_sp2.swf lublin_256.swf --jobs 1000

The cluster of each log is one pool of its processors, as in the literature. The scheduler sees the actual run times, or
the requested ones with `--estimates requested`, and jobs run on beyond what they requested. The policies are
`examples/policies/{fcfs,easy,conservative}.conf`. Results are JSON: means over jobs in seconds.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

from stromboli.lab.measures import measures_of
from stromboli.lab.policy import PolicySource
from stromboli.lab.running import simulate
from stromboli.registry import built_in_registry
from stromboli.simulator.traced.estimates import ACTUAL, REQUESTED
from stromboli.simulator.traced.layouts import POOL
from stromboli.simulator.traced.options import ReplayOptions
from stromboli.traces.opening import open_trace

FOLDER = Path("examples/policies")
POLICIES = ("fcfs", "easy", "conservative")


def compared(log: str, options: ReplayOptions) -> dict[str, Any]:
    """Return the figures of each policy on a log."""
    found = {}
    for name in POLICIES:
        policy = PolicySource(name, (FOLDER / f"{name}.conf").read_text(), built_in_registry)
        began = time.process_time()
        run = simulate(open_trace(log), policy.program(), options, policy=name)
        measured = measures_of(run)
        found[name] = {
            "jobs": measured["jobs"], "mean_wait": measured["wait"]["mean"], "max_wait": measured["wait"]["max"],
            "mean_bounded_slowdown": measured["slowdown"]["mean"], "utilisation": measured["utilisation"]["cpu"],
            "processor_seconds": round(time.process_time() - began, 1),
        }  # fmt: skip
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("logs", nargs="+", metavar="LOG")
    parser.add_argument("--jobs", type=int, metavar="N", help="only the first N jobs of each log")
    parser.add_argument("--estimates", choices=(ACTUAL, REQUESTED), default=ACTUAL)
    chosen = parser.parse_args()
    options = ReplayOptions(layout=POOL, jobs=chosen.jobs, estimates=chosen.estimates, over_limit="run-on")
    print(json.dumps({Path(log).name: compared(log, options) for log in chosen.logs}, indent=2))


if __name__ == "__main__":
    main()
