"""The errors of a configuration: all of them at once, each with its line.

The reader records an error and reads on, so that all errors can be corrected in one pass. The list is raised at the
end, or where nothing more can be read.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NoReturn

from stromboli.core.config.spelling import unknown_name

#: Beyond this many, a text is not a configuration.
MAX_PROBLEMS = 100
_MAX_SENTENCE_LENGTH = 400


@dataclass(frozen=True, slots=True)
class Problem:
    """One error. Lines count from one."""

    source: str
    line: int
    sentence: str

    def __str__(self) -> str:
        return f"{self.source}:{self.line}: {self.sentence}"


class ConfigurationError(ValueError):
    """An invalid configuration. Its text has one problem per line."""

    def __init__(self, problems: Sequence[Problem], warnings: Sequence[str] = ()) -> None:
        super().__init__(problems, warnings)
        self.problems = tuple(problems)
        self.warnings = tuple(warnings)

    def __str__(self) -> str:
        return "\n".join(str(problem) for problem in self.problems)


class Findings:
    """The errors and warnings found so far in one text."""

    def __init__(self, source: str) -> None:
        self.source = source
        self._problems: list[Problem] = []
        self._warnings: list[Problem] = []

    @property
    def warnings(self) -> tuple[str, ...]:
        """The warnings, in the order of the text."""
        return tuple(str(warning) for warning in sorted(self._warnings, key=_line))

    def add(self, line: int, sentence: str) -> None:
        """Record an error."""
        self._note(self._problems, line, sentence)

    def add_unknown(self, line: int, kind: str, name: str, known: Iterable[str], owner: str = "") -> None:
        """Record an unknown name. Finding the nearest one takes time and is skipped beyond the limit."""
        full = len(self._problems) >= MAX_PROBLEMS
        self.add(line, "" if full else unknown_name(kind, name, known, owner))

    def warn(self, line: int, sentence: str) -> None:
        """Record a warning."""
        self._note(self._warnings, line, sentence)

    def warn_unknown(self, line: int, kind: str, name: str, known: Iterable[str], owner: str = "") -> None:
        """Record an unknown name that has no effect."""
        full = len(self._warnings) >= MAX_PROBLEMS
        message = "" if full else unknown_name(kind, name, known, owner)
        self.warn(line, f"{message}{'' if message.endswith('?') else '.'} It has no effect.")

    def stop(self, line: int, sentence: str) -> NoReturn:
        """Record an error after which nothing can be read."""
        self.add(line, sentence)
        raise self._error()

    def raise_if_any(self) -> None:
        if self._problems:
            raise self._error()

    def _note(self, notes: list[Problem], line: int, sentence: str) -> None:
        if len(notes) == MAX_PROBLEMS:
            sentence = f"there is more from here on; only {MAX_PROBLEMS} are shown"
        elif len(sentence) > _MAX_SENTENCE_LENGTH:
            sentence = f"{sentence[: _MAX_SENTENCE_LENGTH - 3]}..."
        if len(notes) <= MAX_PROBLEMS:
            notes.append(Problem(self.source, line, sentence))

    def _error(self) -> ConfigurationError:
        return ConfigurationError(sorted(self._problems, key=_line), self.warnings)


def _line(problem: Problem) -> int:
    return problem.line
