"""Binary operators of CEL: equality, order, membership and arithmetic."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from stromboli.cel.errors import EvaluationError
from stromboli.cel.functions import is_number, signed, unsigned
from stromboli.cel.values import Unsigned, type_name


def equal(left: Any, right: Any) -> bool:
    """Compare numbers across their types; values of other, different types are unequal without an error."""
    if is_number(left) and is_number(right):
        return bool(left == right)
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(equal, left, right))
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(equal(left[key], right[key]) for key in left)
    return type(left) is type(right) and bool(left == right)


def _comparison(sign: str, holds: Callable[[Any, Any], bool]) -> Callable[[Any, Any], bool]:
    def compare(left: Any, right: Any) -> bool:
        comparable = type(left) is type(right) and isinstance(left, str | bool)
        if not comparable and not (is_number(left) and is_number(right)):
            raise _no_overload(left, sign, right)
        return holds(left, right)

    return compare


def _contains(member: Any, container: Any) -> bool:
    if isinstance(container, list):
        return any(equal(member, each) for each in container)
    if isinstance(container, dict):
        return isinstance(member, str | int) and member in container
    raise EvaluationError(f"'in' needs a list or a map, not {type_name(container)}")


def _add(left: Any, right: Any) -> object:
    if type(left) is type(right) and isinstance(left, str | list):
        return left + right
    return _arithmetic("+", left, right)


def _arithmetic(sign: str, left: Any, right: Any) -> object:
    kind = type(left)
    if kind is not type(right) or kind not in (int, Unsigned, float):
        raise _no_overload(left, sign, right)
    if kind is float:
        return _float_arithmetic(sign, left, right)
    if sign in "/%":
        result = _division(sign, int(left), int(right))
    else:
        result = {"+": int(left) + right, "-": int(left) - right, "*": int(left) * right}[sign]
    return unsigned(result) if kind is Unsigned else signed(result)


def _division(sign: str, left: int, right: int) -> int:
    """Divide towards zero; the remainder has the sign of the dividend."""
    if right == 0:
        raise EvaluationError("division by zero")
    quotient = abs(left) // abs(right) * (1 if (left < 0) == (right < 0) else -1)
    return quotient if sign == "/" else left - quotient * right


def _float_arithmetic(sign: str, left: float, right: float) -> float:
    if sign == "/":
        return left / right if right else math.nan if not left or math.isnan(left) else math.copysign(math.inf, left)
    if sign == "%":
        raise _no_overload(left, sign, right)
    return {"+": left + right, "-": left - right, "*": left * right}[sign]


def _no_overload(left: object, sign: str, right: object) -> EvaluationError:
    return EvaluationError(f"no such overload: {type_name(left)} {sign} {type_name(right)}")


OPERATORS: dict[str, Callable[[Any, Any], object]] = {
    "==": equal,
    "!=": lambda left, right: not equal(left, right),
    "<": _comparison("<", lambda left, right: bool(left < right)),
    "<=": _comparison("<=", lambda left, right: bool(left <= right)),
    ">": _comparison(">", lambda left, right: bool(left > right)),
    ">=": _comparison(">=", lambda left, right: bool(left >= right)),
    "in": _contains,
    "+": _add,
    "-": lambda left, right: _arithmetic("-", left, right),
    "*": lambda left, right: _arithmetic("*", left, right),
    "/": lambda left, right: _arithmetic("/", left, right),
    "%": lambda left, right: _arithmetic("%", left, right),
}
