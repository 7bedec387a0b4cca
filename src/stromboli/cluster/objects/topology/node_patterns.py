"""Which nodes a pattern finds, remembered as long as somebody asks: nodes come and go all the time, patterns do not.

Names are looked at once per pattern. Many of them are looked at as the lines of one text, which is a hundred times
faster than one by one, where the pattern means the same there.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate

import re2  # type: ignore[import-untyped]

#: Of patterns made of these and of groups without flags it is known what they mean line by line.
_PLAIN = re.compile(r"(?:[\w^$.*+?()|\[\]{},-]|\(\?:|\\[dw.-])*", re.ASCII)
#: For fewer names it is not worth it.
_FEW = 32


@dataclass(slots=True)
class _Found:
    #: The names that were looked at, and those that match.
    seen: frozenset[str]
    matched: set[str]


class Names:
    """Names that patterns are looked for in, also as the lines of one text."""

    def __init__(self, names: Iterable[str]) -> None:
        self.names = list(names)

    @cached_property
    def text(self) -> str:
        return "\n".join(self.names)

    @cached_property
    def starts(self) -> Sequence[int]:
        """Where in the text each line begins, and where one more would."""
        return list(accumulate((len(name) + 1 for name in self.names), initial=0))


class NodePatterns:
    def __init__(self) -> None:
        self._seen: frozenset[str] = frozenset()
        self._found: dict[str, _Found] = {}
        self._asked: set[str] = set()
        self._index: Mapping[str, int] = {}
        #: By the names that were looked at, those that have come since.
        self._fresh: dict[frozenset[str], Names] = {}

    def begin(self, index: Mapping[str, int]) -> None:
        """From now on these nodes are meant, with their rows. What nobody has asked for since the last time is
        forgotten.
        """
        self._found = {pattern: found for pattern, found in self._found.items() if pattern in self._asked}
        self._asked, self._index, self._fresh = set(), index, {}
        if len(index) != len(self._seen) or index.keys() != self._seen:
            self._seen = frozenset(index)

    def rows(self, pattern: re2._Regexp) -> list[int]:
        """The rows of the nodes whose names it is found in."""
        found = self._found.get(pattern.pattern)
        if found is None:
            found = _Found(self._seen, set(matching(pattern, self._new(frozenset()))))
        elif found.seen is not self._seen:
            found = _Found(self._seen, (found.matched & self._seen).union(matching(pattern, self._new(found.seen))))
        self._found[pattern.pattern] = found
        self._asked.add(pattern.pattern)
        return [self._index[name] for name in found.matched]

    def _new(self, seen: frozenset[str]) -> Names:
        new = self._fresh.get(seen)
        if new is None:
            new = self._fresh[seen] = Names(self._seen - seen)
        return new


def matching(pattern: re2._Regexp, among: Names) -> list[str]:
    """The names in which the pattern is found."""
    if len(among.names) > _FEW and is_plain(pattern):
        found = _in_lines(pattern, among)
        if found is not None:
            return found
    return [name for name in among.names if pattern.search(name)]


def is_plain(pattern: re2._Regexp) -> bool:
    """Whether it means the same in a line as in a text of its own. What is found in nothing at all would be found
    between all letters.
    """
    text = pattern.pattern
    has_flags = "(?" in text.replace("(?:", "")
    return not has_flags and _PLAIN.fullmatch(text) is not None and pattern.search("") is None


def _in_lines(pattern: re2._Regexp, among: Names) -> list[str] | None:
    """None when it was found across lines, so that nothing is known."""
    starts, lines = among.starts, set()
    for match in re2.finditer(f"(?m){pattern.pattern}", among.text, pattern.options):
        line = bisect_right(starts, match.start()) - 1
        if match.end() >= starts[line + 1]:
            return None
        lines.add(line)
    return [among.names[line] for line in lines]
