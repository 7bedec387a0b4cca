"""Jobs and requests that waited over time.

A job waits from its submission to its start, and after each interruption: it is submitted, has not ended, and no
attempt to run it is under way.
"""

from __future__ import annotations

import numpy as np

from stromboli.lab.measures.usage import requests_of, spans_of
from stromboli.lab.measures.windows import Series, Windows
from stromboli.simulator.results.run import SimulationRun


def waiting_over_time(run: SimulationRun, windows: Windows) -> Series:
    """Return the number of waiting jobs."""
    return _waiting(run, windows, np.ones(len(run.jobs)), np.ones(len(run.jobs), dtype=np.bool_))


def queue_demand(run: SimulationRun, windows: Windows, resource: str) -> dict[str, Series]:
    """Return what the waiting jobs of each queue requested."""
    codes, names = run.jobs.codes("queue")
    amounts = requests_of(run.jobs, resource)
    return {name: _waiting(run, windows, amounts, codes == code) for code, name in enumerate(names)}


def _waiting(run: SimulationRun, windows: Windows, amounts: Series, chosen: np.ndarray) -> Series:
    table, spans = run.jobs, spans_of(run)
    ended = np.where(np.isnan(table.column("ended")), run.end, table.column("ended"))
    submitted = np.asarray(table.column("submitted"), dtype=np.float64)
    alive = windows.mean(submitted[chosen], ended[chosen], amounts[chosen])
    own = chosen[spans.jobs]
    running = windows.mean(spans.begins[own], spans.ends[own], amounts[spans.jobs[own]])
    waiting = alive - running
    # sums of many terms: what is left of an equal number of arrivals and ends is no waiting job
    return np.where(waiting > 1e-9 * max(float(alive.max(initial=0.0)), 1.0), waiting, 0.0)
