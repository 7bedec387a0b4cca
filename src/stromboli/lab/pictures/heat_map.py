"""Nodes over time: what of them pods held, and which of their free GPUs typical jobs could not use."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stromboli.core.model.devices.gpu_fractions import WHOLE
from stromboli.lab.measures.fragmentation import fragmentation_by_node
from stromboli.lab.measures.usage import node_usage, primary_resource
from stromboli.lab.measures.windows import Windows
from stromboli.lab.pictures.drawing import Rows, Spec, height_of, in_readable_unit, spec, time_field, tooltips
from stromboli.lab.pictures.over_time import RESOURCE_TITLES
from stromboli.simulator.results.run import SimulationRun

_WINDOWS = 120
_MAX_ROWS = 40
#: Neighbouring cells of one shade are one rectangle.
_SHADES = 20


def node_map(run: SimulationRun) -> Spec:
    """Draw the used part of the GPUs, or else of the processors, of each node or group of neighbouring nodes."""
    windows = Windows(run, _WINDOWS)
    groups = _groups(len(run.nodes))
    title = RESOURCE_TITLES[primary_resource(run)]
    return _map(run, windows, groups, f"{title} in use by node", "used", node_usage(run, windows, groups))


def fragmentation_map(run: SimulationRun) -> Spec:
    """Draw the part of the GPUs of each node that is free and of no use for typical jobs."""
    windows = Windows(run, _WINDOWS)
    groups = _groups(len(run.nodes))
    gpus = np.bincount(groups, weights=[node.gpu / WHOLE for node in run.nodes])
    wasted = np.zeros((len(gpus), len(windows)))
    np.add.at(wasted, groups, fragmentation_by_node(run, windows))
    parts = wasted / np.maximum(gpus, 1)[:, None]
    return _map(run, windows, groups, "Fragmented GPUs by node", "fragmented", parts)


def _groups(nodes: int) -> NDArray[np.int64]:
    return np.arange(nodes) // max(-(-nodes // _MAX_ROWS), 1)


def _map(
    run: SimulationRun, windows: Windows, groups: NDArray[np.int64], title: str, name: str, parts: NDArray[np.float64]
) -> Spec:
    labels = [_label(run, np.flatnonzero(groups == group).tolist()) for group in range(len(parts))]
    edges, shades = windows.edges - run.start, np.round(parts * _SHADES).astype(np.int64)
    rows: Rows = []
    for label, row in zip(labels, shades, strict=True):
        changes = np.flatnonzero(np.diff(row)) + 1
        for begin, end in zip([0, *changes.tolist()], [*changes.tolist(), len(row)], strict=True):
            cell = {"nodes": label, "from": float(edges[begin]), "to": float(edges[end])}
            rows.append({**cell, name: round(int(row[begin]) / _SHADES, 3)})
    unit = in_readable_unit(rows, "from", "to")
    colour = {
        "field": name, "type": "quantitative", "title": None, "legend": {"format": "%"},
        "scale": {"scheme": "viridis", "domain": [0, 1]},
    }  # fmt: skip
    order = {"field": "nodes", "type": "nominal", "sort": labels, "title": None, "scale": {"padding": 0}}
    return spec(
        title,
        rows,
        height=height_of(len(labels), 12 if len(labels) > 8 else 20),
        mark={"type": "bar", "aria": False},
        encoding={
            "x": time_field("from", unit), "x2": {"field": "to"}, "y": {**order, "axis": {"labelLimit": 180}},
            "color": colour, "tooltip": tooltips("nodes", **{"from": ".2f", "to": ".2f", name: ".0%"}),
        },
    )  # fmt: skip


def _label(run: SimulationRun, nodes: list[int]) -> str:
    first = run.nodes[nodes[0]].name
    return first if len(nodes) == 1 else f"{first} and {len(nodes) - 1} more"
