"""Notebooks of the examples run from their first cell to the last, and show what their cells end with."""

from __future__ import annotations

import ast
import json
from pathlib import Path
from typing import Any

import pytest

NOTEBOOKS = sorted((Path(__file__).parents[2] / "examples" / "notebooks").glob("*.ipynb"))


def run_cell(source: str, names: dict[str, Any]) -> object:
    """Run the statements of a cell, and return the value of an expression at its end."""
    body = ast.parse(source).body
    last = body.pop() if body and isinstance(body[-1], ast.Expr) else None
    exec(compile(ast.Module(body, []), "cell", "exec"), names)  # noqa: S102
    return eval(compile(ast.Expression(last.value), "cell", "eval"), names) if isinstance(last, ast.Expr) else None  # noqa: S307


def shown(value: object) -> str:
    """Return what a notebook shows of a value."""
    for name in ("_repr_mimebundle_", "_repr_html_"):
        if (represent := getattr(value, name, None)) is not None:
            return json.dumps(represent())
    return repr(value)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook_runs_from_its_first_cell_to_the_last(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(path.parent)
    names: dict[str, Any] = {"__name__": "__main__"}
    cells = [cell for cell in json.loads(path.read_text(encoding="utf-8"))["cells"] if cell["cell_type"] == "code"]
    outputs = [shown(run_cell("".join(cell["source"]), names)) for cell in cells]
    assert all(outputs)
    assert all(cell["outputs"] == [] and cell["execution_count"] is None for cell in cells)
    assert {"compare-policies": "less than easy", "explain-a-cluster": "lower minMember"}[path.stem] in "".join(outputs)


def test_there_are_notebooks() -> None:
    assert len(NOTEBOOKS) == 2
