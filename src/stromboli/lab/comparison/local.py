"""Runs in processes of this machine, each of which starts afresh: results do not depend on their number."""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool

from stromboli.lab.comparison.execution import RunOutcome, execute
from stromboli.lab.comparison.experiment import PlannedRun
from stromboli.lab.comparison.folder import RunFolder


class WorkersLost(RuntimeError):
    """A process ended without a result; the message names the remedy."""


def run_locally(runs: Sequence[PlannedRun], folder: RunFolder, workers: int) -> Iterator[RunOutcome]:
    """Yield outcomes as runs end. One worker is this process. Raises WorkersLost."""
    if min(workers, len(runs)) <= 1:
        for planned in runs:
            yield execute(planned, folder.file(planned.key))
        return
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(min(workers, len(runs)), mp_context=context)
    try:
        futures = [pool.submit(execute, planned, folder.file(planned.key)) for planned in runs]
        for future in as_completed(futures):
            yield future.result()
    except BrokenProcessPool as error:
        raise WorkersLost(
            "a worker process was killed, perhaps for lack of memory; finished runs are kept with --results: try "
            "again with fewer --workers"
        ) from error
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
