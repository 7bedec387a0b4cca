"""Ports for servers that cannot choose their own."""

from __future__ import annotations

import contextlib
import random
import socket

#: Below the ports that systems give to outgoing connections: none takes a port before its server listens.
_RANGE = range(15_000, 32_000)


def free_ports(number: int) -> list[int]:
    """Choose unused ports on the loopback device at random, so that test processes choose different ones."""
    chosen: list[int] = []
    with contextlib.ExitStack() as stack:
        while len(chosen) < number:
            probe = stack.enter_context(socket.socket())
            port = random.choice(_RANGE)  # noqa: S311
            with contextlib.suppress(OSError):
                probe.bind(("127.0.0.1", port))
                chosen.append(port)
    return chosen
