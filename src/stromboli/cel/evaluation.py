"""Evaluation steps: closures that compute one node of an expression and charge its cost to the scope."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from stromboli.cel.errors import CostLimitExceeded, EvaluationError
from stromboli.cel.functions import call, method_of, signed
from stromboli.cel.operators import OPERATORS
from stromboli.cel.values import Optional, type_name

MAX_STEPS = 100_000
"""Cost limit of one evaluation."""

MACROS = frozenset(("all", "exists", "exists_one", "existsOne", "map", "filter"))


class Scope:
    """Values of names, and the remaining cost budget."""

    __slots__ = ("left", "values")

    def __init__(self, values: dict[str, object], left: int) -> None:
        self.values = values
        self.left = left

    def spend(self, steps: int = 1) -> None:
        self.left -= steps
        if self.left < 0:
            raise CostLimitExceeded(f"the expression takes more than {MAX_STEPS} steps")


class _InnerScope(Scope):
    """A scope with names of its own that spends the budget of the outer scope."""

    __slots__ = ("_outer",)

    def __init__(self, values: dict[str, object], outer: Scope) -> None:
        super().__init__(values, 0)
        self._outer = outer

    def spend(self, steps: int = 1) -> None:
        self._outer.spend(steps)


Step = Callable[[Scope], Any]


def constant(value: object) -> Step:
    return lambda scope: value


def variable(name: str) -> Step:
    def value(scope: Scope) -> object:
        scope.spend()
        return scope.values[name]

    return value


def bound(name: str, binding: Step, body: Step) -> Step:
    """`cel.bind(name, binding, body)`."""
    return lambda scope: body(_inner(scope, name, binding(scope)))


def _inner(scope: Scope, name: str, value: object) -> Scope:
    return _InnerScope({**scope.values, name: value}, scope)


# -- members --------------------------------------------------------------------------------------------------------


def select(operand: Step, field: str, *, optional: bool) -> Step:
    return index(operand, constant(field), optional=optional)


def index(operand: Step, key: Step, *, optional: bool) -> Step:
    def value(scope: Scope) -> object:
        scope.spend()
        found = operand(scope)
        wanted = key(scope)
        return _optional_member(found, wanted) if optional or isinstance(found, Optional) else _member(found, wanted)

    return value


def has(operand: Step, field: str) -> Step:
    def value(scope: Scope) -> bool:
        scope.spend()
        found = operand(scope)
        if isinstance(found, Optional):
            found = found.value if found.is_present else {}
        if not isinstance(found, dict):
            raise _no_members(found)
        return field in found

    return value


def _member(value: object, key: object) -> object:
    if isinstance(value, dict):
        if not isinstance(key, str | int) or (key not in value and not hasattr(value, "__missing__")):
            raise EvaluationError(f"no such key: {key}")
        return value[key]
    if isinstance(value, list):
        if not isinstance(key, int) or isinstance(key, bool) or not 0 <= key < len(value):
            raise EvaluationError(f"no such index: {key}")
        return value[key]
    raise _no_members(value)


def _optional_member(value: object, key: object) -> Optional:
    if isinstance(value, Optional):
        return _optional_member(value.value, key) if value.is_present else value
    if isinstance(value, dict):
        return Optional(value[key], is_present=True) if key in value else Optional()
    if isinstance(value, list):
        in_range = isinstance(key, int) and 0 <= key < len(value)
        return Optional(value[key], is_present=True) if in_range else Optional()  # type: ignore[call-overload]
    raise _no_members(value)


def _no_members(value: object) -> EvaluationError:
    return EvaluationError(f"{type_name(value)} has no members")


# -- literals and operators -----------------------------------------------------------------------------------------


def list_of(items: Sequence[Step]) -> Step:
    def value(scope: Scope) -> list[object]:
        scope.spend(1 + len(items))
        return [item(scope) for item in items]

    return value


def map_of(entries: Sequence[tuple[Step, Step]]) -> Step:
    def value(scope: Scope) -> dict[object, object]:
        scope.spend(1 + len(entries))
        result: dict[object, object] = {}
        for key, entry in entries:
            name = key(scope)
            if not isinstance(name, str | int):
                raise EvaluationError(f"unsupported key type: {type_name(name)}")
            result[name] = entry(scope)
        return result

    return value


def unary(operand: Step, operator: str) -> Step:
    def value(scope: Scope) -> object:
        scope.spend()
        found = operand(scope)
        if operator == "!" and isinstance(found, bool):
            return not found
        if operator == "-" and isinstance(found, float):
            return -found
        if operator == "-" and type(found) is int:
            return signed(-found)
        raise EvaluationError(f"no such overload: {operator}{type_name(found)}")

    return value


def chain(first: Step, rest: Sequence[tuple[str, Step]]) -> Step:
    """Operators of equal precedence, from left to right."""

    def value(scope: Scope) -> object:
        result = first(scope)
        for sign, step in rest:
            scope.spend()
            result = OPERATORS[sign](result, step(scope))
            if isinstance(result, str | list):
                scope.spend(len(result) // 10)
        return result

    return value


def conditional(test: Step, then: Step, otherwise: Step) -> Step:
    def value(scope: Scope) -> object:
        scope.spend()
        return then(scope) if _boolean(test(scope)) else otherwise(scope)

    return value


def logical(steps: Sequence[Step], decisive: bool) -> Step:
    """Return `decisive` as soon as one step yields it, even if other steps fail."""

    def value(scope: Scope) -> bool:
        failure: EvaluationError | None = None
        for step in steps:
            scope.spend()
            try:
                found = _boolean(step(scope))
            except CostLimitExceeded:
                raise
            except EvaluationError as error:
                failure = failure or error
                continue
            if found is decisive:
                return decisive
        if failure is not None:
            raise failure
        return not decisive

    return value


def _boolean(value: object) -> bool:
    if not isinstance(value, bool):
        raise EvaluationError(f"expected bool, got {type_name(value)}")
    return value


# -- calls ----------------------------------------------------------------------------------------------------------


def function_call(function: Callable[..., object], name: str, arguments: Sequence[Step]) -> Step:
    def value(scope: Scope) -> object:
        scope.spend()
        values = [argument(scope) for argument in arguments]
        scope.spend(_weight(values))
        return call(function, name, values)

    return value


def method_call(target: Step, name: str, arguments: Sequence[Step]) -> Step:
    def value(scope: Scope) -> object:
        scope.spend()
        found = target(scope)
        values = [found, *(argument(scope) for argument in arguments)]
        method = method_of(found, name)
        if method is None:
            raise EvaluationError(f"{type_name(found)} has no method {name}")
        scope.spend(_weight(values))
        return call(method, name, values)

    return value


def _weight(values: Iterable[object]) -> int:
    """Cost of a call: the total size of its arguments, plus their product where they are matched with each other."""
    sizes = [len(value) for value in values if isinstance(value, str | list | dict)]
    return sum(sizes) // 10 + (math.prod(sizes) // 100 if len(sizes) > 1 else 0)


def macro_call(target: Step, macro: str, name: str, bodies: Sequence[Step]) -> Step:
    """`all`, `exists`, `exists_one`, `map` and `filter` over the members of a list or the keys of a map."""

    def value(scope: Scope) -> object:
        members = target(scope)
        if not isinstance(members, list | dict):
            raise EvaluationError(f"{macro}() needs a list or a map, not {type_name(members)}")
        inner = _inner(scope, name, None)

        def each(step: Step, member: object) -> object:
            scope.spend()
            inner.values[name] = member
            return step(inner)

        if macro in ("all", "exists"):
            return logical([_applied(each, bodies[0], member) for member in members], macro == "exists")(scope)
        if macro == "map":
            chosen = [member for member in members if len(bodies) == 1 or _boolean(each(bodies[0], member))]
            return [each(bodies[-1], member) for member in chosen]
        matching = [member for member in members if _boolean(each(bodies[0], member))]
        return matching if macro == "filter" else len(matching) == 1

    return value


def _applied(each: Callable[[Step, object], object], body: Step, member: object) -> Step:
    return lambda scope: each(body, member)
