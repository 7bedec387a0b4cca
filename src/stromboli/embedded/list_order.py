"""The order of a merged list: what was asked for comes in the order asked, everything else keeps its place."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TypeVar

K = TypeVar("K", bound=Hashable)


def interleave(live: Sequence[K], wanted: Sequence[K]) -> list[K]:
    """All keys of both: those wanted in their own order, those only live where they stood between the others."""
    wanted_keys = set(wanted)
    emitted: set[K] = set()
    ordered: list[K] = []
    position = 0
    for key in live:
        if key not in wanted_keys:
            ordered.append(key)
        elif key not in emitted:
            upto = wanted.index(key) + 1
            ordered.extend(wanted[position:upto])
            emitted.update(wanted[position:upto])
            position = max(position, upto)
    ordered.extend(wanted[position:])
    return list(dict.fromkeys(ordered))
