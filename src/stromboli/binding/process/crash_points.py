"""Named moments at which a test may have the process die, as a power cut would: nothing is finished or said.

    STROMBOLI_CRASH_POINT="before create pods/binding#3" stromboli binder

kills the process at the third time it comes to that point. Without the variable a point costs one comparison.
"""

from __future__ import annotations

import os
import signal

VARIABLE = "STROMBOLI_CRASH_POINT"

_name, _, _times = os.environ.get(VARIABLE, "").partition("#")
_left = int(_times) if _times.isdecimal() else 1


def crash_point(name: str) -> None:
    """The process dies here, if somebody wants it to."""
    global _left
    if name != _name:
        return
    _left -= 1
    if _left <= 0:
        os.kill(os.getpid(), signal.SIGKILL)
