"""Line numbers of values, found only when a message needs them.

Reading keeps no positions. A message that needs a line searches the text again, from one level to the next: the parts
of a document, then the parts of one of its items, so that a problem in a long list does not cost a tree of the list.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from json import JSONDecodeError, JSONDecoder
from types import MappingProxyType
from typing import TypeAlias

import yaml

from stromboli.kube.manifests.yaml_errors import TextMark

Step: TypeAlias = str | int
Path: TypeAlias = tuple[Step, ...]

_SPACE = " \t\n\r"
_DECODER = JSONDecoder()


@dataclass(frozen=True, slots=True)
class Span:
    """A value in a text: the line for messages, which is that of its key, and where it begins and ends."""

    line: int
    start: int
    end: int
    #: The line and column of the start.
    first_line: int
    column: int = 0


class ManifestText:
    """The text of a source: JSON, or YAML with the position of each document and of the objects in its `items`."""

    def __init__(
        self,
        source: str,
        text: str,
        starts: Sequence[int] | None = None,
        items: Mapping[int, Sequence[TextMark | None]] = MappingProxyType({}),
    ) -> None:
        self.source = source
        self._text = text
        self._is_json = starts is None
        self._starts = [*(starts or (0,)), len(text)]
        self._items = items
        self._parts: dict[tuple[int, Path], dict[Step, Span]] = {}

    @property
    def caption(self) -> str:
        """The comment in the first line."""
        first = self._text.partition("\n")[0]
        return first.removeprefix("#").strip() if first.startswith("#") else ""

    def line(self, document: int, path: Path = ()) -> int:
        """Return the line of a value or, where the path ends in an alias or is absent, of the last known part."""
        span, known = self._begin(document, path)
        for depth in range(known, len(path)):
            parts = self._below(document, path[:depth], span)
            found = parts.get(path[depth])
            if found is None:
                return _dotted(parts, path[depth:], span).line
            span = found
        return span.line

    def _begin(self, document: int, path: Path) -> tuple[Span, int]:
        """Return the longest known part of the path, and its length."""
        marks = self._items.get(document)
        if marks and len(path) > 1 and path[0] == "items" and isinstance(path[1], int) and (mark := marks[path[1]]):
            following = marks[path[1] + 1] if path[1] + 1 < len(marks) else None
            return self._item(mark, following.index if following else self._starts[document + 1]), 2
        start, end = self._starts[document], self._starts[document + 1]
        line = self._text.count("\n", 0, start) + 1
        root = Span(line, start, end, line)
        return (root if self._is_json else _without_comments(self._text, root)), 0

    def _item(self, mark: TextMark, end: int) -> Span:
        """Return an item, in block style without the line of the next one."""
        before = self._text.rfind("\n", mark.index, end)
        is_block = before >= 0 and self._text[mark.index] != "{"
        return Span(mark.line + 1, mark.index, before if is_block else end, mark.line + 1, mark.column)

    def _below(self, document: int, path: Path, span: Span) -> dict[Step, Span]:
        if (document, path) not in self._parts:
            scan = _json_parts if self._is_json else _yaml_parts
            self._parts[document, path] = dict(scan(self._text, span))
        return self._parts[document, path]


def _dotted(parts: Mapping[Step, Span], path: Path, parent: Span) -> Span:
    """Return the part whose key has dots, which a written path separates: `requests.nvidia.com/gpu`."""
    names = (".".join(map(str, path[:length])) for length in range(len(path), 1, -1))
    return next((parts[name] for name in names if name in parts), parent)


def _json_parts(text: str, span: Span) -> Iterator[tuple[Step, Span]]:
    """Yield the members of a JSON object or array; the text is known to be valid."""
    index, line, counted = _skip(text, span.start), span.first_line, span.start
    is_object, number = text[index : index + 1] == "{", 0
    if text[index : index + 1] not in ("{", "["):
        return
    index = _skip(text, index + 1)
    while index < len(text) and text[index] not in "}]":
        line, counted = line + text.count("\n", counted, index), index
        step: Step = number
        if is_object:
            step, index = _DECODER.raw_decode(text, index)
            index = _skip(text, _skip(text, index) + 1)
        end = _end_of(text, index)
        yield step, Span(line, index, end, line + text.count("\n", counted, index))
        index, number = _skip(text, end), number + 1
        if text[index : index + 1] == ",":
            index = _skip(text, index + 1)


def _end_of(text: str, index: int) -> int:
    try:
        return _DECODER.raw_decode(text, index)[1]
    except (JSONDecodeError, RecursionError):
        return len(text)


def _skip(text: str, index: int) -> int:
    while index < len(text) and text[index] in _SPACE:
        index += 1
    return index


def _without_comments(text: str, span: Span) -> Span:
    """Return a document with the line of its first value."""
    nodes = (event for event in _events(text, span) if isinstance(event, yaml.NodeEvent))
    mark = getattr(next(nodes, None), "start_mark", None)
    return replace(span, line=span.first_line + mark.line) if mark else span


def _yaml_parts(text: str, span: Span) -> Iterator[tuple[Step, Span]]:
    """Yield the members of a YAML map or list. The line of a map's value is that of its key."""
    depth, number, is_map = 0, 0, False
    key: str | None = None
    key_line = 0
    begin = None
    for event in _events(text, span):
        mark = event.start_mark
        if isinstance(event, yaml.NodeEvent) and mark and depth == 1:
            if is_map and key is None:
                key, key_line = getattr(event, "value", ""), mark.line
                continue
            begin = mark
            key_line = key_line if is_map else mark.line
        is_map = is_map or (depth == 0 and isinstance(event, yaml.MappingStartEvent))
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        ends = isinstance(event, yaml.ScalarEvent | yaml.AliasEvent | yaml.CollectionEndEvent)
        if depth == 1 and ends and begin and event.end_mark:
            start, end = (span.start - span.column + each.index for each in (begin, event.end_mark))
            part = Span(span.first_line + key_line, start, end, span.first_line + begin.line, begin.column)
            yield (key if key is not None else number), part
            key, begin, number = None, None, number + 1


def _events(text: str, span: Span) -> Iterator[yaml.Event]:
    """Yield the events of a part; its first line is indented as in the whole text."""
    try:
        yield from yaml.parse(" " * span.column + text[span.start : span.end], Loader=yaml.CSafeLoader)
    except yaml.YAMLError:
        return
