"""What queues held over time, stacked; and what they deserved."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from stromboli.lab.measures.fairness import deserved_over_time
from stromboli.lab.measures.usage import primary_resource, queue_usage
from stromboli.lab.measures.windows import Series, Windows
from stromboli.lab.pictures.drawing import (
    Rows,
    Spec,
    colour_field,
    fraction_field,
    in_readable_unit,
    rounded,
    spec,
    time_field,
    tooltips,
)
from stromboli.lab.pictures.over_time import RESOURCE_TITLES
from stromboli.simulator.results.run import SimulationRun

_MAX_QUEUES = 9
OTHERS = "others"


def queue_areas(run: SimulationRun) -> Spec:
    """Draw an area per queue; the smallest of many are one."""
    windows = Windows(run)
    used = _largest(queue_usage(run, windows))
    rows = _rows(run, windows, {name: {"used": each} for name, each in used.items()})
    unit = in_readable_unit(rows, "time")
    return spec(
        f"{RESOURCE_TITLES[primary_resource(run)]} in use by queue",
        rows,
        mark={"type": "area", "interpolate": "step", "clip": True},
        encoding={
            "x": time_field("time", unit),
            "y": fraction_field("used", "part of the capacity", stack="zero", scale={"domain": [0, 1]}),
            "color": colour_field("queue", used),
            "tooltip": tooltips("queue", time=".2f", used=".1%"),
        },
    )


def queue_shares(run: SimulationRun) -> Spec:
    """Draw the used share of each queue as a line, and its deserved one as a dashed line."""
    windows = Windows(run)
    used, deserved = deserved_over_time(run, windows)
    kept = _largest(used)
    rows = _rows(
        run, windows, {name: {"used": used[name], "deserved": deserved[name]} for name in kept if name in used}
    )  # fmt: skip
    unit = in_readable_unit(rows, "time")
    folded = {"fold": ["used", "deserved"], "as": ["kind", "share"]}
    return spec(
        f"{RESOURCE_TITLES[primary_resource(run)]} of queues against what they deserve",
        rows,
        transform=[folded],
        mark={"type": "line", "interpolate": "step", "strokeWidth": 1.5, "clip": True},
        encoding={
            "x": time_field("time", unit),
            "y": fraction_field("share", "part of the capacity", scale={"domain": [0, 1]}),
            "color": colour_field("queue", dict.fromkeys(row["queue"] for row in rows)),
            "strokeDash": {
                "field": "kind", "type": "nominal", "title": None,
                "scale": {"domain": ["used", "deserved"], "range": [[1, 0], [4, 3]]},
            },
            "tooltip": tooltips("queue", time=".2f", used=".1%", deserved=".1%"),
        },
    )  # fmt: skip


def _largest(used: Mapping[str, Series]) -> dict[str, Series]:
    """Return the queues with most usage in the order of their names, and the sum of the others."""
    if len(used) <= _MAX_QUEUES:
        return dict(used)
    by_use = sorted(used, key=lambda name: -float(used[name].sum()))
    rest = np.sum([used[name] for name in by_use[_MAX_QUEUES - 1 :]], axis=0)
    return {**{name: used[name] for name in sorted(by_use[: _MAX_QUEUES - 1])}, OTHERS: rest}


def _rows(run: SimulationRun, windows: Windows, queues: Mapping[str, Mapping[str, Series]]) -> Rows:
    times, rows = rounded(windows.centres - run.start), []
    for queue, series in queues.items():
        for time, *values in zip(times, *map(rounded, series.values()), strict=True):
            rows.append({"queue": queue, "time": time, **dict(zip(series, values, strict=True))})
    return rows
