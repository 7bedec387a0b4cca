"""The list of controllers is read as kube-controller-manager and Volcano read theirs."""

import pytest

from stromboli.controllers.names import CONTROLLERS, HYPERNODE, PODGROUP, QUEUE, chosen_controllers

ALL_BUT_QUEUE = tuple(name for name in CONTROLLERS if name != QUEUE)


@pytest.mark.parametrize(
    ("text", "chosen"),
    [
        ("*", CONTROLLERS),
        ("*,-queue", ALL_BUT_QUEUE),
        ("-queue, *", ALL_BUT_QUEUE),
        ("*,-queue-controller", ALL_BUT_QUEUE),
        ("queue,podgroup", (PODGROUP, QUEUE)),
        ("pg-controller,hyperNode-controller", (PODGROUP, HYPERNODE)),
        ("*,queue,-queue", CONTROLLERS),
    ],
)
def test_list_of_controllers(text: str, chosen: tuple[str, ...]) -> None:
    assert chosen_controllers(text) == chosen


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("*,-jbo", "controller 'jbo' is unknown; known: podgroup, queue"),
        ("-queue", "'-queue' leaves no controller"),
        ("", "'' leaves no controller"),
        ("--queue", "controller '-queue' is unknown"),
    ],
)
def test_invalid_list_of_controllers(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        chosen_controllers(text)
