"""Order of a merged list: patched items in the order of the patch, other items at their positions."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TypeVar

K = TypeVar("K", bound=Hashable)


def arranged(live: Sequence[K], named: Sequence[K]) -> list[K]:
    """All keys in strategic merge order: named keys as named, others before the first named key that followed them."""
    places = {key: place for place, key in enumerate(live)}
    others = [key for key in live if key not in set(named)]
    ordered: list[K] = []
    for key in named:
        while others and key in places and places[others[0]] < places[key]:
            ordered.append(others.pop(0))
        ordered.append(key)
    return [*ordered, *others]


def interleave(live: Sequence[K], wanted: Sequence[K]) -> list[K]:
    """Return all keys of both: those of `wanted` in order, the live ones at their positions between."""
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
