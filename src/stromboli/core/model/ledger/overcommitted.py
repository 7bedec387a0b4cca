"""Over-committed nodes: their pods request more than the node offers.

This scheduler never decides that. It happens when another scheduler binds a pod to a node at the same time, or when a
node shrinks.
"""

from __future__ import annotations

import numpy as np

from stromboli.core.model.ledger.ledger import Ledger


def overcommitted(ledger: Ledger, *, later: bool = False) -> dict[int, dict[int, int]]:
    """Return by node row the missing amounts by dimension; with `later`, what is still missing once all releasing pods
    are gone.
    """
    layout, amounts = ledger.layout, ledger.all_rows
    found: dict[int, dict[int, int]] = {}
    for dimension in range(layout.resources):
        idle = amounts.idle(dimension)
        if later:
            idle = idle + amounts.releasing(dimension)
        for row in np.flatnonzero(idle < 0).tolist():
            found.setdefault(row, {})[dimension] = -int(idle[row])
    return found
