"""Simulate many seeds, or replay one.

    python -m tests.simulation --seeds 1000000 --workers 2
    python -m tests.simulation --seed 4711

Progress goes to the error output; a JSON line with the failing seeds, each with its shrunk schedule, to the output.
A schedule that was printed is replayed with `--schedule`.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import sys
import time
from collections.abc import Iterator
from itertools import islice

from tests.simulation.schedule import Schedule, schedule_of
from tests.simulation.search import described, fails, failure_of
from tests.simulation.shrinking import shrunk
from tests.simulation.simulation import simulate

_PROGRESS_SECONDS = 10.0


def main() -> int:
    options = _arguments()
    if os.environ.get("PYTHONHASHSEED") != "0":
        # Sets of names have the same order in every run, as in `make test`.
        os.execve(sys.executable, [*sys.orig_argv], {**os.environ, "PYTHONHASHSEED": "0"})  # noqa: S606
    if options.schedule:
        return _replay(Schedule.decoded(options.schedule), shrink=False)
    if options.seed is not None:
        return _replay(schedule_of(options.seed), shrink=True)
    return _search(range(options.start, options.start + options.seeds), options.workers)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.simulation", description=__doc__)
    parser.add_argument("--seeds", type=int, default=500, help="how many seeds to simulate")
    parser.add_argument("--start", type=int, default=0, help="the first seed")
    parser.add_argument("--workers", type=int, default=1, help="processes that simulate")
    parser.add_argument("--seed", type=int, help="simulate this seed and print what happens")
    parser.add_argument("--schedule", help="simulate this schedule, in JSON, and print what happens")
    return parser.parse_args()


def _replay(schedule: Schedule, *, shrink: bool) -> int:
    outcome = simulate(schedule)
    if outcome.violations and shrink:
        outcome = simulate(shrunk(schedule, fails))
    sys.stdout.write("\n".join((*outcome.trace, json.dumps(described(outcome)), "")))
    return bool(outcome.violations)


def _search(seeds: range, workers: int) -> int:
    began, failed, reported = time.monotonic(), [], 0.0
    for done, outcome in enumerate(_outcomes(seeds, workers), start=1):
        if outcome is not None:
            failed.append(outcome)
            sys.stderr.write(f"seed {outcome['seed']}: {outcome['violations']}\n")
        if time.monotonic() - reported > _PROGRESS_SECONDS:
            reported = time.monotonic()
            sys.stderr.write(f"{done} of {len(seeds)} seeds, {len(failed)} failed\n")
    seconds = round(time.monotonic() - began, 1)
    report = {"seeds": len(seeds), "start": seeds.start, "seconds": seconds, "failed": failed}
    sys.stdout.write(json.dumps(report) + "\n")
    return bool(failed)


def _outcomes(seeds: range, workers: int) -> Iterator[dict[str, object] | None]:
    if workers == 1:
        yield from map(failure_of, seeds)
        return
    with multiprocessing.get_context("spawn").Pool(workers) as pool:
        yield from islice(pool.imap_unordered(failure_of, seeds, chunksize=10), len(seeds))


if __name__ == "__main__":
    sys.exit(main())
