"""YAML and JSON text to plain values, and back.

Values are built here from libyaml's events instead of by the library's constructor, for four reasons. Aliases are
rejected: nine lines of them can expand to gigabytes. Duplicate keys are errors. Nesting is limited instead of
exhausting the stack. Plain scalars have the meaning that Kubernetes gives them: a timestamp is text, `1e3` is a number,
`10:30` is not.
"""

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import NoReturn, Protocol

import msgspec
import yaml

from stromboli.kube.manifests.errors import printable

SIZE_LIMIT = 64 * 1024 * 1024
DEPTH_LIMIT = 100
_MAX_NUMBER_LENGTH = 64
_TOO_DEEP = ("nested too deeply", f"stay below {DEPTH_LIMIT} levels")

_STARTS_LIKE_JSON = re.compile(r'\s*[\[{"]')
_TEXT_TAGS = (None, "!", "tag:yaml.org,2002:str")
_CONSTANTS: dict[str, bool | None] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys(("true", "True", "TRUE", "yes", "Yes", "YES", "on", "On", "ON"), True),
    **dict.fromkeys(("false", "False", "FALSE", "no", "No", "NO", "off", "Off", "OFF"), False),
}
_OCTAL = re.compile(r"[-+]?0[0-7][0-7_]*")
_INTEGER = re.compile(r"[-+]?(?:0|[1-9][0-9_]*|0b[01][01_]*|0o[0-7][0-7_]*|0x[0-9a-fA-F][0-9a-fA-F_]*)")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+\.[0-9]*|[0-9]+(?=[eE]))(?:[eE][-+]?[0-9]+)?")
_NOT_FINITE = re.compile(r"([-+]?)\.(?:(inf|Inf|INF)|nan|NaN|NAN)")


class YamlError(ValueError):
    """Invalid YAML or JSON; `line` and `column` count from one."""

    def __init__(self, source: str, position: tuple[int, int], message: str, remedy: str) -> None:
        super().__init__(source, position, message, remedy)
        self.source = source
        self.line, self.column = position
        self.message = message
        self.remedy = remedy

    def __str__(self) -> str:
        return f"{self.source}: line {self.line}, column {self.column}: {self.message}; {self.remedy}"


class NestingError(YamlError):
    """Well-formed so far, but nested too deeply."""


def load_documents(text: str, source: str) -> list[object]:
    """Parse all documents of a text, empty ones as None. `source` names the text in errors.

    JSON takes a fast path; there a duplicate key keeps its last value, as in other JSON parsers.
    """
    if len(text) > SIZE_LIMIT:
        raise YamlError(source, (1, 1), f"the text is longer than {SIZE_LIMIT} characters", "split it")
    if _STARTS_LIKE_JSON.match(text):
        try:
            return [msgspec.json.decode(text)]
        except RecursionError:
            raise NestingError(source, (1, 1), *_TOO_DEEP) from None
        except (msgspec.MsgspecError, UnicodeError):
            pass  # YAML's flow style looks alike; if the text is neither, YAML's error has line and column
    return _load_yaml(text, source)


def dump_documents(documents: Iterable[object]) -> str:
    """Write plain values as YAML, keys in their order, so that every parser reads the same values back."""
    return str(yaml.dump_all(documents, Dumper=_Dumper, sort_keys=False, allow_unicode=True, default_flow_style=False))


def _load_yaml(text: str, source: str) -> list[object]:
    builder = _Builder(source)
    try:
        for event in yaml.parse(text, Loader=yaml.CSafeLoader):
            builder.take(event)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        message = " ".join(part for part in (error.problem, error.context) if part)
        raise YamlError(source, _position(mark), message, "correct the text there") from None
    except yaml.reader.ReaderError as error:
        position = _after(text.encode()[: error.position].decode(errors="replace"))
        raise YamlError(source, position, str(error.reason), "remove the character") from None
    except UnicodeEncodeError as error:
        position = _after(text[: error.start])
        raise YamlError(source, position, "half of a character", "save the text as UTF-8") from None
    return builder.documents


class _Mark(Protocol):
    """A position in a text, counted from zero."""

    @property
    def line(self) -> int: ...
    @property
    def column(self) -> int: ...


class _OpenCollection:
    """A list or map that is not yet closed; a map also stores the key that awaits its value."""

    __slots__ = ("key", "mapping", "sequence")

    def __init__(self, mapping: dict[str, object] | None, sequence: list[object]) -> None:
        self.mapping = mapping
        self.sequence = sequence
        self.key: str | None = None


