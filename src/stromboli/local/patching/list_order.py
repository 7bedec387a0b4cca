"""The order of a merged list: what was asked for comes in the order asked, everything else keeps its place."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TypeVar

K = TypeVar("K", bound=Hashable)


def arranged(live: Sequence[K], named: Sequence[K]) -> list[K]:
    """All keys of both, as strategic merges arrange them: those named in their own order, and every other one before
    the first that was named and stood behind it.
    """
    places = {key: place for place, key in enumerate(live)}
    others = [key for key in live if key not in set(named)]
    ordered: list[K] = []
    for key in named:
        while others and key in places and places[others[0]] < places[key]:
            ordered.append(others.pop(0))
        ordered.append(key)
    return [*ordered, *others]


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
