"""What empty nodes can hold, and that the answers kept for it are bounded."""

import tracemalloc

import numpy as np
import pytest

from stromboli.core.model.nodes.empty_capacity import EmptyCapacity
from stromboli.core.model.resources.resources import UNLIMITED, Request

#: Two nodes: (cpu, memory) of (4, 8) and (2, 16).
NODES = np.array([[4, 2], [8, 16]], dtype=np.int64)


@pytest.mark.parametrize(
    ("request_", "copies"),
    [
        pytest.param((), UNLIMITED, id="nothing"),
        pytest.param(((0, 1),), 6, id="one-cpu"),
        pytest.param(((0, 1), (1, 4)), 4, id="memory-decides-on-one-node"),
        pytest.param(((0, 5),), 0, id="larger-than-every-node"),
    ],
)
def test_copies_on_all_nodes(request_: Request, copies: int) -> None:
    assert EmptyCapacity(NODES).copies(request_) == copies


def test_ever_new_requests_take_bounded_memory() -> None:
    """A hundred thousand kept answers would take 20 MiB."""
    capacity = EmptyCapacity(NODES)
    tracemalloc.start()
    try:
        for amount in range(10, 100_010):
            assert capacity.copies(((0, amount),)) == 0
        assert tracemalloc.get_traced_memory()[0] < 8 * 2**20
    finally:
        tracemalloc.stop()
