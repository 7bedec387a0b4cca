"""The figures of all runs as rows: a value per figure, run, and queue, user or class of sizes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from stromboli.lab.comparison.comparison import Comparison
from stromboli.lab.comparison.metrics import GROUP_METRICS, METRICS

_KINDS = {"queues": "queue", "users": "user", "sizes": "size"}


class FigureRow(NamedTuple):
    policy: str
    seed: int
    #: `all`, `queue`, `user` or `size`, and which of them.
    kind: str
    group: str
    figure: str
    value: float


def figure_rows(comparison: Comparison) -> Iterator[FigureRow]:
    """Yield what is known of each run."""
    for policy, runs in comparison.runs.items():
        for seed, run in zip(comparison.seeds, runs, strict=True):
            groups = [("all", "", METRICS, run)]
            for kind, name in _KINDS.items():
                groups += ((name, group, GROUP_METRICS, found) for group, found in run[kind].items())
            for kind, group, metrics, found in groups:
                for metric in metrics:
                    value = metric.of(found)
                    if value is not None:
                        yield FigureRow(policy, seed, kind, group, metric.key, value)
