"""What all pictures have in common: Vega-Lite specifications of one view, with times in a readable unit."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from stromboli.lab.measures.windows import Series
from stromboli.simulator.results.run import SimulationRun

#: A Vega-Lite specification, for JSON.
Spec = dict[str, Any]
Rows = list[dict[str, Any]]

_SCHEMA = "https://vega.github.io/schema/vega-lite/v6.json"
WIDTH, HEIGHT = 720, 220
#: Names of units of time with their seconds, and the shortest span that is measured in them.
_UNITS = (("days", 86400, 4 * 86400), ("hours", 3600, 3 * 3600), ("minutes", 60, 3 * 60), ("seconds", 1, 0))
_DIGITS = 5
#: The height of title, axis and legend.
_FRAME = 90


def spec(title: str | Sequence[str], rows: Rows, *, height: int = HEIGHT, **parts: Any) -> Spec:
    """Return a specification of fixed width; a page may set another one."""
    return {
        "$schema": _SCHEMA, "title": title, "width": WIDTH, "height": height,
        "autosize": {"type": "fit", "contains": "padding"},
        "data": {"values": rows}, **parts,
    }  # fmt: skip


def height_of(rows: int, each: float) -> int:
    """Return the height of a picture with rows, with its title and axis."""
    return round(rows * each) + _FRAME


def labelled(runs: Iterable[SimulationRun]) -> Iterator[tuple[str, SimulationRun]]:
    """Yield runs with their policies; further runs of one policy with their seeds, too."""
    seen = set()
    for run in runs:
        name = run.policy or "policy"
        yield (f"{name}, seed {run.seed}" if name in seen else name), run
        seen.add(name)


def time_unit(span: float) -> tuple[str, float]:
    """Return the name of the unit in which a span is readable, and its seconds."""
    return next((name, float(seconds)) for name, seconds, least in _UNITS if span >= least)


def rounded(values: Series) -> list[float]:
    """Return numbers that take few characters."""
    found: list[float] = np.round(values, _DIGITS).tolist()
    return found


def in_unit(rows: Rows, seconds: float, *names: str) -> None:
    """Change the times in rows from seconds to a unit of so many."""
    for row in rows:
        for name in names:
            row[name] = round(row[name] / seconds, _DIGITS)


def in_readable_unit(rows: Rows, *names: str) -> str:
    """Change the times in rows to a unit that suits them all; return its name."""
    unit, seconds = time_unit(max((row[name] for row in rows for name in names), default=0.0))
    in_unit(rows, seconds, *names)
    return unit


def time_field(name: str, unit: str, **further: Any) -> dict[str, Any]:
    """Return the encoding of a time since the start of the trace."""
    scale = {"nice": False, "zero": True, **further.pop("scale", {})}
    return {"field": name, "type": "quantitative", "title": f"{unit} since the start", "scale": scale, **further}


def fraction_field(name: str, title: str, **further: Any) -> dict[str, Any]:
    return {"field": name, "type": "quantitative", "title": title, "axis": {"format": "%"}, **further}


def colour_field(name: str, names: Iterable[str], title: str | None = None, **further: Any) -> dict[str, Any]:
    """Return the encoding of a name as a colour, in the order of the names."""
    return {"field": name, "type": "nominal", "title": title, "scale": {"domain": list(names)}, **further}


def tooltips(*fields: str, **formats: str) -> list[dict[str, Any]]:
    """Return the encoding of what a pointer shows. Keyword arguments name fields of numbers, with formats."""
    texts = [{"field": name, "type": "nominal"} for name in fields]
    return [*texts, *({"field": name, "type": "quantitative", "format": each} for name, each in formats.items())]
