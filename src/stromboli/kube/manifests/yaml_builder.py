"""Plain values from libyaml's events.

They are built here instead of by the library's constructor, for four reasons. Aliases are limited in what they add.
Duplicate keys are errors. Nesting is limited instead of exhausting the stack. Plain scalars have the meaning that
Kubernetes gives them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

import yaml

from stromboli.kube.manifests.anchors import MAX_ADDED_VALUES, AnchorError, Anchors
from stromboli.kube.manifests.errors import printable
from stromboli.kube.manifests.plain_scalars import meaning_of
from stromboli.kube.manifests.yaml_errors import TextMark, YamlError, position_of

DEPTH_LIMIT = 100
TOO_DEEP = ("nested too deeply", f"stay below {DEPTH_LIMIT} levels")
_TEXT_TAGS = (None, "!", "tag:yaml.org,2002:str")
#: Stands for the key `<<` while its value is built.
_MERGE = "<<"


class _OpenCollection:
    """A list or map that is not yet closed; a map also stores the key that awaits its value."""

    __slots__ = ("anchor", "is_merge", "key", "mapping", "marks", "merged", "sequence")

    def __init__(self, mapping: dict[str, object] | None, sequence: list[object], anchor: str | None = None) -> None:
        self.mapping = mapping
        self.sequence = sequence
        self.anchor = anchor
        self.key: str | None = None
        self.is_merge = False
        #: The values of merge keys, with their events.
        self.merged: list[tuple[yaml.NodeEvent, object]] | None = None
        #: The positions of the maps in a list of objects.
        self.marks: list[TextMark | None] | None = None


class YamlBuilder:
    """Builds values from the parser's events, with an explicit stack instead of recursion."""

    def __init__(self, source: str, max_added_values: int = MAX_ADDED_VALUES) -> None:
        self.source = source
        self._max_added_values = max_added_values
        self.documents: list[object] = []
        #: The position of each document.
        self.starts: list[int] = []
        self._items: dict[int, tuple[list[TextMark | None], list[object]]] = {}
        self._open = [_OpenCollection(None, self.documents)]
        self._anchors = Anchors(self._max_added_values)
        self.handlers: dict[type[yaml.Event], Callable[[Any], None]] = {
            yaml.ScalarEvent: self._scalar,
            yaml.MappingStartEvent: self._begin_map,
            yaml.SequenceStartEvent: self._begin_list,
            yaml.MappingEndEvent: self._end_map,
            yaml.SequenceEndEvent: self._end_list,
            yaml.AliasEvent: self._alias,
            yaml.DocumentStartEvent: self._begin_document,
        }

    @property
    def items(self) -> dict[int, list[TextMark | None]]:
        """The position of each item by document, if all items are maps."""
        return {number: marks for number, (marks, items) in self._items.items() if len(marks) == len(items)}

    def _begin_document(self, event: yaml.DocumentStartEvent) -> None:
        self._anchors = Anchors(self._max_added_values)
        self.starts.append(event.start_mark.index if event.start_mark else 0)

    def _begin_map(self, event: yaml.MappingStartEvent) -> None:
        mapping: dict[str, object] = {}
        if (marks := self._open[-1].marks) is not None:
            marks.append(event.start_mark)
        self._begin(event, mapping, _OpenCollection(mapping, [], event.anchor))

    def _begin_list(self, event: yaml.SequenceStartEvent) -> None:
        sequence: list[object] = []
        opened = _OpenCollection(None, sequence, event.anchor)
        if len(self._open) == 2 and self._open[-1].key == "items":
            opened.marks = []
            self._items[len(self.starts) - 1] = opened.marks, sequence
        self._begin(event, sequence, opened)

    def _begin(self, event: yaml.CollectionStartEvent, value: object, opened: _OpenCollection) -> None:
        if event.tag is not None:
            self._refuse(event, "tags are not allowed on lists and maps", "remove the tag")
        if len(self._open) > DEPTH_LIMIT:
            self._refuse(event, *TOO_DEEP)
        if event.anchor is not None:
            self._anchors.begin(event.anchor)
        self._put(event, value)
        self._open.append(opened)

    def _end_list(self, event: yaml.SequenceEndEvent) -> None:
        closed = self._open.pop()
        if closed.anchor is not None:
            self._anchors.define(closed.anchor, closed.sequence)

    def _end_map(self, event: yaml.MappingEndEvent) -> None:
        closed = self._open.pop()
        if closed.merged is not None and closed.mapping is not None:
            self._merge(closed.mapping, closed.merged)
        if closed.anchor is not None:
            self._anchors.define(closed.anchor, closed.mapping)

    def _scalar(self, event: yaml.ScalarEvent) -> None:
        text = event.value
        tag = event.tag
        if tag not in _TEXT_TAGS:
            self._refuse(event, "tags other than !!str are not allowed", "remove the tag")
        value = meaning_of(text) if tag is None and event.implicit[0] else text
        if event.anchor is not None:
            self._anchors.define(event.anchor, value, text)
        top = self._open[-1]
        if top.mapping is None:
            top.sequence.append(value)
        elif top.key is None:
            top.key = self._key(event, text, top)
        elif top.is_merge:
            self._put(event, value)
        else:
            top.mapping[top.key] = value
            top.key = None

    def _alias(self, event: yaml.AliasEvent) -> None:
        try:
            found = self._anchors.resolve(str(event.anchor))
        except AnchorError as error:
            self._refuse(event, *error.args)
        if len(self._open) + found.depth > DEPTH_LIMIT + 1:
            self._refuse(event, *TOO_DEEP)
        self._put(event, found.value, found.text)

    def _put(self, event: yaml.NodeEvent, value: object, text: str | None = None) -> None:
        top = self._open[-1]
        if top.mapping is None:
            top.sequence.append(value)
        elif top.key is None:
            top.key = self._key(event, text, top)
        else:
            if top.is_merge:
                top.merged = [*(top.merged or ()), (event, value)]
                top.is_merge = False
            else:
                top.mapping[top.key] = value
            top.key = None

    def _key(self, event: yaml.NodeEvent, key: str | None, top: _OpenCollection) -> str:
        """Keys are text, as in JSON: `1: x` and `on: x` keep their spelling."""
        if key is None:
            self._refuse(event, "a list or map cannot be a key", "write text before the colon")
        if key == _MERGE and isinstance(event, yaml.ScalarEvent) and event.implicit[0]:
            top.is_merge = True
        elif top.mapping is not None and key in top.mapping:
            remedy = "remove one, or write --- between two objects" if len(self._open) == 2 else "remove one"
            self._refuse(event, f"duplicate key {printable(key)}", remedy)
        return key

    def _merge(self, mapping: dict[str, object], merged: list[tuple[yaml.NodeEvent, object]]) -> None:
        """Add the keys of other maps. The map's own keys win, then those of earlier maps in a list."""
        own = dict(mapping)
        mapping.clear()
        for event, value in merged:
            for part in reversed(value) if isinstance(value, list) else (value,):
                if not isinstance(part, dict):
                    self._refuse(event, "a merge key (<<) needs a map or a list of maps", "write <<: *anchor")
                mapping.update(part)
        mapping.update(own)

    def _refuse(self, event: yaml.NodeEvent, message: str, remedy: str) -> NoReturn:
        raise YamlError(self.source, position_of(event.start_mark), message, remedy)
