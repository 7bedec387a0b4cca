"""Ports for servers that cannot choose their own."""

import contextlib
import random
import socket

import pytest

from testbed import ports


def test_chosen_ports_differ_and_can_be_used() -> None:
    chosen = ports.free_ports(5)
    assert len(set(chosen)) == 5
    with contextlib.ExitStack() as stack:
        for port in chosen:
            stack.enter_context(socket.create_server(("127.0.0.1", port)))


def test_port_in_use_is_not_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    [taken, unused] = ports.free_ports(2)
    candidates = iter([taken, taken, unused])
    monkeypatch.setattr(random, "choice", lambda _: next(candidates))
    with socket.create_server(("127.0.0.1", taken)):
        assert ports.free_ports(1) == [unused]