class _Builder:
    """Builds values from the parser's events, with an explicit stack instead of recursion."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.documents: list[object] = []
        self._open = [_OpenCollection(None, self.documents)]

    def take(self, event: yaml.Event) -> None:
        if isinstance(event, yaml.NodeEvent) and event.anchor is not None:
            self._refuse(event, "anchors and aliases (& and *) are not allowed", "write the value out")
        elif isinstance(event, yaml.ScalarEvent):
            self._put(event, self._scalar(event))
        elif isinstance(event, yaml.MappingStartEvent):
            mapping: dict[str, object] = {}
            self._begin(event, mapping, _OpenCollection(mapping, []))
        elif isinstance(event, yaml.SequenceStartEvent):
            sequence: list[object] = []
            self._begin(event, sequence, _OpenCollection(None, sequence))
        elif isinstance(event, yaml.CollectionEndEvent):
            self._open.pop()

    def _begin(self, event: yaml.CollectionStartEvent, value: object, opened: _OpenCollection) -> None:
        if event.tag is not None:
            self._refuse(event, "tags are not allowed on lists and maps", "remove the tag")
        if len(self._open) > DEPTH_LIMIT:
            raise NestingError(self.source, _position(event.start_mark), *_TOO_DEEP)
        self._put(event, value)
        self._open.append(opened)

    def _put(self, event: yaml.NodeEvent, value: object) -> None:
        top = self._open[-1]
        if top.mapping is None:
            top.sequence.append(value)
        elif top.key is None:
            top.key = self._key(event, top.mapping)
        else:
            top.mapping[top.key] = value
            top.key = None

    def _key(self, event: yaml.NodeEvent, mapping: dict[str, object]) -> str:
        """Keys are text, as in JSON: `1: x` and `on: x` keep their spelling."""
        if not isinstance(event, yaml.ScalarEvent):
            self._refuse(event, "a list or map cannot be a key", "write text before the colon")
        key = str(event.value)
        if key == "<<":
            self._refuse(event, "merge keys (<<) are not allowed", "write the keys out")
        if key in mapping:
            remedy = "remove one, or write --- between two objects" if len(self._open) == 2 else "remove one"
            self._refuse(event, f"duplicate key {printable(key)}", remedy)
        return key

    def _scalar(self, event: yaml.ScalarEvent) -> object:
        text = str(event.value)
        if event.tag not in _TEXT_TAGS:
            self._refuse(event, "tags other than !!str are not allowed", "remove the tag")
        is_plain = event.tag is None and event.implicit[0]
        return _meaning(text) if is_plain and len(text) <= _MAX_NUMBER_LENGTH else text

    def _refuse(self, event: yaml.NodeEvent, message: str, remedy: str) -> NoReturn:
        raise YamlError(self.source, _position(event.start_mark), message, remedy)


@lru_cache(maxsize=4096)
def _meaning(text: str) -> object:
    """Resolve a plain scalar."""
    if text in _CONSTANTS:
        return _CONSTANTS[text]
    if _OCTAL.fullmatch(text):
        return int(text.replace("_", ""), 8)
    if _INTEGER.fullmatch(text):
        return int(text.replace("_", ""), 0)
    if _FLOAT.fullmatch(text):
        return float(text)
    if match := _NOT_FINITE.fullmatch(text):
        return float(match[1] + (match[2] or "nan"))
    return text


def _position(mark: _Mark | None) -> tuple[int, int]:
    return (mark.line + 1, mark.column + 1) if mark else (1, 1)


def _after(text: str) -> tuple[int, int]:
    return text.count("\n") + 1, len(text) - text.rfind("\n")


class _Dumper(yaml.CSafeDumper):
    """Writes equal parts out instead of aliases, and quotes text that other parsers read as numbers."""

    def ignore_aliases(self, data: object) -> bool:
        return True

    def represent_text(self, text: str) -> yaml.ScalarNode:
        """Text of several lines uses the block style."""
        return self.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text else None)


_Dumper.add_representer(str, _Dumper.represent_text)
_Dumper.add_implicit_resolver("tag:yaml.org,2002:float", re.compile(rf"{_FLOAT.pattern}$"), list("-+.0123456789"))
_Dumper.add_implicit_resolver("tag:yaml.org,2002:int", re.compile(rf"{_INTEGER.pattern}$"), list("-+0123456789"))
_Dumper.add_implicit_resolver("tag:yaml.org,2002:bool", re.compile(r"[yYnN]$"), list("yYnN"))
