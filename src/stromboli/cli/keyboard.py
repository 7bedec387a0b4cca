"""Single keys from a terminal, without waiting for the end of a line."""

from __future__ import annotations

import os
import select
import sys
import termios
import tty
from collections.abc import Callable, Iterator
from contextlib import contextmanager

#: Sequences of function keys are longer than one byte, and arrive at once.
_LONGEST = 8


@contextmanager
def keys() -> Iterator[Callable[[float], str]]:
    """Read keys as they are pressed; the value returns a key within some seconds, or the empty text.

    The terminal gets its settings back at the end.
    """
    terminal = sys.stdin.fileno()
    before = termios.tcgetattr(terminal)

    def read(seconds: float) -> str:
        ready, _, _ = select.select([terminal], [], [], seconds)
        return os.read(terminal, _LONGEST).decode("utf-8", "replace") if ready else ""

    try:
        tty.setcbreak(terminal)
        yield read
    finally:
        termios.tcsetattr(terminal, termios.TCSADRAIN, before)
