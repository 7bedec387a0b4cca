"""The distribution of waiting times: the part of all jobs that started within a time, under each policy."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from stromboli.lab.measures.windows import Series
from stromboli.lab.pictures.drawing import Rows, Spec, colour_field, fraction_field, rounded, spec, tooltips
from stromboli.simulator.results.run import SimulationRun
from stromboli.simulator.results.summary import waits_of

_POINTS = 200
#: Shorter waits are drawn as this, because the axis is logarithmic.
_SHORTEST = 1.0
_TICKS = (1, 10, 60, 600, 3600, 6 * 3600, 86400, 7 * 86400, 30 * 86400)
_LABELS = (
    "datum.value >= 86400 ? datum.value / 86400 + ' d' : datum.value >= 3600 ? datum.value / 3600 + ' h'"
    " : datum.value >= 60 ? datum.value / 60 + ' min' : datum.value + ' s'"
)


def wait_distribution(runs: Iterable[SimulationRun]) -> Spec:
    """Draw a line per policy, for its runs with all seeds. Jobs that never started count."""
    waits: dict[str, list[Series]] = {}
    for run in runs:
        waits.setdefault(run.policy or "policy", []).append(waits_of(run.jobs))
    rows: Rows = []
    for policy, found in waits.items():
        pairs = _distribution(np.concatenate(found))
        rows += ({"policy": policy, "wait": wait, "started": part} for wait, part in pairs)
    longest = max((row["wait"] for row in rows), default=_SHORTEST)
    last = next((tick for tick in _TICKS if tick >= longest), longest)
    return spec(
        "Jobs that started within a time",
        rows,
        mark={"type": "line", "interpolate": "step-after", "strokeWidth": 1.5},
        encoding={
            "x": {
                "field": "wait", "type": "quantitative", "title": "wait",
                "scale": {"type": "log", "domain": [_SHORTEST, max(last, 10)]},
                "axis": {"values": _TICKS, "labelExpr": _LABELS},
            },
            "y": fraction_field("started", "part of the jobs", scale={"domain": [0, 1]}),
            "color": colour_field("policy", waits),
            "tooltip": tooltips("policy", wait=",.0f", started=".1%"),
        },
    )  # fmt: skip


def _distribution(waits: Series) -> list[tuple[float, float]]:
    known = np.sort(waits[~np.isnan(waits)])
    if not len(known):
        return []
    ranks = np.unique(np.linspace(1, len(known), min(_POINTS, len(known))).astype(np.int64))
    values = np.maximum(known[ranks - 1], _SHORTEST)
    return list(zip(rounded(values), rounded(ranks / len(waits)), strict=True))
