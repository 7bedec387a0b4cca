"""Lines that are searched afterwards equal those of the parser."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from stromboli.kube.manifests.yaml import load_with_lines

TEXT = """\
# a comment
---
kind: List
items:
- a: é
  spec: &s
    containers:
    - name: x
      env: [1, {q: 2,
        r: 3}]
  tail: 1

- a: 2
  spec: *s
# another
---

# and another
kind: Pod
metadata:
    name: |
      text
    labels: {a: b,
      c: d}
"""
PLACES = [
    (0, (), "kind: List"),
    (0, ("items",), "items:"),
    (0, ("items", 0), "- a: é"),
    (0, ("items", 0, "spec", "containers", 0, "env", 1, "r"), "r: 3}]"),
    (0, ("items", 0, "tail"), "tail: 1"),
    (0, ("items", 1), "- a: 2"),
    (0, ("items", 1, "spec", "containers"), "spec: *s"),
    (1, (), "kind: Pod"),
    (1, ("metadata", "name"), "name: |"),
    (1, ("metadata", "labels", "c"), "c: d}"),
    (1, ("metadata", "absent"), "metadata:"),
]


@pytest.mark.parametrize(("document", "path", "line"), PLACES, ids=lambda value: str(value))
def test_line_of_a_path(document: int, path: tuple[str | int, ...], line: str) -> None:
    _, text = load_with_lines(TEXT, "a.yaml")
    assert TEXT.splitlines()[text.line(document, path) - 1].strip() == line


def places(node: yaml.Node, line: int, path: tuple[str | int, ...] = ()) -> Iterator[tuple[tuple[str | int, ...], int]]:
    """Yield every path of a parsed document with its line."""
    yield path, line
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            yield from places(value, key.start_mark.line + 1, (*path, key.value))
    elif isinstance(node, yaml.SequenceNode):
        for index, item in enumerate(node.value):
            yield from places(item, item.start_mark.line + 1, (*path, index))


KEYS = st.sampled_from(["items", "spec", "a", "b b", "ü"])
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=15,
)
DOCUMENTS = st.dictionaries(KEYS, VALUES, min_size=1, max_size=4)


@given(st.lists(DOCUMENTS, min_size=1, max_size=3), st.sampled_from([None, True, False]))
def test_lines_equal_those_of_pyyaml(documents: list[Any], flow: bool | None) -> None:
    text = yaml.safe_dump_all(documents, allow_unicode=True, default_flow_style=flow)
    _, lines = load_with_lines(text, "a.yaml")
    for number, root in enumerate(yaml.compose_all(text, Loader=yaml.SafeLoader)):
        for path, line in places(root, root.start_mark.line + 1):
            assert lines.line(number, path) == line, (text, path)


@given(DOCUMENTS)
def test_lines_of_json_equal_those_of_pyyaml(document: Any) -> None:
    text = json.dumps(document, indent=2)
    _, lines = load_with_lines(text, "a.json")
    root = yaml.compose(text, Loader=yaml.SafeLoader)
    for path, line in places(root, 1):
        assert lines.line(0, path) == line, (text, path)
