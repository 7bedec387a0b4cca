"""Regular expressions that cannot run away: the time for a match grows with the text times the pattern, never faster.

All ways through the pattern are followed at once, character by character, instead of one after the other. The syntax is
that of RE2 as far as people use it; references back and looking around, which RE2 does not have either, are refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache

from stromboli.cel.failures import EvaluationError

LONGEST = 256
"""The most characters a pattern may have."""
MOST_STATES = 2_000
MOST_REPEATS = 200

_Test = Callable[[str], bool]
_CLASSES: dict[str, _Test] = {
    "d": lambda c: "0" <= c <= "9",
    "w": lambda c: c.isascii() and (c.isalnum() or c == "_"),
    "s": lambda c: c in " \t\n\r\f\v",
}
_NAMED: dict[str, _Test] = {
    "alpha": lambda c: c.isascii() and c.isalpha(),
    "digit": _CLASSES["d"],
    "alnum": lambda c: c.isascii() and c.isalnum(),
    "upper": lambda c: "A" <= c <= "Z",
    "lower": lambda c: "a" <= c <= "z",
    "space": _CLASSES["s"],
    "xdigit": lambda c: c in "0123456789abcdefABCDEF",
    "word": _CLASSES["w"],
    "punct": lambda c: c.isascii() and c.isprintable() and not c.isalnum() and c != " ",
}
_CONTROLS = {"n": "\n", "t": "\t", "r": "\r", "f": "\f", "v": "\v", "a": "\a"}
_SPECIAL = frozenset("*+?{|)")


class PatternError(EvaluationError):
    """A pattern that makes no sense, or is larger than anybody may ask for."""


class _State:
    """Where a match may stand: it eats a character, asks where it is in the text, or goes on to others for nothing."""

    __slots__ = ("anchor", "following", "test")

    def __init__(self, test: _Test | None = None, anchor: str = "") -> None:
        self.test = test
        self.anchor = anchor
        self.following: list[_State] = []


class Pattern:
    def __init__(self, text: str) -> None:
        if len(text) > LONGEST:
            raise PatternError(f"a pattern has at most {LONGEST} characters, not {len(text)}")
        self._start, end = _Builder(text).build()
        self._end = end

    def is_found_in(self, text: str) -> bool:
        """Whether any part of the text matches."""
        standing: set[_State] = set()
        for place in range(len(text) + 1):
            standing.add(self._start)
            reached = self._reached(standing, text, place)
            if self._end in reached:
                return True
            if place < len(text):
                character = text[place]
                eaten = (state for state in reached if state.test is not None and state.test(character))
                standing = {following for state in eaten for following in state.following}
        return False

    @staticmethod
    def _reached(standing: Iterable[_State], text: str, place: int) -> set[_State]:
        """Everything that can be reached from here without eating a character."""
        reached: set[_State] = set()
        waiting = list(standing)
        while waiting:
            state = waiting.pop()
            if state in reached or (state.anchor and not _holds(state.anchor, text, place)):
                continue
            reached.add(state)
            if state.test is None:
                waiting.extend(state.following)
        return reached


@lru_cache(maxsize=256)
def pattern_of(text: str) -> Pattern:
    return Pattern(text)


def _holds(anchor: str, text: str, place: int) -> bool:
    if anchor == "^":
        return place == 0
    if anchor == "$":
        return place == len(text)
    before = place > 0 and _CLASSES["w"](text[place - 1])
    after = place < len(text) and _CLASSES["w"](text[place])
    return (before != after) == (anchor == "b")


class _Builder:
    """Reads a pattern; every piece becomes a pair of states, where it begins and where it ends."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._place = 0
        self._states = 0
        self._ignores_case = False
        self._dot_is_all = False
        self._depth = 0

    def build(self) -> tuple[_State, _State]:
        piece = self._either()
        if self._place < len(self._text):
            raise self._wrong("an unexpected )")
        return piece

    def _wrong(self, what: str) -> PatternError:
        return PatternError(f"pattern {self._text!r}: {what} at character {self._place + 1}")

    def _new(self, test: _Test | None = None, anchor: str = "") -> _State:
        self._states += 1
        if self._states > MOST_STATES:
            raise PatternError(f"pattern {self._text!r}: it stands for more than {MOST_STATES} steps")
        return _State(test, anchor)

    @property
    def _next(self) -> str:
        return self._text[self._place : self._place + 1]

    def _took(self, text: str) -> bool:
        found = self._text.startswith(text, self._place)
        self._place += len(text) * found
        return found

    def _either(self) -> tuple[_State, _State]:
        self._depth += 1
        if self._depth > 30:
            raise self._wrong("brackets that nest too deep")
        begin, end = self._new(), self._new()
        while True:
            first, last = self._sequence()
            begin.following.append(first)
            last.following.append(end)
            if not self._took("|"):
                self._depth -= 1
                return begin, end

    def _sequence(self) -> tuple[_State, _State]:
        begin = end = self._new()
        while self._next and self._next not in "|)":
            start = self._place
            first, last = self._repeated(start)
            end.following.append(first)
            end = last
        return begin, end

    def _repeated(self, start: int) -> tuple[_State, _State]:
        piece = self._piece()
        limits = self._limits()
        if limits is None:
            return piece
        self._took("?")
        if self._next in ("*", "+", "?") and self._next:
            raise self._wrong("a repetition of a repetition")
        end_place = self._place
        begin = end = self._new()
        least, most = limits
        for number in range(least if most is None else most):
            first, last = piece if number == 0 else self._again(start)
            end.following.append(first)
            if number >= least:
                skip = self._new()
                end.following.append(skip)
                last.following.append(skip)
                last = skip
            end = last
        if most is None:
            first, last = piece if least == 0 else self._again(start)
            loop = self._new()
            end.following.append(loop)
            loop.following.append(first)
            last.following.append(loop)
            end = loop
        self._place = end_place
        return begin, end

    def _again(self, start: int) -> tuple[_State, _State]:
        """The same piece once more: read again, so that it has states of its own."""
        self._place = start
        return self._piece()

    def _limits(self) -> tuple[int, int | None] | None:
        """How often at least and at most; None where nothing is repeated."""
        for sign, limits in (("*", (0, None)), ("+", (1, None)), ("?", (0, 1))):
            if self._took(sign):
                return limits
        close = self._text.find("}", self._place)
        if self._next != "{" or close < 0:
            return None
        least, comma, most = self._text[self._place + 1 : close].partition(",")
        if not least.isdecimal() or (most and not most.isdecimal()):
            return None
        bounds = int(least), (int(most) if most else None) if comma else int(least)
        if max(bounds[0], bounds[1] or 0) > MOST_REPEATS or (bounds[1] is not None and bounds[1] < bounds[0]):
            raise self._wrong(f"a repetition that is impossible or larger than {MOST_REPEATS}")
        self._place = close + 1
        return bounds

    # -- pieces -------------------------------------------------------------------------------------------------

    def _piece(self) -> tuple[_State, _State]:
        sign = self._next
        if sign in _SPECIAL and sign != "{":
            raise self._wrong(f"an unexpected {sign}")
        self._place += 1
        if sign == "(":
            return self._group()
        if sign in "^$":
            return self._alone(self._new(anchor=sign))
        if sign == "[":
            return self._eater(self._set())
        if sign == ".":
            return self._eater((lambda c: True) if self._dot_is_all else (lambda c: c != "\n"))
        if sign == "\\":
            return self._escape()
        return self._eater(self._letter(sign))

    def _alone(self, state: _State) -> tuple[_State, _State]:
        end = self._new()
        state.following.append(end)
        return state, end

    def _eater(self, test: _Test) -> tuple[_State, _State]:
        return self._alone(self._new(test))

    def _letter(self, letter: str) -> _Test:
        if self._ignores_case:
            return lambda c: c.casefold() == letter.casefold()
        return lambda c: c == letter

    def _group(self) -> tuple[_State, _State]:
        outside = self._ignores_case, self._dot_is_all
        if self._took("?"):
            self._flags()
        is_setting = self._next == ")" and self._text[self._place - 1] in "is"
        piece = self._either()
        if not self._took(")"):
            raise self._wrong("a missing )")
        if not is_setting:
            self._ignores_case, self._dot_is_all = outside
        return piece

    def _flags(self) -> None:
        if self._took("P<") or self._took("<"):
            close = self._text.find(">", self._place)
            if not self._text[self._place : max(close, self._place)].isidentifier():
                raise self._wrong("something else than a name of a group")
            self._place = close + 1
            return
        while self._next in ("i", "s") and self._next:
            self._ignores_case |= self._next == "i"
            self._dot_is_all |= self._next == "s"
            self._place += 1
        if self._next != ")" and not self._took(":"):
            raise self._wrong("something that patterns here do not have")

    def _escape(self) -> tuple[_State, _State]:
        sign = self._next
        self._place += 1
        if sign in ("b", "B"):
            return self._alone(self._new(anchor=sign))
        if sign in ("A", "z"):
            return self._alone(self._new(anchor="^" if sign == "A" else "$"))
        self._place -= 1
        return self._eater(self._escaped())

    def _escaped(self) -> _Test:
        """What stands behind a backslash, inside or outside of square brackets."""
        sign = self._next
        if not sign:
            raise self._wrong("a backslash with nothing behind it")
        self._place += 1
        if sign.lower() in _CLASSES:
            test = _CLASSES[sign.lower()]
            return test if sign.islower() else (lambda c: not test(c))
        if sign in _CONTROLS:
            return self._letter(_CONTROLS[sign])
        if sign.isalnum():
            raise self._wrong(f"the unknown escape \\{sign}")
        return self._letter(sign)

    def _set(self) -> _Test:
        is_other, tests = self._took("^"), []
        first = True
        while first or self._next != "]":
            if not self._next:
                raise self._wrong("a missing ]")
            tests.append(self._member())
            first = False
        self._place += 1
        return lambda c: any(test(c) for test in tests) != is_other

    def _member(self) -> _Test:
        if self._took("[:"):
            name, _, _ = self._text[self._place :].partition(":]")
            if name not in _NAMED:
                raise self._wrong("an unknown class of characters")
            self._place += len(name) + 2
            return _NAMED[name]
        low = self._next
        self._place += 1
        if low == "\\":
            return self._escaped()
        rest = self._text[self._place : self._place + 2]
        if len(rest) == 2 and rest[0] == "-" and rest[1] not in "]\\":
            self._place += 2
            if rest[1] < low:
                raise self._wrong("a range that is the wrong way round")
            return self._range(low, rest[1])
        return self._letter(low)

    def _range(self, low: str, high: str) -> _Test:
        if self._ignores_case:
            return lambda c: low <= c <= high or low <= c.lower() <= high or low <= c.upper() <= high
        return lambda c: low <= c <= high
