"""Parser of CEL expressions.

Chains (`a && b && c`, `a.b.c`) are one node each, however long they are: only brackets nest, to a limited depth.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from stromboli.cel.errors import CompileError
from stromboli.cel.values import Unsigned

MAX_LENGTH = 10 * 1024
"""Maximum length of an expression, as in the API server."""

MAX_DEPTH = 40
"""Maximum depth of nested brackets."""


@dataclass(frozen=True, slots=True)
class Literal:
    value: object


@dataclass(frozen=True, slots=True)
class Name:
    name: str


@dataclass(frozen=True, slots=True)
class Select:
    """`operand.field`, or `operand.?field`."""

    operand: Expression
    field: str
    optional: bool = False


@dataclass(frozen=True, slots=True)
class Index:
    """`operand[key]`, or `operand[?key]`."""

    operand: Expression
    key: Expression
    optional: bool = False


@dataclass(frozen=True, slots=True)
class CallExpression:
    """A call of a function, or of a method of `target`."""

    function: str
    target: Expression | None
    arguments: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class ListOf:
    items: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class MapOf:
    entries: tuple[tuple[Expression, Expression], ...]


@dataclass(frozen=True, slots=True)
class Unary:
    operator: str
    operand: Expression


@dataclass(frozen=True, slots=True)
class Chain:
    """Operators of equal precedence, from left to right."""

    first: Expression
    rest: tuple[tuple[str, Expression], ...]


@dataclass(frozen=True, slots=True)
class Conditional:
    test: Expression
    then: Expression
    otherwise: Expression


Expression = Literal | Name | Select | Index | CallExpression | ListOf | MapOf | Unary | Chain | Conditional

_RANKS = (("||",), ("&&",), ("<=", "<", ">=", ">", "==", "!=", "in"), ("+", "-"), ("*", "/", "%"))
_TEXT = (
    r'[rR]?(?:"""(?s:.*?)"""' + r"|'''(?s:.*?)'''" + r'|"(?:[^"\\\n]|\\.)*"' + r"|'(?:[^'\\\n]|\\.)*')"
    r'|[rR](?:"[^"\n]*"' + r"|'[^'\n]*')"
)
_TOKENS = re.compile(
    rf"""(?P<space>\s+|//[^\n]*)
    |(?P<text>{_TEXT})
    |(?P<float>\d+\.\d+(?:[eE][+-]?\d+)?|\d+[eE][+-]?\d+|\.\d+(?:[eE][+-]?\d+)?)
    |(?P<whole>(?:0[xX][0-9a-fA-F]+|\d+)[uU]?)
    |(?P<name>[A-Za-z_][A-Za-z0-9_]*|`[^`\n]+`)
    |(?P<sign>\|\||&&|<=|>=|==|!=|\.\?|\[\?|[-+*/%<>!?:.,()\[\]{{}}])""",
    re.VERBOSE,
)
_CONSTANTS = {"true": True, "false": False, "null": None}
_RESERVED = frozenset((
    "as", "break", "const", "continue", "else", "for", "function", "if", "import", "let", "loop", "package",
    "namespace", "return", "var", "void", "while",
))  # fmt: skip
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v"}
_ESCAPE = re.compile(r"\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([0-3][0-7]{2})|(.))", re.DOTALL)


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str
    text: str
    place: int


def parse(text: str) -> Expression:
    """Parse an expression. Raises CompileError with the position of the error."""
    if len(text) > MAX_LENGTH:
        raise CompileError(f"an expression has at most {MAX_LENGTH} characters, not {len(text)}")
    parser = _Parser(_tokens(text))
    tree = parser.expression()
    parser.end()
    return tree


def _tokens(text: str) -> list[_Token]:
    tokens, place = [], 0
    while place < len(text):
        match = _TOKENS.match(text, place)
        if match is None:
            raise CompileError(f"unexpected {text[place]!r} at character {place + 1}")
        kind = match.lastgroup or ""
        if kind != "space":
            tokens.append(_Token(kind, match[0], place + 1))
        place = match.end()
    return [*tokens, _Token("end", "", len(text) + 1)]


class _Parser:
    def __init__(self, tokens: Sequence[_Token]) -> None:
        self._tokens = tokens
        self._place = 0
        self._depth = 0

    # -- tokens -------------------------------------------------------------------------------------------------

    @property
    def _next(self) -> _Token:
        return self._tokens[self._place]

    def _take(self) -> _Token:
        token = self._next
        self._place += 1
        return token

    def _accept(self, sign: str) -> bool:
        found = self._next.kind in ("sign", "name") and self._next.text == sign
        self._place += found
        return found

    def _expect(self, sign: str) -> None:
        if not self._accept(sign):
            raise self._unexpected(f"expected {sign!r}")

    def _unexpected(self, expected: str) -> CompileError:
        token = self._next
        found = f"{token.text!r} at character {token.place}" if token.kind != "end" else "the end"
        return CompileError(f"{expected}, got {found}")

    def end(self) -> None:
        if self._next.kind != "end":
            raise self._unexpected("expected the end")

    # -- the grammar --------------------------------------------------------------------------------------------

    def expression(self) -> Expression:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise CompileError(f"brackets nest deeper than {MAX_DEPTH} at character {self._next.place}")
        tree = self._chain(0)
        if self._accept("?"):
            then = self._chain(0)
            self._expect(":")
            tree = Conditional(tree, then, self.expression())
        self._depth -= 1
        return tree

    def _chain(self, rank: int) -> Expression:
        if rank == len(_RANKS):
            return self._unary()
        first, rest = self._chain(rank + 1), []
        while operator := next((sign for sign in _RANKS[rank] if self._accept(sign)), None):
            rest.append((operator, self._chain(rank + 1)))
        return Chain(first, tuple(rest)) if rest else first

    def _unary(self) -> Expression:
        signs = []
        while sign := next((sign for sign in ("!", "-") if self._accept(sign)), None):
            signs.append(sign)
        if len(signs) > MAX_DEPTH:
            raise CompileError(f"more than {MAX_DEPTH} signs in a row")
        token = self._next
        if signs and signs[-1] == "-" and token.kind in ("whole", "float"):
            signs.pop()
            tree: Expression = self._members(_number(self._take(), negative=True))
        else:
            tree = self._members(self._primary())
        for sign in reversed(signs):
            tree = Unary(sign, tree)
        return tree

    def _members(self, tree: Expression) -> Expression:
        steps = 0
        while True:
            if self._accept("."):
                name = self._name()
                tree = CallExpression(name, tree, self._arguments(")")) if self._accept("(") else Select(tree, name)
            elif self._accept(".?"):
                tree = Select(tree, self._name(), optional=True)
            elif self._accept("["):
                tree = Index(tree, self._until("]"))
            elif self._accept("[?"):
                tree = Index(tree, self._until("]"), optional=True)
            else:
                return tree
            steps += 1
            if steps > MAX_DEPTH:
                raise CompileError(f"more than {MAX_DEPTH} members in a row at character {self._next.place}")

    def _name(self) -> str:
        token = self._take()
        if token.kind != "name":
            self._place -= 1
            raise self._unexpected("expected a name")
        return token.text.strip("`")

    def _until(self, sign: str) -> Expression:
        tree = self.expression()
        self._expect(sign)
        return tree

    def _arguments(self, end: str) -> tuple[Expression, ...]:
        found: list[Expression] = []
        while not self._accept(end):
            if found:
                self._expect(",")
                if self._accept(end):
                    break
            found.append(self.expression())
        return tuple(found)

    def _primary(self) -> Expression:
        token = self._next
        if self._accept("("):
            return self._until(")")
        if self._accept("["):
            return ListOf(self._arguments("]"))
        if self._accept("{"):
            return self._map()
        if token.kind == "text":
            return Literal(_unquoted(self._take()))
        if token.kind in ("whole", "float"):
            return _number(self._take())
        if token.kind == "name":
            return self._named()
        raise self._unexpected("expected a value")

    def _named(self) -> Expression:
        token = self._take()
        if token.text in _CONSTANTS:
            return Literal(_CONSTANTS[token.text])
        if token.text in _RESERVED or token.text == "in":
            raise CompileError(f"{token.text!r} at character {token.place} is a reserved word")
        return CallExpression(token.text, None, self._arguments(")")) if self._accept("(") else Name(token.text)

    def _map(self) -> Expression:
        entries: list[tuple[Expression, Expression]] = []
        while not self._accept("}"):
            if entries:
                self._expect(",")
                if self._accept("}"):
                    break
            key = self._until(":")
            entries.append((key, self.expression()))
        return MapOf(tuple(entries))


def _number(token: _Token, *, negative: bool = False) -> Literal:
    sign = -1 if negative else 1
    if token.kind == "float":
        return Literal(sign * float(token.text))
    digits = token.text.rstrip("uU")
    amount = sign * (int(digits, 16) if digits[:2] in ("0x", "0X") else int(digits))
    if digits != token.text:
        if not 0 <= amount < 2**64:
            raise CompileError(f"{token.text} at character {token.place} is not a 64-bit unsigned integer")
        return Literal(Unsigned(amount))
    if not -(2**63) <= amount < 2**63:
        raise CompileError(f"{token.text} at character {token.place} is not a 64-bit integer")
    return Literal(amount)


def _unquoted(token: _Token) -> str:
    text, raw = token.text, token.text[0] in "rR"
    text = text[raw:]
    size = 3 if text[:3] in ('"""', "'''") else 1
    inner = text[size:-size]
    return inner if raw else _ESCAPE.sub(_escaped, inner)


def _escaped(match: re.Match[str]) -> str:
    code = match[1] or match[2] or match[3]
    if code or match[4]:
        number = int(code, 16) if code else int(match[4], 8)
        if number > 0x10FFFF or 0xD800 <= number < 0xE000:
            raise CompileError(f"{match[0]} is not a character")
        return chr(number)
    if match[5] not in _ESCAPES and match[5] not in "\\'\"`?":
        raise CompileError(f"{match[0]} is not an escape sequence")
    return _ESCAPES.get(match[5], match[5])
