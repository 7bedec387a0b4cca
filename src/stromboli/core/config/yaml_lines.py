"""YAML as a tree of values with their lines.

The tree is built from the parser's nodes, so that every message can name a line. Plain scalars have the meaning that
Kubernetes gives them: a date and `10:30` are text, `1e3` is a number. An alias is its anchor's value, with the lines of
the anchor. Tags, deep nesting, large texts and aliases that add too many values are rejected.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import yaml

from stromboli.core.config.configuration_errors import Findings
from stromboli.core.config.spelling import quoted

MAXIMUM_BYTES = 64 * 1024
MAXIMUM_DEPTH = 32
#: The limit of values with all aliases expanded; a text without aliases cannot have more.
MAXIMUM_VALUES = 64 * 1024

#: Longer runs of digits are text: no setting needs them.
_MAX_NUMBER_LENGTH = 64
_MAX_INTEGER = 2**63 - 1
_TRUE = ("true", "yes", "on")
_TEXT_TAGS = (None, "!", "tag:yaml.org,2002:str")
_NULL, _BOOL, _INT, _FLOAT = (f"tag:yaml.org,2002:{kind}" for kind in ("null", "bool", "int", "float"))

_PLAIN_WORDS = (
    (_NULL, r"(?:~|null|Null|NULL|)"),
    (_BOOL, r"(?:true|True|TRUE|yes|Yes|YES|on|On|ON|false|False|FALSE|no|No|NO|off|Off|OFF)"),
    (_INT, r"[-+]?(?:[0-9][0-9_]*|0b[01][01_]*|0o[0-7][0-7_]*|0x[0-9a-fA-F][0-9a-fA-F_]*)"),
    (_FLOAT, r"[-+]?(?:\.[0-9]+|[0-9]+\.[0-9]*|[0-9]+(?=[eE]))(?:[eE][-+]?[0-9]+)?"),
    (_FLOAT, r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)"),
)


class _Loader(yaml.CSafeLoader):
    """libyaml's parser with Kubernetes' plain scalars."""

    yaml_implicit_resolvers: dict[Any, Any] = {}  # noqa: RUF012 - the library's own name for its table


for _tag, _pattern in _PLAIN_WORDS:
    _Loader.add_implicit_resolver(_tag, re.compile(rf"(?:{_pattern})\Z"), None)


@dataclass(frozen=True, slots=True)
class YamlNode:
    """A value and its line: of the key, for a value in a mapping, otherwise of its start."""

    line: int
    value: bool | int | float | str | tuple[YamlNode, ...] | dict[str, YamlNode] | None

    @property
    def described(self) -> str:
        """The value, for a message about an unexpected one."""
        if isinstance(self.value, (dict, tuple)):
            return "a mapping" if isinstance(self.value, dict) else "a list"
        return "nothing" if self.value is None else quoted(self.value)

    def plain(self) -> Any:
        """The value without its lines."""
        if isinstance(self.value, dict):
            return {key: child.plain() for key, child in self.value.items()}
        return [child.plain() for child in self.value] if isinstance(self.value, tuple) else self.value

    def walk(self) -> Iterator[YamlNode]:
        """This node and all below it."""
        yield self
        if isinstance(self.value, (dict, tuple)):
            for child in self.value.values() if isinstance(self.value, dict) else self.value:
                yield from child.walk()


def read_tree(text: str, findings: Findings) -> YamlNode:
    """Return the tree of a text; ConfigurationError if there is none. A duplicate key is recorded, and reading
    continues.
    """
    if len(text.encode("utf-8", "surrogatepass")) > MAXIMUM_BYTES:
        findings.stop(1, f"the text is larger than {MAXIMUM_BYTES // 1024} KiB")
    root = _compose(text, findings)
    if root is None:
        findings.stop(1, "the configuration is empty")
    return _Converter(findings).convert(root, root.start_mark.line + 1, 1)


def _compose(text: str, findings: Findings) -> yaml.Node | None:
    try:
        _reject_unsupported_syntax(text, findings)
        root: yaml.Node | None = yaml.compose(text, Loader=_Loader)
        return root
    except yaml.composer.ComposerError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        if "document" in str(error.problem):
            findings.stop(line, "a second document begins here; a configuration is one document, so remove the others")
        findings.stop(line, f"{error.problem}; correct it, or quote the text")
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        message = " ".join(part for part in (error.problem, error.context) if part)
        findings.stop(line, f"not readable as YAML: {message}")
    except yaml.reader.ReaderError as error:
        line = text.encode()[: error.position].count(b"\n") + 1
        findings.stop(line, f"not readable as YAML: {error.reason}; remove the character")
    except UnicodeEncodeError as error:
        findings.stop(text.count("\n", 0, error.start) + 1, "not readable as text; save it as UTF-8")


def _reject_unsupported_syntax(text: str, findings: Findings) -> None:
    """Check the events before nodes are built: a deeply nested text could exhaust the stack."""
    depth = 0
    for event in yaml.parse(text, Loader=_Loader):
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        if isinstance(event, yaml.NodeEvent):
            line = event.start_mark.line + 1 if event.start_mark else 1
            if depth > MAXIMUM_DEPTH:
                findings.stop(line, f"nested deeper than {MAXIMUM_DEPTH} levels")
            if (tag := getattr(event, "tag", None)) not in _TEXT_TAGS:
                findings.add(line, f"tags ({quoted(tag)}) are not supported; remove it")
    findings.raise_if_any()


class _Converter:
    """Converts the parser's nodes, in which an alias is the node of its anchor."""

    def __init__(self, findings: Findings) -> None:
        self._findings = findings
        self._count = 0
        #: The line of the current key of the root: an anchor inside may have been defined anywhere before.
        self._root_line = 1

    def convert(self, node: yaml.Node, line: int, depth: int) -> YamlNode:
        self._count += 1
        if self._count > MAXIMUM_VALUES:
            self._findings.stop(
                self._root_line, f"aliases expand to more than {MAXIMUM_VALUES} values; write fewer of them"
            )
        if depth > MAXIMUM_DEPTH and not isinstance(node, yaml.ScalarNode):
            self._findings.stop(self._root_line, f"nested deeper than {MAXIMUM_DEPTH} levels with its aliases")
        if isinstance(node, yaml.MappingNode):
            return YamlNode(line, self._mapping(node, depth))
        if isinstance(node, yaml.SequenceNode):
            children = (self.convert(child, child.start_mark.line + 1, depth + 1) for child in node.value)
            return YamlNode(line, tuple(children))
        return YamlNode(line, _scalar(node.tag, node.value))

    def _mapping(self, node: yaml.MappingNode, depth: int) -> dict[str, YamlNode]:
        fields: dict[str, YamlNode] = {}
        merged: dict[str, YamlNode] = {}
        for key, value in node.value:
            line = key.start_mark.line + 1
            self._root_line = line if depth == 1 else self._root_line
            if not isinstance(key, yaml.ScalarNode):
                self._findings.add(line, "a list or mapping cannot be a key; write text before the colon")
            elif key.value == "<<" and not key.style:
                merged |= self._merged(self.convert(value, line, depth + 1))
            elif key.value in fields:
                first = fields[key.value].line
                self._findings.add(line, f"key {quoted(key.value)} is set twice (first in line {first}); remove one")
            else:
                fields[key.value] = self.convert(value, line, depth + 1)
        return merged | fields

    def _merged(self, node: YamlNode) -> dict[str, YamlNode]:
        """Return the fields of a merge key's mapping or mappings, of which the first wins."""
        fields: dict[str, YamlNode] = {}
        for part in reversed(node.value) if isinstance(node.value, tuple) else (node,):
            if isinstance(part.value, dict):
                fields |= part.value
            else:
                self._findings.add(
                    node.line, f"a merge key (<<) needs a mapping or a list of them, not {part.described}"
                )
        return fields


def _scalar(tag: str, text: str) -> bool | int | float | str | None:
    if tag == _NULL:
        return None
    if tag == _BOOL:
        return text.lower() in _TRUE
    if tag in (_INT, _FLOAT) and len(text) <= _MAX_NUMBER_LENGTH:
        return _whole_number(text) if tag == _INT else float(re.sub(r"\.(?=[a-zA-Z])", "", text))
    return text


def _whole_number(text: str) -> int | float | str:
    """Parse an integer. As in YAML 1.1, a leading zero means octal. A number beyond 64 bits becomes a float."""
    digits = text.replace("_", "")
    octal = re.fullmatch(r"[-+]?0[0-7]+", digits)
    try:
        number = int(digits, 8 if octal else 0)
    except ValueError:
        return text
    return number if -_MAX_INTEGER <= number <= _MAX_INTEGER else float(number)
