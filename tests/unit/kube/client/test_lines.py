"""Lines do not depend on how the network splits a text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stromboli.kube.client.lines import Lines, LineTooLong


@given(st.lists(st.binary(max_size=12), max_size=8), st.lists(st.integers(1, 7), min_size=1))
def test_lines_do_not_depend_on_chunks(content: list[bytes], cuts: list[int]) -> None:
    wanted = [line for part in content for line in part.split(b"\n") if line]
    text = b"".join(part + b"\n" for part in content)
    lines, found = Lines(), []
    position = turn = 0
    while position < len(text):
        step = cuts[turn % len(cuts)]
        found += lines.feed(text[position : position + step])
        position, turn = position + step, turn + 1
    assert found == wanted


def test_endless_line_raises() -> None:
    lines = Lines(max_length=10)
    assert lines.feed(b"0123456789") == []
    with pytest.raises(LineTooLong):
        lines.feed(b"0")


def test_many_short_lines_are_accepted() -> None:
    lines = Lines(max_length=10)
    assert len([line for _ in range(100) for line in lines.feed(b"1234567\n")]) == 100
