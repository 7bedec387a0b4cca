"""Runs as a trace in Chrome's format, which https://ui.perfetto.dev and chrome://tracing show.

A node of a policy is a process with a row for each job that runs beside others. Waiting jobs and utilisation are
counters of a process of the policy itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, TextIO

import msgspec
import numpy as np

from stromboli.lab.measures.usage import spans_of, used_over_time
from stromboli.lab.measures.waiting import waiting_over_time
from stromboli.lab.measures.windows import Series, Windows
from stromboli.lab.pictures.bars import NodeLanes
from stromboli.lab.pictures.drawing import labelled
from stromboli.simulator.results.job_table import JobOutcome
from stromboli.simulator.results.run import SimulationRun

ChromeEvent = dict[str, Any]


def write_chrome_trace(runs: Iterable[SimulationRun], file: TextIO) -> None:
    """Write the events of all runs, one after the other. Times are microseconds since the start of the trace."""
    file.write('{"displayTimeUnit":"ms","traceEvents":[')
    before = ""
    for event in _events(runs):
        file.write(before + msgspec.json.encode(event).decode())
        before = ",\n"
    file.write("]}\n")


def _events(runs: Iterable[SimulationRun]) -> Iterator[ChromeEvent]:
    process = 0
    for policy, run in labelled(runs):
        process += 1
        yield from _process(process, policy)
        yield from _counters(process, run)
        yield from _attempts(process + 1, policy, run)
        process += len(run.nodes)


def _process(number: int, name: str) -> Iterator[ChromeEvent]:
    yield {"ph": "M", "pid": number, "name": "process_name", "args": {"name": name}}
    yield {"ph": "M", "pid": number, "name": "process_sort_index", "args": {"sort_index": number}}


def _counters(process: int, run: SimulationRun) -> Iterator[ChromeEvent]:
    windows = Windows(run)
    series: dict[str, Series] = {"waiting jobs": waiting_over_time(run, windows)}
    series.update((f"{name} %", 100 * used) for name, used in used_over_time(run, windows).items())
    for name, values in series.items():
        for begin, value in zip(windows.edges.tolist(), values.tolist(), strict=False):
            moment = _microseconds(begin - run.start)
            yield {"ph": "C", "pid": process, "name": name, "ts": moment, "args": {"value": round(value, 3)}}


def _attempts(first: int, policy: str, run: SimulationRun) -> Iterator[ChromeEvent]:
    """Yield a slice for each attempt on each of its nodes, and the names of the nodes that have any."""
    spans, outcomes = spans_of(run), run.jobs.attempt_column("outcome")
    pod_ends, nodes, _ = run.jobs.attempt_pods()
    lanes, named = NodeLanes(), set[int]()
    for attempt in np.argsort(spans.begins, kind="stable").tolist():
        begin, end = float(spans.begins[attempt]), float(spans.ends[attempt])
        job = run.jobs.row(int(spans.jobs[attempt]))
        pods = nodes[int(pod_ends[attempt - 1]) if attempt else 0 : int(pod_ends[attempt])]
        arguments = {
            "queue": job.queue, "user": job.user, "pods": job.pods,
            "outcome": JobOutcome(int(outcomes[attempt])).name.lower(),
            "submitted": job.submitted - run.start,
        }  # fmt: skip
        for node in np.unique(pods).tolist():
            if node not in named:
                named.add(node)
                yield from _process(first + node, f"{policy}: {run.nodes[node].name}")
            yield {
                "ph": "X", "pid": first + node, "tid": lanes.add(node, begin, end) + 1, "name": job.name,
                "cat": job.queue, "ts": _microseconds(begin - run.start), "dur": _microseconds(end - begin),
                "args": arguments,
            }  # fmt: skip


def _microseconds(seconds: float) -> int:
    return round(seconds * 1_000_000)
