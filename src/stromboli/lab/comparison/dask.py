"""Runs on the workers of an existing Dask cluster, which need stromboli of the same version and no shared files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from stromboli.lab.comparison.execution import RunOutcome, execute_elsewhere
from stromboli.lab.comparison.experiment import PlannedRun
from stromboli.lab.comparison.folder import RunFolder
from stromboli.lab.extra import MissingExtra

_CONNECT_TIMEOUT = 10


class DaskUnreachable(RuntimeError):
    """The scheduler of the Dask cluster does not answer."""


def run_on_dask(runs: Sequence[PlannedRun], folder: RunFolder, address: str) -> Iterator[RunOutcome]:
    """Yield outcomes as runs end. The files of the trace are sent once. Raises MissingExtra and DaskUnreachable."""
    try:
        from distributed import Client, as_completed
    except ImportError as error:
        raise MissingExtra("dask") from error
    try:
        client = Client(address, timeout=_CONNECT_TIMEOUT)
    except (OSError, ValueError) as error:
        raise DaskUnreachable(f"{address}: no Dask scheduler answers: {error}") from error
    with client:
        files = [run.setting.trace.content() for run in runs[:1]]
        sent = client.scatter(files, broadcast=True)
        futures = [client.submit(execute_elsewhere, planned, *sent, pure=False) for planned in runs]
        for future in as_completed(futures):
            outcome: RunOutcome = future.result()
            if not outcome.error:
                folder.store(outcome.key, outcome.content)
            future.release()
            yield replace(outcome, content=b"")
