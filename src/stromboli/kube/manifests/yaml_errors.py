"""Errors of YAML and JSON texts, with their position."""

from typing import Protocol


class TextMark(Protocol):
    """A position in a text, counted from zero."""

    @property
    def index(self) -> int: ...
    @property
    def line(self) -> int: ...
    @property
    def column(self) -> int: ...


class YamlError(ValueError):
    """Invalid YAML or JSON; `line` and `column` count from one."""

    def __init__(self, source: str, position: tuple[int, int], message: str, remedy: str) -> None:
        super().__init__(source, position, message, remedy)
        self.source = source
        self.line, self.column = position
        self.message = message
        self.remedy = remedy

    def __str__(self) -> str:
        return f"{self.source}:{self.line}:{self.column}: {self.message}; {self.remedy}"


def position_of(mark: TextMark | None) -> tuple[int, int]:
    return (mark.line + 1, mark.column + 1) if mark else (1, 1)
