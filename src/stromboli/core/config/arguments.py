"""Arguments of plugins and actions: declared once with their types, checked when the configuration is read.

A plugin declares a class of arguments and reads the values as attributes:

    class BinpackArguments(Arguments):
        weight: int = Argument("binpack.weight", 1, "Weight of the score.", minimum=0)

    class Binpack(Plugin):
        arguments = BinpackArguments()

`self.arguments.weight` is then an int, with the default where the configuration sets nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, TypeVar, overload

Value = TypeVar("Value")
Parsed = TypeVar("Parsed")
Nested = TypeVar("Nested", bound="Arguments")

_BOOLEANS = {
    **dict.fromkeys(("1", "t", "T", "true", "True", "TRUE"), True),
    **dict.fromkeys(("0", "f", "F", "false", "False", "FALSE"), False),
}
_WHOLE = re.compile(r"[-+]?[0-9]{1,18}")
_NUMBER = re.compile(r"[-+]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]{1,3})?")


@dataclass(frozen=True, slots=True)
class ArgumentSpec:
    """One declared argument; see `Argument`."""

    key: str
    default: Any
    meaning: str
    minimum: float | None = None
    choices: tuple[str, ...] = ()
    parse: Callable[[str], object] | None = None
    entries: type[Arguments] | None = None
    items: type[Arguments] | None = None
    ignored: str = ""
    effective: tuple[str, ...] = ()

    @property
    def type(self) -> type:
        """The type of the value in the configuration file."""
        return type(self.default)

    @property
    def prefix(self) -> str | None:
        """The beginning of the accepted keys, for a key with a placeholder."""
        return self.key[: self.key.index("<")] if self.key.endswith(">") else None

    def accepts_key(self, key: str) -> bool:
        prefix = self.prefix
        return key == self.key if prefix is None else key.startswith(prefix) and len(key) > len(prefix)

    def fault(self, value: object) -> str | None:
        """Describe what is wrong with a value; None if it is valid."""
        if not _has_type(value, self.type):
            return f"expected {_TYPE_NAMES[self.type]}, got {value!r}"
        if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
            return f"expected a finite number, got {value!r}"
        if self.minimum is not None and isinstance(value, (int, float)) and value < self.minimum:
            return f"expected at least {self.minimum:g}, got {value!r}"
        if self.choices and value not in self.choices:
            return f"expected {' or '.join(self.choices)}, got {value!r}"
        if self.parse is not None and isinstance(value, str):
            try:
                self.parse(value)
            except ValueError as error:
                return str(error)
        return None

    def convert(self, value: Any) -> Any:
        """Return a valid value as plugins read it."""
        if self.parse is not None:
            return self.parse(value)
        if self.entries is not None:
            return self.entries(value)
        if self.items is not None:
            return [self.items(item) for item in value]
        return float(value) if self.type is float else value


@overload
def Argument(key: str, default: str, meaning: str = "", *, parse: Callable[[str], Parsed]) -> Parsed: ...
@overload
def Argument(key: str, default: Mapping[str, Any], meaning: str = "", *, entries: type[Nested]) -> Nested: ...
@overload
def Argument(key: str, default: list[Any], meaning: str = "", *, items: type[Nested]) -> list[Nested]: ...
@overload
def Argument(
    key: str,
    default: Value,
    meaning: str = "",
    *,
    minimum: float | None = None,
    choices: tuple[str, ...] = (),
    ignored: str = "",
    effective: tuple[str, ...] = (),
) -> Value: ...
def Argument(key: str, default: Any, meaning: str = "", **options: Any) -> Any:  # noqa: N802 - reads as a field's type
    """Declare an argument by its key in the configuration file. The type of the default is the type of the value.

    * `minimum` is the smallest accepted number, `choices` are the accepted texts.
    * `parse` converts a text and raises ValueError with a message for the user; the default is converted, too.
    * `entries` describes the keys of a mapping, `items` those of every mapping in a list.
    * `ignored` marks an argument that is accepted without effect, and gives the reason for the warning.
    * `effective` are the texts that have an effect; others are accepted with a warning.
    """
    return ArgumentSpec(key, default, meaning, **options)


@overload
def PrefixArgument(
    key: str, default: str, meaning: str = "", *, parse: Callable[[str], Parsed]
) -> Mapping[str, Parsed]: ...
@overload
def PrefixArgument(
    key: str, default: Mapping[str, Any], meaning: str = "", *, entries: type[Nested]
) -> Mapping[str, Nested]: ...
@overload
def PrefixArgument(
    key: str, default: Value, meaning: str = "", *, minimum: float | None = None, choices: tuple[str, ...] = ()
) -> Mapping[str, Value]: ...
def PrefixArgument(key: str, default: Any, meaning: str = "", **options: Any) -> Any:  # noqa: N802 - as Argument
    """Declare all arguments with a prefix, written `binpack.resources.<name>`; the value is a mapping by name."""
    return ArgumentSpec(key, default, meaning, **options)


class Arguments:
    """The arguments of one plugin or action, with defaults filled in. Subclasses declare them as attributes."""

    #: The declarations, in the order of the class body.
    declared: ClassVar[tuple[ArgumentSpec, ...]] = ()
    _attributes: ClassVar[Mapping[str, ArgumentSpec]] = {}

    def __init_subclass__(cls) -> None:
        classes = reversed(cls.__mro__)
        cls._attributes = {
            name: spec for base in classes for name, spec in vars(base).items() if isinstance(spec, ArgumentSpec)
        }
        cls.declared = tuple(cls._attributes.values())

    def __init__(self, configured: Mapping[str, Any] | None = None) -> None:
        #: The values that the configuration sets, by key, as written there.
        self.configured: Mapping[str, Any] = dict(configured or {})
        for name, spec in self._attributes.items():
            setattr(self, name, self._value_of(spec))

    def _value_of(self, spec: ArgumentSpec) -> Any:
        prefix = spec.prefix
        if prefix is None:
            return spec.convert(self.configured.get(spec.key, spec.default))
        exact = {each.key for each in self.declared}
        return {
            key.removeprefix(prefix): spec.convert(value)
            for key, value in self.configured.items()
            if spec.accepts_key(key) and key not in exact
        }

    @classmethod
    def declaration_of(cls, key: str) -> ArgumentSpec | None:
        """Return the declaration of a key: of exactly this key, or else of its prefix."""
        exact = (spec for spec in cls.declared if spec.key == key)
        return next(exact, None) or next((spec for spec in cls.declared if spec.accepts_key(key)), None)

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.configured == getattr(other, "configured", None)

    def __hash__(self) -> int:
        return hash((type(self), *self.configured))


_TYPE_NAMES: dict[type, str] = {
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    str: "a text",
    dict: "a mapping",
    list: "a list",
}


def _has_type(value: object, expected: type) -> bool:
    if expected is bool or isinstance(value, bool):
        return expected is bool and isinstance(value, bool)
    return isinstance(value, (int, float)) if expected is float else isinstance(value, expected)


def converted(value: object, expected: type) -> object:
    """Return a value in the expected type; the value itself if it has that type or no clear meaning in it.

    As in Volcano's plugins, numbers and booleans may be in quotes, and whole numbers may have a decimal point.
    """
    if isinstance(value, (bool, expected)):
        return value
    if expected is str and isinstance(value, int):
        return str(value)
    if expected is int and isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return int(value)
    return _parsed(value.strip(), expected, value) if isinstance(value, str) else value


def _parsed(text: str, expected: type, otherwise: str) -> object:
    if expected is bool:
        return _BOOLEANS.get(text, otherwise)
    if expected is int and _WHOLE.fullmatch(text):
        return int(text)
    return float(text) if expected is float and _NUMBER.fullmatch(text) else otherwise


class PredicateCacheArguments(Arguments):
    """The arguments of Volcano's actions that place tasks."""

    predicate_error_cache: bool = Argument(
        "predicateErrorCacheEnable",
        True,
        "Volcano's cache of predicate errors.",
        ignored="results are always cached per task class, which is exact",
    )
