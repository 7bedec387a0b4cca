"""The benchmark `scale`, in a small size on the embedded API server."""

from __future__ import annotations

from benchmarks.scale import measure
from testbed.embedded import embedded_plane

#: Bindings and evictions of each situation with 12 nodes; that of a topology rounds them up to 16.
WANTED = {
    "fill": (96, 0),
    "topology": (16, 0),
    "reclaim-gang": (12, 12),
    "reclaim-jobs": (96, 96),
    "consolidate": (20, 10),
    "unschedulable": (0, 0),
}


async def test_situations_end_with_the_expected_bindings_and_evictions() -> None:
    with embedded_plane() as plane:
        results = await measure(plane, 12)
    found = {each.more["situation"]: (each.placements, each.more["evictions"]) for each in results}
    assert found == WANTED
