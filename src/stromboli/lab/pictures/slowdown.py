"""The bounded slowdown of jobs by their size, under each policy."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from stromboli.lab.measures.windows import Series
from stromboli.lab.pictures.drawing import Rows, Spec, colour_field, spec, tooltips
from stromboli.simulator.results.run import SimulationRun
from stromboli.simulator.results.summary import size_classes_of, slowdown_of


def slowdown_by_size(runs: Iterable[SimulationRun]) -> Spec:
    """Draw the mean with a line from the median to the 95th percentile, by class of size and policy. Runs of one policy
    with several seeds are taken together.
    """
    found: dict[tuple[str, str], list[Series]] = {}
    has_gpus = False
    for run in runs:
        slowdown = slowdown_of(run.jobs)
        has_gpus = has_gpus or bool(run.jobs.column("gpu").any())
        for size, chosen in size_classes_of(run.jobs):
            found.setdefault((size, run.policy or "policy"), []).append(slowdown[chosen & ~np.isnan(slowdown)])
    rows: Rows = []
    for (size, policy), parts in found.items():
        values = np.concatenate(parts)
        if len(values):
            median, p95 = np.quantile(values, (0.5, 0.95), method="inverted_cdf").tolist()
            figures = {"mean": float(values.mean()), "median": median, "p95": p95}
            each = {name: round(value, 3) for name, value in figures.items()}
            rows.append({"size": size, "policy": policy, "jobs": len(values), **each})
    sizes = sorted({row["size"] for row in rows}, key=_order)
    offset = {"field": "policy", "sort": list(dict.fromkeys(row["policy"] for row in rows))}
    return spec(
        "Bounded slowdown by size",
        rows,
        encoding={
            "x": {
                "field": "size", "type": "nominal", "sort": sizes, "axis": {"labelAngle": 0},
                "title": f"{'GPUs' if has_gpus else 'processors'} of a job",
            },
            "xOffset": offset,
            "color": colour_field("policy", offset["sort"]),
            "tooltip": tooltips("size", "policy", jobs=",", mean=",.2f", median=",.2f", p95=",.2f"),
        },
        layer=[
            {"mark": {"type": "rule", "strokeWidth": 2}, "encoding": {"y": _value("median"), "y2": {"field": "p95"}}},
            {"mark": {"type": "point", "filled": True, "size": 70}, "encoding": {"y": _value("mean")}},
        ],
    )  # fmt: skip


def _value(name: str) -> dict[str, object]:
    return {"field": name, "type": "quantitative", "title": "mean, and median to p95", "scale": {"type": "log"}}


def _order(size: str) -> float:
    return float(size.lstrip(">").partition("-")[0]) + (0.5 if size.startswith(">") else 0.0)
