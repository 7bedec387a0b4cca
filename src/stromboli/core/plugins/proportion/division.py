"""Division of the cluster between queues: water-filling by weight.

Each round divides the remainder by weight among the queues that are not satisfied; each takes no more than it may hold
and requests, and at least its guarantee. What is left over goes into the next round.
"""

import numpy as np
from numpy.typing import NDArray

Table = NDArray[np.float64]

#: A share that is off a whole number by less than this is that number: division leaves such crumbs.
_CRUMB = 1e-3


def divide(total: Table, weights: Table, requests: Table, limits: Table, guarantees: Table) -> NDArray[np.int64]:
    """Return what each queue deserves, in whole units. All tables have a row per queue and a column per resource."""
    deserved = np.zeros_like(requests)
    remaining = total.astype(np.float64)
    content = np.zeros(len(weights), dtype=np.bool_)
    while True:
        open_weight = weights[~content].sum()
        if open_weight == 0:
            break
        before, remaining_before = deserved.copy(), remaining.copy()
        portion = (weights * ~content / open_weight)[:, None] * remaining
        deserved = np.minimum(np.minimum(deserved + portion, limits), requests)
        deserved = np.where(content[:, None], before, np.maximum(deserved, guarantees))
        content |= (requests <= deserved + _CRUMB).all(axis=1) | (deserved == before).all(axis=1)
        remaining = np.maximum(remaining - (deserved - before).sum(axis=0), 0)
        if (remaining < _CRUMB).all() or (remaining == remaining_before).all():
            break
    return np.floor(deserved + _CRUMB).astype(np.int64)
