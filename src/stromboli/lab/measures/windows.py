"""Equal parts of the simulated time, and means within them.

Everything over time is the mean within a window, so that no peak between two samples is lost or exaggerated, and a
run of any length has as many values.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stromboli.simulator.results.run import SimulationRun

Series = NDArray[np.float64]
#: The number of windows of all figures and pictures.
WINDOWS = 240


class Windows:
    def __init__(self, run: SimulationRun, count: int = WINDOWS) -> None:
        self.edges: Series = np.linspace(run.start, max(run.end, run.start), count + 1)
        self.length = float(self.edges[1] - self.edges[0])

    def __len__(self) -> int:
        return len(self.edges) - 1

    @property
    def centres(self) -> Series:
        return (self.edges[:-1] + self.edges[1:]) / 2

    def mean(self, begins: Series, ends: Series, amounts: Series) -> Series:
        """Return the mean in each window of the sum of amounts, each of which counts from its begin to its end."""
        if self.length <= 0:
            return np.zeros(len(self))
        integral = _integral(begins, amounts, self.edges) - _integral(ends, amounts, self.edges)
        return np.maximum(np.diff(integral) / self.length, 0.0)


def _integral(moments: Series, amounts: Series, edges: Series) -> Series:
    """Return by edge the integral up to it of amounts that count from their moments on."""
    order = np.argsort(moments, kind="stable")
    moments, amounts = moments[order], amounts[order].astype(np.float64)
    offset = moments - edges[0]
    sums = np.concatenate(([0.0], np.cumsum(amounts)))
    products = np.concatenate(([0.0], np.cumsum(amounts * offset)))
    place = np.searchsorted(moments, edges, side="right")
    result: Series = sums[place] * (edges - edges[0]) - products[place]
    return result
