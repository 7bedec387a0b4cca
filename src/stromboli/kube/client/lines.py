"""Splits a streamed response into lines."""

from __future__ import annotations

MAX_LINE_LENGTH = 32 << 20
"""No object is near this size (etcd rejects 1.5 MB); a longer line is not a watch event."""


class LineTooLong(ValueError):
    """The stream has no end of line within the limit."""


class Lines:
    """Collect chunks and return complete lines.

    A long line arrives in many chunks, so incomplete data is kept in pieces and joined once.
    """

    def __init__(self, max_length: int = MAX_LINE_LENGTH) -> None:
        self._max_length = max_length
        self._pieces: list[bytes] = []
        self._length = 0

    def feed(self, chunk: bytes) -> list[bytes]:
        """Return the lines that the chunk completes, without line ends. Raises LineTooLong."""
        *complete, rest = chunk.split(b"\n")
        if complete and self._pieces:
            complete[0] = b"".join((*self._pieces, complete[0]))
            self._pieces.clear()
            self._length = 0
        if rest:
            self._pieces.append(rest)
            self._length += len(rest)
        if self._length > self._max_length:
            raise LineTooLong(f"a line of more than {self._max_length >> 20} MiB")
        return [line for line in complete if line]
