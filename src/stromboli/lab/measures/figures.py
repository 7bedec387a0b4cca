"""All figures of a run as plain values."""

from __future__ import annotations

from typing import Any

import numpy as np

from stromboli.lab.measures.fairness import deviation_of, equality_of
from stromboli.lab.measures.fragmentation import fragmentation_over_time
from stromboli.lab.measures.usage import capacity_of, primary_resource, used_over_time
from stromboli.lab.measures.waiting import waiting_over_time
from stromboli.lab.measures.windows import Series, Windows
from stromboli.simulator.results.run import SimulationRun
from stromboli.simulator.results.summary import summary_of


def measures_of(run: SimulationRun) -> dict[str, Any]:
    """Return the statistics of `simulate --trace`, with what else compares policies. Keys may be added."""
    windows = Windows(run)
    waiting, used = waiting_over_time(run, windows), used_over_time(run, windows)
    allocated = used.get(primary_resource(run), np.zeros(len(windows)))
    return {
        **summary_of(run),
        "waitingJobs": {"mean": _rounded(waiting.mean()), "max": _rounded(waiting.max())},
        "allocation": {"resource": primary_resource(run), **_with_waiting(allocated, waiting)},
        "fragmentation": _with_waiting(fragmentation_over_time(run, windows), waiting)
        if capacity_of(run, "gpu")
        else None,
        "fairness": {
            "jainQueues": _rounded(equality_of(run, "queue")),
            "jainUsers": _rounded(equality_of(run, "user")),
            "deviation": _rounded(deviation_of(run, windows)),
        },
    }


def _with_waiting(values: Series, waiting: Series) -> dict[str, float | None]:
    """Return the mean, and the mean of the time in which jobs wait: only then a policy could do better."""
    weight = float((waiting > 0).sum())
    return {"mean": _rounded(values.mean()), "whileWaiting": _rounded(values[waiting > 0].mean()) if weight else None}


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(float(value), 6)
