"""Functions and methods of expressions: those of CEL, and Kubernetes' extensions.

A method is selected by its name and the type of its target. Calls with wrong types are evaluation errors.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import pairwise
from typing import Any

from stromboli.cel.errors import EvaluationError
from stromboli.cel.values import Optional, Quantity, Unsigned, Version, type_name
from stromboli.core.model.values.patterns import compiled

Function = Callable[..., object]

_INT_LIMIT = 2**63


def signed(amount: int) -> int:
    if not -_INT_LIMIT <= amount < _INT_LIMIT:
        raise EvaluationError("integer overflow: the number does not fit into 64 bits")
    return amount


def unsigned(amount: int) -> Unsigned:
    if not 0 <= amount < 2 * _INT_LIMIT:
        raise EvaluationError("unsigned integer overflow: the number is negative or does not fit into 64 bits")
    return Unsigned(amount)


def is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


# -- conversions ----------------------------------------------------------------------------------------------------


def _to_int(value: Any) -> int:
    try:
        if isinstance(value, str) or is_number(value):
            return signed(int(value))
    except (ValueError, OverflowError):
        pass
    raise EvaluationError(f"int() cannot convert {type_name(value)} {value!r}")


def _to_float(value: Any) -> float:
    try:
        if isinstance(value, str) or is_number(value):
            return float(value)
    except (ValueError, OverflowError):
        pass
    raise EvaluationError(f"double() cannot convert {type_name(value)} {value!r}")


def _to_text(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if is_number(value):
        return f"{value:g}" if isinstance(value, float) else str(int(value))
    raise EvaluationError(f"string() cannot convert {type_name(value)}")


def _to_bool(value: object) -> bool:
    values = {"true": True, "True": True, "TRUE": True, "t": True, "1": True,
             "false": False, "False": False, "FALSE": False, "f": False, "0": False}  # fmt: skip
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and value in values:
        return values[value]
    raise EvaluationError(f"bool() cannot convert {type_name(value)} {value!r}")


def _size(value: object) -> int:
    if isinstance(value, str | list | dict):
        return len(value)
    raise EvaluationError(f"no such overload: size({type_name(value)})")


# -- text -----------------------------------------------------------------------------------------------------------


def _matches(text: str, pattern: str) -> bool:
    try:
        return compiled(pattern).search(text) is not None
    except ValueError as error:
        raise EvaluationError(f"invalid pattern {pattern!r}: {error}") from None


def _substring(text: str, start: int, end: int | None = None) -> str:
    end = len(text) if end is None else end
    if not 0 <= start <= end <= len(text):
        raise EvaluationError(f"index out of range: {start} to {end} in {text!r}")
    return text[start:end]


def _character(text: str, place: int) -> str:
    if not 0 <= place <= len(text):
        raise EvaluationError(f"index out of range: {place} in {text!r}")
    return text[place : place + 1]


def _split(text: str, between: str, limit: int = -1) -> list[str]:
    if limit in (0, 1):
        return [text] if limit else []
    if not between:
        letters = list(text)
        return letters if limit < 0 or limit >= len(letters) else [*letters[: limit - 1], "".join(letters[limit - 1 :])]
    return text.split(between, limit - 1 if limit > 0 else -1)


def _joined(parts: Sequence[object], between: str = "") -> str:
    return between.join(_text(part) for part in parts)


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise EvaluationError(f"expected string, got {type_name(value)}")
    return value


_ASCII_LOWER = {code: code + 32 for code in range(65, 91)}
_ASCII_UPPER = {code: code - 32 for code in range(97, 123)}


# -- lists ----------------------------------------------------------------------------------------------------------


def _only_numbers(values: Sequence[Any]) -> Sequence[Any]:
    if not all(is_number(value) for value in values):
        raise EvaluationError("all elements of the list must be numbers")
    return values


def _extreme(choose: Callable[[Any], object]) -> Function:
    def chosen(values: Sequence[Any]) -> object:
        kinds = {type_name(value) for value in values}
        if len(kinds) != 1 or not kinds <= {"int", "uint", "double", "string", "quantity", "semver"}:
            raise EvaluationError("the list must not be empty, and its elements must have one ordered type")
        return choose(values)

    return chosen


def _is_sorted(values: Sequence[Any]) -> bool:
    try:
        return all(before <= after for before, after in pairwise(values))
    except TypeError:
        raise EvaluationError("the elements of the list are not comparable") from None


# -- quantities and versions ----------------------------------------------------------------------------------------


def _quantity(text: object) -> Quantity:
    try:
        return Quantity.parse(_text(text))
    except ValueError as error:
        raise EvaluationError(str(error)) from None


def _version(text: object, lenient: bool = False) -> Version:
    try:
        return Version.parse(_text(text), lenient=lenient)
    except ValueError as error:
        raise EvaluationError(str(error)) from None


def _is_readable(read: Callable[..., object]) -> Function:
    def readable(text: object, *further: object) -> bool:
        try:
            read(_text(text), *further)
        except EvaluationError:
            return False
        return True

    return readable


def _compared(left: Any, other: Any) -> int:
    if type(left) is not type(other):
        raise EvaluationError(f"{type_name(left)} and {type_name(other)} are not comparable")
    return (left > other) - (left < other)


def _fits(value: Quantity) -> bool:
    return value.amount.denominator == 1 and -_INT_LIMIT <= value.amount < _INT_LIMIT


def _as_integer(value: Quantity) -> int:
    if not _fits(value):
        raise EvaluationError("the quantity is not a 64-bit integer")
    return int(value.amount)


def _added(sign: int) -> Function:
    def added(left: Quantity, other: object) -> Quantity:
        if isinstance(other, Quantity):
            return Quantity(left.amount + sign * other.amount)
        if isinstance(other, int) and not isinstance(other, bool):
            return Quantity(left.amount + sign * Fraction(other))
        raise EvaluationError(f"expected quantity or int, got {type_name(other)}")

    return added


# -- optional values ------------------------------------------------------------------------------------------------


def _unwrapped(value: Optional) -> object:
    if not value.is_present:
        raise EvaluationError("the optional value is absent")
    return value.value


FUNCTIONS: dict[str, Function] = {
    "size": _size,
    "int": _to_int,
    "uint": lambda value: unsigned(value if isinstance(value, Unsigned) else _to_int(value)),
    "double": _to_float,
    "string": _to_text,
    "bool": _to_bool,
    "type": type_name,
    "dyn": lambda value: value,
    "matches": lambda text, pattern: _matches(_text(text), _text(pattern)),
    "quantity": _quantity,
    "isQuantity": _is_readable(_quantity),
    "semver": _version,
    "isSemver": _is_readable(_version),
}

_ORDERED: dict[str, Function] = {
    "compareTo": _compared,
    "isGreaterThan": lambda left, other: _compared(left, other) > 0,
    "isLessThan": lambda left, other: _compared(left, other) < 0,
}

METHODS: dict[type, dict[str, Function]] = {
    str: {
        "size": len,
        "contains": lambda text, part: _text(part) in text,
        "startsWith": lambda text, part: text.startswith(_text(part)),
        "endsWith": lambda text, part: text.endswith(_text(part)),
        "matches": lambda text, pattern: _matches(text, _text(pattern)),
        "lowerAscii": lambda text: text.translate(_ASCII_LOWER),
        "upperAscii": lambda text: text.translate(_ASCII_UPPER),
        "trim": str.strip,
        "split": _split,
        "replace": lambda text, old, new, limit=-1: text.replace(_text(old), _text(new), limit),
        "substring": _substring,
        "charAt": _character,
        "indexOf": lambda text, part, start=0: text.find(_text(part), start),
        "lastIndexOf": lambda text, part: text.rfind(_text(part)),
    },
    list: {
        "size": len,
        "join": _joined,
        "isSorted": _is_sorted,
        "sum": lambda values: sum(_only_numbers(values)),
        "min": _extreme(min),
        "max": _extreme(max),
        "indexOf": lambda values, one: values.index(one) if one in values else -1,
        "lastIndexOf": lambda values, one: len(values) - 1 - values[::-1].index(one) if one in values else -1,
    },
    dict: {"size": len},
    Quantity: {
        **_ORDERED,
        "isInteger": _fits,
        "asInteger": _as_integer,
        "asApproximateFloat": lambda value: float(value.amount),
        "sign": lambda value: (value.amount > 0) - (value.amount < 0),
        "add": _added(1),
        "sub": _added(-1),
    },
    Version: {
        **_ORDERED,
        "major": lambda version: version.major,
        "minor": lambda version: version.minor,
        "patch": lambda version: version.patch,
    },
    Optional: {
        "hasValue": lambda value: value.is_present,
        "value": _unwrapped,
        "orValue": lambda value, otherwise: value.value if value.is_present else otherwise,
        "or": lambda value, otherwise: value if value.is_present else otherwise,
    },
}

METHOD_NAMES = frozenset(name for methods in METHODS.values() for name in methods)


def call(function: Function, name: str, arguments: Sequence[object]) -> object:
    """Call a function; wrong types and wrong numbers of arguments are evaluation errors."""
    try:
        return function(*arguments)
    except (TypeError, AttributeError):
        types = ", ".join(map(type_name, arguments))
        raise EvaluationError(f"no such overload: {name}({types})") from None


def method_of(target: object, name: str) -> Function | None:
    kind = next((kind for kind in METHODS if isinstance(target, kind)), None)
    return METHODS[kind].get(name) if kind is not None else None
