"""Nodes whose names match a regular expression, cached while the pattern is in use.

Each name is matched once per pattern. Many names are matched as the lines of one text, which is a hundred times faster
than one by one, if the pattern means the same there.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate

import re2  # type: ignore[import-untyped]

#: Patterns of only these characters, and groups without flags, have a known meaning line by line.
_PLAIN = re.compile(r"(?:[\w^$.*+?()|\[\]{},-]|\(\?:|\\[dw.-])*", re.ASCII)
#: Below this number of names, matching them as one text does not pay off.
_FEW = 32


@dataclass(slots=True)
class _Found:
    #: Names that were checked, and those that match.
    seen: frozenset[str]
    matched: set[str]


class Names:
    """Names to match, also as the lines of one text."""

    def __init__(self, names: Iterable[str]) -> None:
        self.names = list(names)

    @cached_property
    def text(self) -> str:
        return "\n".join(self.names)

    @cached_property
    def starts(self) -> Sequence[int]:
        """Offset of each line in the text, and the end."""
        return list(accumulate((len(name) + 1 for name in self.names), initial=0))


class NodePatterns:
    def __init__(self) -> None:
        self._seen: frozenset[str] = frozenset()
        self._found: dict[str, _Found] = {}
        self._asked: set[str] = set()
        self._index: Mapping[str, int] = {}
        #: By the set of checked names, the names that are new since.
        self._fresh: dict[frozenset[str], Names] = {}

    def begin(self, index: Mapping[str, int]) -> None:
        """Match against these nodes from now on. Patterns that were not used since the last call are dropped."""
        self._found = {pattern: found for pattern, found in self._found.items() if pattern in self._asked}
        self._asked, self._index, self._fresh = set(), index, {}
        if len(index) != len(self._seen) or index.keys() != self._seen:
            self._seen = frozenset(index)

    def rows(self, pattern: re2._Regexp) -> list[int]:
        """Rows of the nodes whose names match."""
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
    """Names that match the pattern."""
    if len(among.names) > _FEW and is_plain(pattern):
        found = _in_lines(pattern, among)
        if found is not None:
            return found
    return [name for name in among.names if pattern.search(name)]


def is_plain(pattern: re2._Regexp) -> bool:
    """Report whether the pattern means the same in a line as in a text of its own. A pattern that matches the empty
    string would match everywhere.
    """
    text = pattern.pattern
    has_flags = "(?" in text.replace("(?:", "")
    return not has_flags and _PLAIN.fullmatch(text) is not None and pattern.search("") is None


def _in_lines(pattern: re2._Regexp, among: Names) -> list[str] | None:
    """Lines that match; None if a match spans several lines, so that the result is unknown."""
    starts, lines = among.starts, set()
    for match in re2.finditer(f"(?m){pattern.pattern}", among.text, pattern.options):
        line = bisect_right(starts, match.start()) - 1
        if match.end() >= starts[line + 1]:
            return None
        lines.add(line)
    return [among.names[line] for line in lines]
