"""A file of a trace as lines and rows. Archives publish files compressed with gzip, whatever their names end with."""

from __future__ import annotations

import csv
import gzip
import zlib
from collections.abc import Iterator
from io import TextIOWrapper
from pathlib import Path
from typing import TextIO

from stromboli.kube.manifests.errors import path_problem
from stromboli.traces.trace import TraceError

#: Longer lines are no rows of a trace.
_MAX_LINE = 1 << 20
_GZIP = b"\x1f\x8b"


def lines_of(path: str) -> Iterator[tuple[int, str]]:
    """Yield the lines with their numbers. Raises TraceError for files that cannot be read."""
    try:
        with _opened(path) as file:
            yield from enumerate(iter(lambda: file.readline(_MAX_LINE), ""), 1)
    except (OSError, EOFError, zlib.error) as error:
        raise TraceError(_problem(path, error)) from error


def rows_of(path: str, delimiter: str = ",", *, quoted: bool = True) -> Iterator[tuple[int, list[str]]]:
    """Yield the rows of a table, each with the number of its last line. Blank lines, and comments that begin with `#`
    before the first row, are skipped.
    """
    numbers: list[int] = [0]

    def texts() -> Iterator[str]:
        has_begun = False
        for number, line in lines_of(path):
            numbers[0] = number
            if line.strip() and (has_begun or not line.startswith("#")):
                has_begun = True
                yield line

    try:
        lines = texts()
        unquoted = csv.reader(lines, delimiter=delimiter, quoting=csv.QUOTE_NONE)
        for row in csv.reader(lines, delimiter=delimiter) if quoted else unquoted:
            yield numbers[0], row
    except csv.Error as error:
        raise TraceError(f"{path}:{numbers[0]}: {error}; a table of text with separated columns is expected") from error


def first_line(path: str) -> str:
    """Return the first line with content that is no comment of a table; empty if there is none."""
    return next((line for _, line in lines_of(path) if line.strip() and not line.startswith("#")), "")


def begins_with(path: str, magic: bytes) -> bool:
    """Report how a file begins. Raises TraceError if it cannot be read."""
    try:
        with Path(path).open("rb") as file:
            return file.read(len(magic)) == magic
    except OSError as error:
        raise TraceError(_problem(path, error)) from error


def _opened(path: str) -> TextIO:
    """Open a file as text. Comments of old archives are not always UTF-8; what matters in a trace is."""
    if begins_with(path, _GZIP):
        return TextIOWrapper(gzip.open(path, "rb"), encoding="utf-8-sig", errors="replace", newline="")
    return Path(path).open(encoding="utf-8-sig", errors="replace", newline="")


def _problem(path: str, error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        return path_problem(path, error)
    return f"{path}: {error or type(error).__name__}; is the file complete?"
