"""Lines out of chunks: a watch is one JSON document per line, cut by the network where it likes."""

from __future__ import annotations

MAX_LINE_LENGTH = 32 << 20
"""No object is near this size (etcd refuses 1.5 MB); a line that does not end is not a watch."""


class LineTooLong(ValueError):
    """The stream went on and on without an end of line."""


class Lines:
    """Collects chunks and gives back the lines that are complete.

    A long line arrives in many chunks, so what is incomplete is kept in pieces and joined once.
    """

    def __init__(self, longest: int = MAX_LINE_LENGTH) -> None:
        self._longest = longest
        self._pieces: list[bytes] = []
        self._length = 0

    def feed(self, chunk: bytes) -> list[bytes]:
        """The lines that the chunk completes, without their ends. Raises LineTooLong."""
        *complete, rest = chunk.split(b"\n")
        if complete and self._pieces:
            complete[0] = b"".join((*self._pieces, complete[0]))
            self._pieces.clear()
            self._length = 0
        if rest:
            self._pieces.append(rest)
            self._length += len(rest)
        if self._length > self._longest:
            raise LineTooLong(f"a line of more than {self._longest >> 20} MiB")
        return [line for line in complete if line]
