"""Which attempts of a run are drawn as bars: a picture has space for some hundreds.

Of a longer run, the part around the moment with most waiting jobs is drawn, or the middle if no job waits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from stromboli.lab.measures.usage import AttemptSpans, requests_of, spans_of
from stromboli.lab.measures.waiting import waiting_over_time
from stromboli.lab.measures.windows import Series, Windows
from stromboli.simulator.results.run import SimulationRun
from stromboli.simulator.results.summary import size_classes_of

_MAX_GROUPS = 9


@dataclass(frozen=True, slots=True)
class DrawnAttempts:
    """Rows of attempts in the order of their begins, and the drawn time in seconds as those of the run."""

    rows: NDArray[np.int64]
    spans: AttemptSpans
    begin: float
    end: float
    #: Which part of the time it is, for a title; empty for all.
    part: str = ""


def drawn_attempts(run: SimulationRun, count: int) -> DrawnAttempts:
    """Return at most `count` attempts that begin one after the other."""
    spans = spans_of(run)
    rows = np.argsort(spans.begins, kind="stable")
    if len(rows) <= count:
        return DrawnAttempts(rows, spans, run.start, run.end)
    windows = Windows(run)
    waiting = waiting_over_time(run, windows)
    peak, part = float(windows.centres[int(waiting.argmax())]), "while most jobs wait"
    if not waiting.any():
        peak, part = float(spans.begins[rows[len(rows) // 2]]), "in the middle of the run"
    first = min(max(int(np.searchsorted(spans.begins[rows], peak)) - count // 2, 0), len(rows) - count)
    rows = rows[first : first + count]
    return DrawnAttempts(rows, spans, float(spans.begins[rows[0]]), float(spans.begins[rows[-1]]), part)


def with_running(drawn: DrawnAttempts) -> DrawnAttempts:
    """Add the attempts that began before the drawn time and still ran in it."""
    begins, ends = drawn.spans.begins, drawn.spans.ends
    running = np.flatnonzero((begins < drawn.begin) & (ends > drawn.begin)) if drawn.part else drawn.rows[:0]
    return replace(drawn, rows=np.concatenate((running[np.argsort(begins[running], kind="stable")], drawn.rows)))


def began_to_wait(run: SimulationRun, spans: AttemptSpans) -> Series:
    """Return by attempt when its job was submitted, or when the attempt before ended."""
    order = np.lexsort((spans.begins, spans.jobs))
    jobs = spans.jobs[order]
    since = np.asarray(run.jobs.column("submitted"), dtype=np.float64)[spans.jobs]
    again = np.flatnonzero(jobs[1:] == jobs[:-1])
    since[order[again + 1]] = spans.ends[order[again]]
    return since


class NodeLanes:
    """Assigns the jobs of a node, in the order of their begins, to as few rows as they need side by side."""

    def __init__(self) -> None:
        self._ends: dict[int, list[float]] = {}

    def add(self, node: int, begin: float, end: float) -> int:
        """Return the row of a job within its node."""
        ends = self._ends.setdefault(node, [])
        lane = next((number for number, free in enumerate(ends) if free <= begin), len(ends))
        if lane == len(ends):
            ends.append(end)
        ends[lane] = end
        return lane

    def count(self, node: int) -> int:
        return len(self._ends[node])

    def first(self, most: int) -> dict[tuple[int, int], None]:
        """Return the first nodes and rows, in order."""
        every = ((node, lane) for node in sorted(self._ends) for lane in range(len(self._ends[node])))
        return dict.fromkeys(islice(every, most))


def job_groups(run: SimulationRun) -> tuple[str, NDArray[np.int64], list[str]]:
    """Return what the colours of jobs mean: queues, else users, else sizes; the group of each job, and their names.

    Groups with most work have names; the others are one.
    """
    for name in ("queue", "user"):
        codes, texts = run.jobs.codes(name)
        if len(texts) > 1:
            return name, *_largest(run, codes, texts)
    sizes = list(size_classes_of(run.jobs))
    codes = np.sum([number * chosen for number, (_, chosen) in enumerate(sizes)], axis=0, dtype=np.int64)
    return "size", codes, [size for size, _ in sizes]


def _largest(run: SimulationRun, codes: NDArray[np.int32], texts: Sequence[str]) -> tuple[NDArray[np.int64], list[str]]:
    work = np.bincount(codes, weights=requests_of(run.jobs, "cpu"), minlength=len(texts))
    kept = len(texts) if len(texts) <= _MAX_GROUPS else _MAX_GROUPS - 1
    largest = sorted(np.argsort(-work, kind="stable")[:kept].tolist(), key=lambda code: texts[code])
    places = np.full(len(texts), len(largest), dtype=np.int64)
    places[largest] = np.arange(len(largest))
    names = [texts[code] or "none" for code in largest]
    return places[codes], names if kept == len(texts) else [*names, "others"]
