"""From text to a tree.

Chains (`a && b && c`, `a.b.c`) are one node each, however long they are: only brackets nest, and how deep is limited.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from stromboli.cel.errors import CompileError
from stromboli.cel.values import Unsigned

LONGEST = 10 * 1024
"""The most characters an expression may have, as the API server says."""

MAX_DEPTH = 40
"""How deep brackets may nest."""


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
    """A function, or a method of a target."""

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
    """Operators of the same rank, from left to right."""

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
_WORDS = {"true": True, "false": False, "null": None}
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
    """The tree of an expression. Raises CompileError with the place of the mistake."""
    if len(text) > LONGEST:
        raise CompileError(f"an expression has at most {LONGEST} characters, not {len(text)}")
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

    def _took(self, sign: str) -> bool:
        found = self._next.kind in ("sign", "name") and self._next.text == sign
        self._place += found
        return found

    def _demand(self, sign: str) -> None:
        if not self._took(sign):
            raise self._unexpected(f"{sign!r} was expected")

    def _unexpected(self, wish: str) -> CompileError:
        token = self._next
        found = f"{token.text!r} at character {token.place}" if token.kind != "end" else "the end"
        return CompileError(f"{wish}, not {found}")

    def end(self) -> None:
        if self._next.kind != "end":
            raise self._unexpected("the end was expected")

    # -- the grammar --------------------------------------------------------------------------------------------

    def expression(self) -> Expression:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise CompileError(f"brackets nest deeper than {MAX_DEPTH} at character {self._next.place}")
        tree = self._chain(0)
        if self._took("?"):
            then = self._chain(0)
            self._demand(":")
            tree = Conditional(tree, then, self.expression())
        self._depth -= 1
        return tree

    def _chain(self, rank: int) -> Expression:
        if rank == len(_RANKS):
            return self._unary()
        first, rest = self._chain(rank + 1), []
        while operator := next((sign for sign in _RANKS[rank] if self._took(sign)), None):
            rest.append((operator, self._chain(rank + 1)))
        return Chain(first, tuple(rest)) if rest else first

    def _unary(self) -> Expression:
        signs = []
        while sign := next((sign for sign in ("!", "-") if self._took(sign)), None):
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
            if self._took("."):
                name = self._name()
                tree = CallExpression(name, tree, self._arguments(")")) if self._took("(") else Select(tree, name)
            elif self._took(".?"):
                tree = Select(tree, self._name(), optional=True)
            elif self._took("["):
                tree = Index(tree, self._until("]"))
            elif self._took("[?"):
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
            raise self._unexpected("a name was expected")
        return token.text.strip("`")

    def _until(self, sign: str) -> Expression:
        tree = self.expression()
        self._demand(sign)
        return tree

    def _arguments(self, end: str) -> tuple[Expression, ...]:
        found: list[Expression] = []
        while not self._took(end):
            if found:
                self._demand(",")
                if self._took(end):
                    break
            found.append(self.expression())
        return tuple(found)

    def _primary(self) -> Expression:
        token = self._next
        if self._took("("):
            return self._until(")")
        if self._took("["):
            return ListOf(self._arguments("]"))
        if self._took("{"):
            return self._map()
        if token.kind == "text":
            return Literal(_unquoted(self._take()))
        if token.kind in ("whole", "float"):
            return _number(self._take())
        if token.kind == "name":
            return self._named()
        raise self._unexpected("a value was expected")

    def _named(self) -> Expression:
        token = self._take()
        if token.text in _WORDS:
            return Literal(_WORDS[token.text])
        if token.text in _RESERVED or token.text == "in":
            raise CompileError(f"{token.text!r} at character {token.place} is a reserved word")
        return CallExpression(token.text, None, self._arguments(")")) if self._took("(") else Name(token.text)

    def _map(self) -> Expression:
        entries: list[tuple[Expression, Expression]] = []
        while not self._took("}"):
            if entries:
                self._demand(",")
                if self._took("}"):
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
            raise CompileError(f"{token.text} at character {token.place} is not an unsigned number of 64 bits")
        return Literal(Unsigned(amount))
    if not -(2**63) <= amount < 2**63:
        raise CompileError(f"{token.text} at character {token.place} is not a number of 64 bits")
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
            raise CompileError(f"{match[0]} stands for no character")
        return chr(number)
    if match[5] not in _ESCAPES and match[5] not in "\\'\"`?":
        raise CompileError(f"{match[0]} is no escape")
    return _ESCAPES.get(match[5], match[5])
