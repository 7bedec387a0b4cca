"""Writes docs/reference/api.md from the docstrings, signatures and comments of `stromboli.api`.

`python tools/api_reference.py` prints the page, and with `--write` stores it. A test fails when the page is stale.
"""

from __future__ import annotations

import ast
import inspect
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from stromboli import api

PAGE = Path(__file__).parents[1] / "docs" / "reference" / "api.md"
#: The classes that have a section of their own; the other names are in a table.
CLASSES = (
    "Plugin", "Action", "Session", "Statement", "Job", "SubJob", "JobSpec", "Task", "TaskClass", "Queue", "QueueUsage",
    "Node", "NodeTable", "Rows", "Ledger", "ResourceAxis", "NodeFilter", "NodeScorer", "Arguments", "BinderPlugin",
    "BinderContext", "Placement",
)  # fmt: skip
#: Methods that the scheduler calls itself; authors have no use for them.
INTERNAL = {
    "Session": {"run", "close"},
    "Job": {"copy"},
    "SubJob": {"copy"},
    "QueueUsage": {"copy", "empty"},
}
HEAD = f"""# API reference

Everything that authors of [plugins](../writing-plugins.md), [actions](../actions.md#custom-actions) and
[binder plugins](../writing-binder-plugins.md) may use is in `stromboli.api`. This is version {api.API_VERSION}; see
[Versions](../writing-plugins.md#versions). This page is generated from the source by `tools/api_reference.py`.
"""


@dataclass(frozen=True, slots=True)
class Entry:
    """One attribute, property or method."""

    name: str
    declaration: str
    text: str


def page() -> str:
    """Return the whole page."""
    parts = [HEAD, *(_section(name) for name in CLASSES), _other_names()]
    return "\n".join(parts)


def _section(name: str) -> str:
    owner = getattr(api, name)
    hidden = INTERNAL.get(name, set())
    entries = [entry for entry in _entries(owner) if entry.name not in hidden]
    attributes = [entry for entry in entries if not entry.declaration.endswith(")") and "(" not in entry.declaration]
    methods = [entry for entry in entries if entry not in attributes]
    lines = [f"## {name}", "", _plain(inspect.getdoc(owner) or ""), ""]
    lines += _table("Attribute", attributes) + _table("Method", methods)
    return "\n".join(lines)


def _table(title: str, entries: list[Entry]) -> list[str]:
    if not entries:
        return []
    rows = [f"| `{_cell(entry.declaration)}` | {_cell(entry.text)} |" for entry in entries]
    return [f"| {title} | Meaning |", "|---|---|", *rows, ""]


def _entries(owner: type) -> list[Entry]:
    """Return what a class and its bases inside the package declare, each name once, bases last."""
    found: dict[str, Entry] = {}
    for base in owner.__mro__:
        if base.__module__.startswith("stromboli."):
            for entry in _declared(base):
                found.setdefault(entry.name, entry)
    return list(found.values())


def _declared(owner: type) -> Iterator[Entry]:
    """Return the public names of one class, in the order of its source."""
    lines, _ = inspect.getsourcelines(owner)
    tree = ast.parse("".join(line if line.strip() else "\n" for line in _dedented(lines)))
    body = tree.body[0]
    assert isinstance(body, ast.ClassDef)  # noqa: S101
    source = _dedented(lines)
    for node in body.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield from _method(node, source)
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            yield from _attribute(node.target.id, ast.unparse(node.annotation), _comment(source, node.lineno))


def _method(node: ast.FunctionDef | ast.AsyncFunctionDef, source: list[str]) -> Iterator[Entry]:
    if node.name == "__init__":
        yield from _assigned(node, source)
    elif not node.name.startswith("_"):
        text = _plain(ast.get_docstring(node) or "")
        if any(_name(each) in ("property", "cached_property") for each in node.decorator_list):
            yield Entry(node.name, _annotated(node.name, ast.unparse(node.returns) if node.returns else ""), text)
        else:
            yield Entry(node.name, _signature(node), text)


def _assigned(node: ast.FunctionDef | ast.AsyncFunctionDef, source: list[str]) -> Iterator[Entry]:
    """Return the public attributes that a constructor sets on the instance."""
    for statement in ast.walk(node):
        targets = statement.targets if isinstance(statement, ast.Assign) else []
        annotation = ""
        if isinstance(statement, ast.AnnAssign):
            targets, annotation = [statement.target], ast.unparse(statement.annotation)
        for target in targets:
            if isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name) and target.value.id == "self":
                yield from _attribute(target.attr, annotation, _comment(source, target.lineno))


def _attribute(name: str, annotation: str, text: str) -> Iterator[Entry]:
    if not name.startswith("_"):
        yield Entry(name, _annotated(name, annotation), text)


def _annotated(name: str, annotation: str) -> str:
    plain = re.sub(r"^ClassVar\[(.*)\]$", r"\1", annotation)
    return f"{name}: {plain}" if plain else name


def _signature(node: ast.FunctionDef | ast.AsyncFunctionDef) -> str:
    arguments = ast.unparse(node.args).removeprefix("self").removeprefix("cls").removeprefix(", ")
    returns = f" -> {ast.unparse(node.returns)}" if node.returns else ""
    prefix = "async " if isinstance(node, ast.AsyncFunctionDef) else ""
    return f"{prefix}{node.name}({arguments}){returns}"


def _comment(source: list[str], line: int) -> str:
    """Return the `#:` comment above a line."""
    found: list[str] = []
    at = line - 2
    while at >= 0 and source[at].strip().startswith("#:"):
        found.insert(0, source[at].strip().removeprefix("#:").strip())
        at -= 1
    return " ".join(found)


def _other_names() -> str:
    rows = [_row(name, getattr(api, name)) for name in api.__all__ if name not in CLASSES]
    return "\n".join(["## Other names", "", "| Name | Meaning |", "|---|---|", *rows, ""])


def _row(name: str, value: Any) -> str:
    if inspect.isroutine(value):
        name += str(inspect.signature(value)).replace("''", '""').replace("'", "")
    return f"| `{_cell(name)}` | {_cell(_summary(value))} |"


def _summary(value: Any) -> str:
    """Return the first paragraph of a docstring; of a value or a type alias, what it stands for."""
    if inspect.isclass(value) or inspect.isroutine(value) or inspect.ismodule(value):
        return _plain(inspect.cleandoc(value.__doc__ or "").split("\n\n")[0]) if value is not Any else "any value"
    if isinstance(value, int | str) or type(value).__module__ in ("typing", "types"):
        return f"`{value!r}`"
    return type(value).__name__


def _plain(text: str) -> str:
    """Return a docstring with its lines joined; paragraphs stay apart."""
    return "\n\n".join(" ".join(part.split()) for part in text.split("\n\n"))


def _cell(text: str) -> str:
    return text.replace("\n\n", " ").replace("|", "\\|")


def _name(decorator: ast.expr) -> str:
    return decorator.id if isinstance(decorator, ast.Name) else getattr(decorator, "attr", "")


def _dedented(lines: list[str]) -> list[str]:
    indent = len(lines[0]) - len(lines[0].lstrip())
    return [line[indent:] if line.strip() else "\n" for line in lines]


if __name__ == "__main__":
    if "--write" in sys.argv[1:]:
        PAGE.write_text(page(), encoding="utf-8")
    else:
        sys.stdout.write(page())
