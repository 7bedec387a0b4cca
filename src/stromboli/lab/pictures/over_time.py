"""Figures of the whole cluster over time, with a line per policy."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from stromboli.lab.measures.fragmentation import fragmentation_over_time
from stromboli.lab.measures.usage import RESOURCES, used_over_time
from stromboli.lab.measures.waiting import waiting_over_time
from stromboli.lab.measures.windows import Series, Windows
from stromboli.lab.pictures.drawing import (
    Rows,
    Spec,
    colour_field,
    fraction_field,
    in_readable_unit,
    labelled,
    rounded,
    spec,
    time_field,
    tooltips,
)  # fmt: skip
from stromboli.simulator.results.run import SimulationRun

#: The titles of resources, whose names are those of the columns of jobs.
RESOURCE_TITLES = dict(zip(RESOURCES, ("cpu", "memory", "GPU"), strict=True))


def utilisation(runs: Iterable[SimulationRun], resource: str) -> Spec:
    """Draw how much of `cpu`, `memory` or `gpu` pods held."""
    whole = fraction_field("used", "part of the capacity", scale={"domain": [0, 1]})
    return _lines(
        f"{RESOURCE_TITLES[resource]} in use",
        runs, lambda run, windows: used_over_time(run, windows).get(resource), "used", whole, ".1%",
    )  # fmt: skip


def waiting_jobs(runs: Iterable[SimulationRun]) -> Spec:
    """Draw how many jobs waited, for their first start or after an interruption."""
    number = {"field": "waiting", "type": "quantitative", "title": "jobs"}
    return _lines("Waiting jobs", runs, waiting_over_time, "waiting", number, ",.1f")


def fragmentation(runs: Iterable[SimulationRun]) -> Spec:
    """Draw the free GPUs that typical jobs of the trace could not use."""
    part = fraction_field("fragmented", "part of all GPUs")
    return _lines("Fragmented GPUs", runs, fragmentation_over_time, "fragmented", part, ".1%")


def _lines(
    title: str, runs: Iterable[SimulationRun], series: Callable[[SimulationRun, Windows], Series | None], name: str,
    field: Mapping[str, Any], form: str,
) -> Spec:  # fmt: skip
    rows: Rows = []
    for policy, run in labelled(runs):
        windows = Windows(run)
        values = series(run, windows)
        if values is not None:
            pairs = zip(rounded(windows.centres - run.start), rounded(values), strict=True)
            rows += ({"policy": policy, "time": time, name: value} for time, value in pairs)
    unit = in_readable_unit(rows, "time")
    return spec(
        title,
        rows,
        mark={"type": "line", "interpolate": "step", "strokeWidth": 1.5, "clip": True},
        encoding={
            "x": time_field("time", unit), "y": dict(field),
            "color": colour_field("policy", dict.fromkeys(row["policy"] for row in rows)),
            "tooltip": tooltips("policy", **{"time": ".2f", name: form}),
        },
    )  # fmt: skip
