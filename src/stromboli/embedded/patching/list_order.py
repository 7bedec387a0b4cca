"""The order of a merged list: what was asked for comes in the order asked, everything else keeps its place."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TypeVar

K = TypeVar("K", bound=Hashable)


def interleave(live: Sequence[K], wanted: Sequence[K]) -> list[K]:
    """All keys of both: those wanted in their own order, those only live where they stood between the others."""
    places = {key: place for place, key in reversed([*enumerate(wanted)])}
    ordered: list[K] = []
    position = 0
    for key in live:
        upto = places.get(key, -1) + 1
        if not upto:
            ordered.append(key)
        elif upto > position:
            ordered.extend(wanted[position:upto])
            position = upto
    ordered.extend(wanted[position:])
    return list(dict.fromkeys(ordered))
