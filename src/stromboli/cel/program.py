"""From a tree to something that can be asked again and again.

Every step of an evaluation is counted: an expression that would go on for ever has no answer instead. What is unknown
(a name, a function) is found when the expression is compiled, as far as that can be seen without values.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from stromboli.cel.errors import CompileError, EvaluationError, TooCostly
from stromboli.cel.functions import FUNCTIONS, METHOD_NAMES, called, method_of, unsigned, whole
from stromboli.cel.syntax import (
    CallExpression,
    Chain,
    Conditional,
    Expression,
    Index,
    ListOf,
    Literal,
    MapOf,
    Name,
    Select,
    Unary,
    parse,
)
from stromboli.cel.values import Optional, Unsigned, word_of

MAX_STEPS = 100_000
"""What one evaluation may cost."""


class Scope:
    """The values of names, and how many steps are left."""

    __slots__ = ("left", "values")

    def __init__(self, values: dict[str, object], left: int) -> None:
        self.values = values
        self.left = left

    def spend(self, steps: int = 1) -> None:
        self.left -= steps
        if self.left < 0:
            raise TooCostly(f"the expression takes more than {MAX_STEPS} steps")


Step = Callable[[Scope], Any]


class CompiledExpression:
    """A compiled expression over some names."""

    def __init__(self, text: str, names: Iterable[str]) -> None:
        self.text = text
        self._step = _Compiler(frozenset(names)).compiled(parse(text))

    def evaluate(self, values: Mapping[str, object], most: int = MAX_STEPS) -> object:
        """Raises EvaluationError where there is no answer."""
        return self._step(Scope(dict(values), most))

    def holds(self, values: Mapping[str, object]) -> bool:
        answer = self.evaluate(values)
        if not isinstance(answer, bool):
            raise EvaluationError(f"the answer must be true or false, not {word_of(answer)}")
        return answer


class _Compiler:
    def __init__(self, names: frozenset[str]) -> None:
        self._names = names

    def compiled(self, node: Expression) -> Step:
        if isinstance(node, Literal):
            return _constant(node.value)
        if isinstance(node, Name):
            return self._name(node)
        if isinstance(node, Select):
            return _selecting(self.compiled(node.operand), node.field, optional=node.optional)
        if isinstance(node, Index):
            return _indexing(self.compiled(node.operand), self.compiled(node.key), optional=node.optional)
        if isinstance(node, CallExpression):
            return self._call(node)
        if isinstance(node, ListOf):
            return _listing([self.compiled(item) for item in node.items])
        if isinstance(node, MapOf):
            return _mapping([(self.compiled(key), self.compiled(value)) for key, value in node.entries])
        if isinstance(node, Unary):
            return _negating(self.compiled(node.operand), node.operator)
        if isinstance(node, Conditional):
            return _choosing(*(self.compiled(part) for part in (node.test, node.then, node.otherwise)))
        return self._chain(node)

    def _name(self, node: Name) -> Step:
        name = node.name
        if name not in self._names:
            known = ", ".join(sorted(self._names))
            raise CompileError(f"undeclared reference to {name!r}; there is {known}")

        def value(scope: Scope) -> object:
            scope.spend()
            return scope.values[name]

        return value

    def _chain(self, node: Chain) -> Step:
        first, rest = self.compiled(node.first), [(sign, self.compiled(operand)) for sign, operand in node.rest]
        if node.rest[0][0] in ("||", "&&"):
            return _deciding([first, *(step for _, step in rest)], node.rest[0][0] == "||")

        def value(scope: Scope) -> object:
            result = first(scope)
            for sign, step in rest:
                scope.spend()
                result = _OPERATORS[sign](result, step(scope))
                if isinstance(result, str | list):
                    scope.spend(len(result) // 10)
            return result

        return value

    # -- calls --------------------------------------------------------------------------------------------------

    def _call(self, node: CallExpression) -> Step:
        if node.target is None:
            if node.function == "has":
                return self._has(node)
            return self._function(node)
        if isinstance(node.target, Name) and node.target.name not in self._names:
            if node.target.name == "cel" and node.function == "bind":
                return self._bind(node)
            if node.target.name == "optional":
                return self._optional(node)
        if node.function in _MACROS and len(node.arguments) in (2, 3):
            return self._macro(node, node.target)
        return self._method(node, node.target)

    def _has(self, node: CallExpression) -> Step:
        asked = node.arguments[0] if len(node.arguments) == 1 else None
        if not isinstance(asked, Select) or asked.optional:
            raise CompileError("has() asks for one member, as in has(a.b)")
        return _testing(self.compiled(asked.operand), asked.field)

    def _function(self, node: CallExpression) -> Step:
        function = FUNCTIONS.get(node.function)
        if function is None:
            raise CompileError(f"undeclared reference to function {node.function!r}")
        return _calling(function, node.function, [self.compiled(each) for each in node.arguments])

    def _method(self, node: CallExpression, target: Expression) -> Step:
        if node.function not in METHOD_NAMES:
            raise CompileError(f"undeclared reference to method {node.function!r}")
        return _asking(self.compiled(target), node.function, [self.compiled(each) for each in node.arguments])

    def _bind(self, node: CallExpression) -> Step:
        if len(node.arguments) != 3 or not isinstance(node.arguments[0], Name):
            raise CompileError("cel.bind() takes a name, a value and an expression")
        name, value = node.arguments[0].name, self.compiled(node.arguments[1])
        body = _Compiler(self._names | {name}).compiled(node.arguments[2])
        return lambda scope: body(_with(scope, name, value(scope)))

    def _optional(self, node: CallExpression) -> Step:
        arguments = [self.compiled(each) for each in node.arguments]
        if node.function == "none" and not arguments:
            return _constant(Optional())
        if node.function == "of" and len(arguments) == 1:
            return lambda scope: Optional(arguments[0](scope), is_there=True)
        raise CompileError(f"undeclared reference to function 'optional.{node.function}'")

    def _macro(self, node: CallExpression, target: Expression) -> Step:
        variable = node.arguments[0]
        if not isinstance(variable, Name):
            raise CompileError(f"{node.function}() takes the name of a variable first")
        inner = _Compiler(self._names | {variable.name})
        bodies = [inner.compiled(body) for body in node.arguments[1:]]
        if len(bodies) == 2 and node.function != "map":
            raise CompileError(f"{node.function}() takes a name and an expression")
        return _macro_step(self.compiled(target), node.function, variable.name, bodies)


def _with(scope: Scope, name: str, value: object) -> Scope:
    return _Inner({**scope.values, name: value}, scope)


class _Inner(Scope):
    """Names of its own, and the purse of the outer scope."""

    __slots__ = ("_outer",)

    def __init__(self, values: dict[str, object], outer: Scope) -> None:
        super().__init__(values, 0)
        self._outer = outer

    def spend(self, steps: int = 1) -> None:
        self._outer.spend(steps)


# -- steps ----------------------------------------------------------------------------------------------------------


def _constant(value: object) -> Step:
    return lambda scope: value


def _member(value: object, key: object) -> object:
    """A member of a map or a list; raises EvaluationError where there is none."""
    if isinstance(value, dict):
        if not isinstance(key, str | int) or (key not in value and not hasattr(value, "__missing__")):
            raise EvaluationError(f"no such key: {key}")
        return value[key]
    if isinstance(value, list):
        if not isinstance(key, int) or isinstance(key, bool) or not 0 <= key < len(value):
            raise EvaluationError(f"no such index: {key}")
        return value[key]
    raise EvaluationError(f"{word_of(value)} has no members")


def _perhaps(value: object, key: object) -> Optional:
    if isinstance(value, Optional):
        return _perhaps(value.value, key) if value.is_there else value
    if isinstance(value, dict):
        return Optional(value[key], is_there=True) if key in value else Optional()
    if isinstance(value, list):
        is_there = isinstance(key, int) and 0 <= key < len(value)
        return Optional(value[key], is_there=True) if is_there else Optional()  # type: ignore[call-overload]
    raise EvaluationError(f"{word_of(value)} has no members")


def _selecting(operand: Step, field: str, *, optional: bool) -> Step:
    def value(scope: Scope) -> object:
        scope.spend()
        found = operand(scope)
        return _perhaps(found, field) if optional or isinstance(found, Optional) else _member(found, field)

    return value


def _indexing(operand: Step, key: Step, *, optional: bool) -> Step:
    def value(scope: Scope) -> object:
        scope.spend()
        found = operand(scope)
        asked = key(scope)
        return _perhaps(found, asked) if optional or isinstance(found, Optional) else _member(found, asked)

    return value


def _testing(operand: Step, field: str) -> Step:
    def value(scope: Scope) -> bool:
        scope.spend()
        found = operand(scope)
        if isinstance(found, Optional):
            found = found.value if found.is_there else {}
        if not isinstance(found, dict):
            raise EvaluationError(f"{word_of(found)} has no members")
        return field in found

    return value


def _listing(items: Sequence[Step]) -> Step:
    def value(scope: Scope) -> list[object]:
        scope.spend(1 + len(items))
        return [item(scope) for item in items]

    return value


def _mapping(entries: Sequence[tuple[Step, Step]]) -> Step:
    def value(scope: Scope) -> dict[object, object]:
        scope.spend(1 + len(entries))
        result: dict[object, object] = {}
        for key, entry in entries:
            name = key(scope)
            if not isinstance(name, str | int):
                raise EvaluationError(f"{word_of(name)} cannot be a key")
            result[name] = entry(scope)
        return result

    return value


def _negating(operand: Step, operator: str) -> Step:
    def value(scope: Scope) -> object:
        scope.spend()
        found = operand(scope)
        if operator == "!" and isinstance(found, bool):
            return not found
        if operator == "-" and isinstance(found, float):
            return -found
        if operator == "-" and type(found) is int:
            return whole(-found)
        raise EvaluationError(f"{operator} has no answer for {word_of(found)}")

    return value


def _choosing(test: Step, then: Step, otherwise: Step) -> Step:
    def value(scope: Scope) -> object:
        scope.spend()
        found = test(scope)
        if not isinstance(found, bool):
            raise EvaluationError(f"a condition must be true or false, not {word_of(found)}")
        return then(scope) if found else otherwise(scope)

    return value


def _deciding(steps: Sequence[Step], decisive: bool) -> Step:
    """One that decides is enough, also where others have no answer."""

    def value(scope: Scope) -> bool:
        failure: EvaluationError | None = None
        for step in steps:
            scope.spend()
            try:
                found = step(scope)
                if not isinstance(found, bool):
                    raise EvaluationError(f"true or false was expected, not {word_of(found)}")
            except TooCostly:
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


def _calling(function: Callable[..., object], name: str, arguments: Sequence[Step]) -> Step:
    def value(scope: Scope) -> object:
        scope.spend()
        given = [argument(scope) for argument in arguments]
        scope.spend(_weight(given))
        return called(function, name, given)

    return value


def _asking(target: Step, name: str, arguments: Sequence[Step]) -> Step:
    def value(scope: Scope) -> object:
        scope.spend()
        found = target(scope)
        given = [argument(scope) for argument in arguments]
        method = method_of(found, name)
        if method is None:
            raise EvaluationError(f"{word_of(found)} has no method {name}")
        scope.spend(_weight([found, *given]))
        return called(method, name, [found, *given])

    return value


def _weight(values: Iterable[object]) -> int:
    """What handling these costs: by their lengths, and for two of them by what holding one against the other takes."""
    sizes = [len(value) for value in values if isinstance(value, str | list | dict)]
    return sum(sizes) // 10 + (math.prod(sizes) // 100 if len(sizes) > 1 else 0)


_MACROS = frozenset(("all", "exists", "exists_one", "existsOne", "map", "filter"))


def _macro_step(target: Step, macro: str, variable: str, bodies: Sequence[Step]) -> Step:
    def value(scope: Scope) -> object:
        members = target(scope)
        if not isinstance(members, list | dict):
            raise EvaluationError(f"{macro}() goes through lists and maps, not {word_of(members)}")
        inner = _with(scope, variable, None)

        def each(step: Step, member: object) -> object:
            scope.spend()
            inner.values[variable] = member
            return step(inner)

        if macro in ("all", "exists"):
            return _deciding([_on(each, bodies[0], member) for member in members], macro == "exists")(scope)
        if macro == "map":
            chosen = [member for member in members if len(bodies) == 1 or _truth(each(bodies[0], member))]
            return [each(bodies[-1], member) for member in chosen]
        matching = [member for member in members if _truth(each(bodies[0], member))]
        return matching if macro == "filter" else len(matching) == 1

    return value


def _on(each: Callable[[Step, object], object], body: Step, member: object) -> Step:
    return lambda scope: each(body, member)


def _truth(value: object) -> bool:
    if not isinstance(value, bool):
        raise EvaluationError(f"true or false was expected, not {word_of(value)}")
    return value


# -- operators ------------------------------------------------------------------------------------------------------


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def equal(mine: Any, other: Any) -> bool:
    """Numbers are equal across their types; values of different types are not equal, and that is no mistake."""
    if _is_number(mine) and _is_number(other):
        return bool(mine == other)
    if isinstance(mine, list) and isinstance(other, list):
        return len(mine) == len(other) and all(map(equal, mine, other))
    if isinstance(mine, dict) and isinstance(other, dict):
        return mine.keys() == other.keys() and all(equal(mine[key], other[key]) for key in mine)
    return type(mine) is type(other) and bool(mine == other)


def _ordering(name: str, holds: Callable[[Any, Any], bool]) -> Callable[[Any, Any], bool]:
    def compared(mine: Any, other: Any) -> bool:
        comparable = type(mine) is type(other) and isinstance(mine, str | bool)
        if not comparable and not (_is_number(mine) and _is_number(other)):
            raise EvaluationError(f"{word_of(mine)} {name} {word_of(other)} has no answer")
        return holds(mine, other)

    return compared


def _within(mine: Any, other: Any) -> bool:
    if isinstance(other, list):
        return any(equal(mine, member) for member in other)
    if isinstance(other, dict):
        return isinstance(mine, str | int) and mine in other
    raise EvaluationError(f"'in' asks lists and maps, not {word_of(other)}")


def _sum(mine: Any, other: Any) -> object:
    if type(mine) is type(other) and isinstance(mine, str | list):
        return mine + other
    return _arithmetic("+", mine, other)


def _arithmetic(sign: str, mine: Any, other: Any) -> object:
    kind = type(mine)
    if kind is not type(other) or kind not in (int, Unsigned, float):
        raise EvaluationError(f"{word_of(mine)} {sign} {word_of(other)} has no answer")
    if kind is float:
        return _float_arithmetic(sign, mine, other)
    if sign in "/%" and other == 0:
        raise EvaluationError("division by zero")
    if sign in "/%":
        quotient = abs(int(mine)) // abs(int(other)) * (1 if (mine < 0) == (other < 0) else -1)
        result = quotient if sign == "/" else int(mine) - quotient * int(other)
    else:
        result = {"+": int(mine) + other, "-": int(mine) - other, "*": int(mine) * other}[sign]
    return unsigned(result) if kind is Unsigned else whole(result)


def _float_arithmetic(sign: str, mine: float, other: float) -> float:
    if sign == "/":
        return mine / other if other else math.nan if not mine or math.isnan(mine) else math.copysign(math.inf, mine)
    if sign == "%":
        raise EvaluationError("double % double has no answer")
    return {"+": mine + other, "-": mine - other, "*": mine * other}[sign]


def _arithmetic_operator(sign: str) -> Callable[[Any, Any], object]:
    return lambda mine, other: _arithmetic(sign, mine, other)


_OPERATORS: dict[str, Callable[[Any, Any], object]] = {
    "==": equal,
    "!=": lambda mine, other: not equal(mine, other),
    "<": _ordering("<", lambda mine, other: bool(mine < other)),
    "<=": _ordering("<=", lambda mine, other: bool(mine <= other)),
    ">": _ordering(">", lambda mine, other: bool(mine > other)),
    ">=": _ordering(">=", lambda mine, other: bool(mine >= other)),
    "in": _within,
    "+": _sum,
    **{sign: _arithmetic_operator(sign) for sign in "-*/%"},
}
