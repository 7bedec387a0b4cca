"""When jobs waited and ran: a row per job, or rows per node."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from stromboli.lab.pictures.bars import (
    DrawnAttempts,
    NodeLanes,
    began_to_wait,
    drawn_attempts,
    job_groups,
    with_running,
)
from stromboli.lab.pictures.drawing import (
    Rows,
    Spec,
    colour_field,
    height_of,
    in_unit,
    spec,
    time_field,
    time_unit,
    tooltips,
)
from stromboli.simulator.results.job_table import JobOutcome
from stromboli.simulator.results.run import SimulationRun

_MAX_ATTEMPTS = 500
_MAX_JOBS = 100
_MAX_LANES = 64
_TALL = 640
#: Rows of more are too low for their names.
_MAX_NAMES = 40


def job_gantt(run: SimulationRun) -> Spec:
    """Draw a row per job, in order of submission: a thin line while it waits, a bar for each attempt to run it."""
    drawn = drawn_attempts(run, _MAX_JOBS)
    title, groups, names = job_groups(run)
    jobs = np.unique(drawn.spans.jobs[drawn.rows]).tolist()
    waits_since = began_to_wait(run, drawn.spans)
    labels = _unique_names(run, jobs)
    waits: Rows = []
    bars: Rows = []
    for row, bar in _bars(run, drawn):
        job = int(drawn.spans.jobs[row])
        each = {"job": labels[job], "group": names[groups[job]]}
        waits.append({**each, "from": float(waits_since[row]) - run.start, "to": bar["from"]})
        bars.append({**each, **bar})
    fields = {"x": "from", "x2": "to", "y": ("job", [labels[job] for job in jobs])}
    waiting = {"mark": {"type": "rule", "opacity": 0.45, "clip": True}, "transform": [{"filter": "!datum.attempt"}]}
    running = {
        "mark": {"type": "bar", "clip": True, "minBandSize": 2},
        "transform": [{"filter": "datum.attempt"}],
    }
    return _gantt(
        run, drawn, f"Jobs {drawn.part}".strip(), [*waits, *bars], fields, (title, names), [running, waiting]
    )  # fmt: skip


def node_gantt(run: SimulationRun) -> Spec:
    """Draw rows per node, as many as its jobs need to run side by side."""
    drawn = with_running(drawn_attempts(run, _MAX_ATTEMPTS))
    title, groups, names = job_groups(run)
    pod_ends, nodes, _ = run.jobs.attempt_pods()
    lanes = NodeLanes()
    every: list[tuple[int, int, dict[str, Any]]] = []
    for row, bar in _bars(run, drawn):
        job = int(drawn.spans.jobs[row])
        each = {"job": run.jobs.names[job], "group": names[groups[job]], **bar}
        pods = nodes[int(pod_ends[row - 1]) if row else 0 : int(pod_ends[row])]
        every += ((node, lanes.add(node, bar["from"], bar["to"]), each) for node in np.unique(pods).tolist())
    shown = lanes.first(_MAX_LANES)
    bars = [
        {"row": _lane_name(run, node, lane, lanes), **each} for node, lane, each in every if (node, lane) in shown
    ]  # fmt: skip
    left = len(run.nodes) - len({node for node, _ in shown})
    some = f" ({len(run.nodes) - left:,} of {len(run.nodes):,} nodes)" if left and len(shown) == _MAX_LANES else ""
    fields = {"x": "from", "x2": "to", "y": ("row", [_lane_name(run, *place, lanes) for place in shown])}
    layer = {"mark": {"type": "bar", "clip": True, "minBandSize": 2, "stroke": "white", "strokeWidth": 0.3}}
    return _gantt(run, drawn, f"Nodes{some} {drawn.part}".strip(), bars, fields, (title, names), [layer])


def _gantt(
    run: SimulationRun, drawn: DrawnAttempts, title: str, rows: Rows, fields: dict[str, Any],
    groups: tuple[str, list[str]], layers: list[dict[str, Any]],
) -> Spec:  # fmt: skip
    unit, seconds = time_unit(drawn.end - drawn.begin)
    in_unit(rows, seconds, "from", "to")
    name, order = fields["y"]
    scale = {"zero": False, "domain": [round((moment - run.start) / seconds, 5) for moment in (drawn.begin, drawn.end)]}
    return spec(
        title,
        rows,
        height=height_of(len(order), min(max(_TALL / max(len(order), 1), 5), 18)),
        encoding={
            "x": time_field("from", unit, scale=scale), "x2": {"field": "to"},
            "y": {
                "field": name, "type": "nominal", "sort": order, "title": None,
                "scale": {"domain": order, "paddingInner": 0.15},
                "axis": {"labels": len(order) <= _MAX_NAMES, "ticks": False, "labelLimit": 90},
            },
            "color": colour_field("group", groups[1], groups[0], **({} if len(groups[1]) > 1 else {"legend": None})),
            "tooltip": tooltips("job", "group", "outcome", **{"from": ",.2f", "to": ",.2f"}),
        },
        layer=layers,
    )  # fmt: skip


def _bars(run: SimulationRun, drawn: DrawnAttempts) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the drawn attempts with their rows."""
    outcomes = run.jobs.attempt_column("outcome")
    for row in drawn.rows.tolist():
        begin, end = (float(moments[row]) - run.start for moments in (drawn.spans.begins, drawn.spans.ends))
        outcome = JobOutcome(int(outcomes[row])).name.lower()
        yield row, {"from": begin, "to": end, "outcome": outcome, "attempt": True}


def _unique_names(run: SimulationRun, jobs: list[int]) -> dict[int, str]:
    """Return a name by job. Traces may use one name again."""
    seen, names = set(), {}
    for job in jobs:
        name = run.jobs.names[job]
        names[job] = f"{name} ({job + 1})" if name in seen else name
        seen.add(name)
    return names


def _lane_name(run: SimulationRun, node: int, lane: int, lanes: NodeLanes) -> str:
    name = run.nodes[node].name
    return name if lanes.count(node) == 1 else f"{name} / {lane + 1}"
