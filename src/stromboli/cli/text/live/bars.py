"""Bars of glyphs: amounts of a resource, by queue. Each queue has a glyph and a colour, so that bars read without
colours, too.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from rich.text import Text

#: A glyph and its style.
Look = tuple[str, str]
_QUEUES: Sequence[Look] = (("■", "cyan"), ("●", "magenta"), ("▲", "blue"), ("◆", "green"))
NO_QUEUE: Look = ("▪", "white")
LEAVING: Look = ("□", "red")
_FREE: Look = ("·", "dim")
MARK = "│"
_BORROWED = "bold yellow"


def queue_looks(names: Iterable[str]) -> Mapping[str, Look]:
    return {name: _QUEUES[place % len(_QUEUES)] for place, name in enumerate(names)}


@dataclass(frozen=True, slots=True)
class Scale:
    """The cells of a bar: one per unit of the resource if that is not too long, with gaps if there is space."""

    whole: int
    cells: int
    gap: str

    @classmethod
    def of(cls, whole: int, columns: int) -> Scale:
        """Return the scale of amounts up to `whole`, which are in thousandths."""
        cells = max(min(-(-whole // 1000), columns), 1)
        return cls(whole, cells, " " if 2 * cells <= columns else "")

    @property
    def columns(self) -> int:
        """The length of a bar without mark."""
        return self.cells + len(self.gap) * (self.cells - 1)

    def position(self, amount: int) -> int:
        return round(amount * self.cells / self.whole) if self.whole else 0


def node_bar(parts: Iterable[tuple[Look, int]], capacity: int, scale: Scale) -> Text:
    """Return the bar of a node: its parts, free cells up to its capacity, and blanks up to the whole."""
    cells: list[Text] = []
    total = 0
    for (glyph, style), amount in parts:  # positions of sums, so that rounding errors do not add up
        total += amount
        cells += [Text(glyph, style=style)] * (scale.position(total) - len(cells))
    cells += [Text(*_FREE)] * (scale.position(capacity) - len(cells))
    cells += [Text(" ")] * (scale.cells - len(cells))
    return Text(scale.gap).join(cells)


def queue_bar(look: Look, allocated: int, deserved: int | None, scale: Scale) -> Text:
    """Return the bar of a queue, with a mark at the deserved amount; what is borrowed has its own colour."""
    (glyph, style), full = look, scale.position(allocated)
    mark = scale.cells + 1 if deserved is None else scale.position(deserved)
    cells = [Text(glyph, style=style if place < mark else _BORROWED) for place in range(full)]
    cells += [Text(*_FREE)] * (scale.cells - full)
    if deserved is not None:
        cells.insert(min(mark, scale.cells), Text(MARK, style="bold"))
    return Text(scale.gap).join(cells)
