"""Compiled CEL expressions.

Unknown names and functions are compile errors. Every evaluation step is counted and limited, so that no expression runs
indefinitely.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from stromboli.cel import evaluation
from stromboli.cel.errors import CompileError, EvaluationError
from stromboli.cel.evaluation import MAX_STEPS, Scope, Step
from stromboli.cel.functions import FUNCTIONS, METHOD_NAMES
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
from stromboli.cel.values import Optional, type_name


class CompiledExpression:
    """A compiled expression over a fixed set of names."""

    def __init__(self, text: str, names: Iterable[str]) -> None:
        self.text = text
        self._step = _Compiler(frozenset(names)).compile(parse(text))

    def evaluate(self, values: Mapping[str, object], max_steps: int = MAX_STEPS) -> object:
        """Evaluate the expression. Raises EvaluationError."""
        return self._step(Scope(dict(values), max_steps))

    def holds(self, values: Mapping[str, object]) -> bool:
        """Evaluate a predicate. Raises EvaluationError, also if the result is not a boolean."""
        result = self.evaluate(values)
        if not isinstance(result, bool):
            raise EvaluationError(f"the result must be bool, not {type_name(result)}")
        return result


class _Compiler:
    def __init__(self, names: frozenset[str]) -> None:
        self._names = names

    def compile(self, node: Expression) -> Step:
        if isinstance(node, Literal):
            return evaluation.constant(node.value)
        if isinstance(node, Name):
            return self._name(node)
        if isinstance(node, Select):
            return evaluation.select(self.compile(node.operand), node.field, optional=node.optional)
        if isinstance(node, Index):
            return evaluation.index(self.compile(node.operand), self.compile(node.key), optional=node.optional)
        if isinstance(node, CallExpression):
            return self._call(node)
        if isinstance(node, ListOf):
            return evaluation.list_of(self._compile_all(node.items))
        if isinstance(node, MapOf):
            return evaluation.map_of([(self.compile(key), self.compile(value)) for key, value in node.entries])
        if isinstance(node, Unary):
            return evaluation.unary(self.compile(node.operand), node.operator)
        if isinstance(node, Conditional):
            return evaluation.conditional(*self._compile_all((node.test, node.then, node.otherwise)))
        return self._chain(node)

    def _compile_all(self, nodes: Iterable[Expression]) -> list[Step]:
        return [self.compile(node) for node in nodes]

    def _name(self, node: Name) -> Step:
        if node.name not in self._names:
            known = ", ".join(sorted(self._names))
            raise CompileError(f"undeclared reference to {node.name!r}; declared: {known}")
        return evaluation.variable(node.name)

    def _chain(self, node: Chain) -> Step:
        first, rest = self.compile(node.first), [(sign, self.compile(operand)) for sign, operand in node.rest]
        if node.rest[0][0] in ("||", "&&"):
            return evaluation.logical([first, *(step for _, step in rest)], node.rest[0][0] == "||")
        return evaluation.chain(first, rest)

    # -- calls --------------------------------------------------------------------------------------------------

    def _call(self, node: CallExpression) -> Step:
        if node.target is None:
            return self._has(node) if node.function == "has" else self._function(node)
        if isinstance(node.target, Name) and node.target.name not in self._names:
            if node.target.name == "cel" and node.function == "bind":
                return self._bind(node)
            if node.target.name == "optional":
                return self._optional(node)
        if node.function in evaluation.MACROS and len(node.arguments) in (2, 3):
            return self._macro(node, node.target)
        return self._method(node, node.target)

    def _has(self, node: CallExpression) -> Step:
        member = node.arguments[0] if len(node.arguments) == 1 else None
        if not isinstance(member, Select) or member.optional:
            raise CompileError("has() takes one member selection, as in has(a.b)")
        return evaluation.has(self.compile(member.operand), member.field)

    def _function(self, node: CallExpression) -> Step:
        function = FUNCTIONS.get(node.function)
        if function is None:
            raise CompileError(f"undeclared reference to function {node.function!r}")
        return evaluation.function_call(function, node.function, self._compile_all(node.arguments))

    def _method(self, node: CallExpression, target: Expression) -> Step:
        if node.function not in METHOD_NAMES:
            raise CompileError(f"undeclared reference to method {node.function!r}")
        return evaluation.method_call(self.compile(target), node.function, self._compile_all(node.arguments))

    def _bind(self, node: CallExpression) -> Step:
        if len(node.arguments) != 3 or not isinstance(node.arguments[0], Name):
            raise CompileError("cel.bind() takes a name, a value and an expression")
        name, value = node.arguments[0].name, self.compile(node.arguments[1])
        return evaluation.bound(name, value, _Compiler(self._names | {name}).compile(node.arguments[2]))

    def _optional(self, node: CallExpression) -> Step:
        arguments = self._compile_all(node.arguments)
        if node.function == "none" and not arguments:
            return evaluation.constant(Optional())
        if node.function == "of" and len(arguments) == 1:
            return lambda scope: Optional(arguments[0](scope), is_present=True)
        raise CompileError(f"undeclared reference to function 'optional.{node.function}'")

    def _macro(self, node: CallExpression, target: Expression) -> Step:
        variable = node.arguments[0]
        if not isinstance(variable, Name):
            raise CompileError(f"{node.function}() takes the name of a variable first")
        inner = _Compiler(self._names | {variable.name})
        bodies = [inner.compile(body) for body in node.arguments[1:]]
        if len(bodies) == 2 and node.function != "map":
            raise CompileError(f"{node.function}() takes a name and an expression")
        return evaluation.macro_call(self.compile(target), node.function, variable.name, bodies)
