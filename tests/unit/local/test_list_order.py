"""Order of merged lists."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stromboli.local.patching.list_order import interleave

CASES = {
    "no requests": ("abc", "", "abc"),
    "nothing there": ("", "cab", "cab"),
    "new ones follow": ("ab", "c", "abc"),
    "new ones come where they were asked for": ("ab", "acb", "acb"),
    "the order is turned round": ("abc", "cba", "cba"),
    "others keep their place": ("axb", "ba", "bax"),
    "new ones first": ("xa", "na", "xna"),
}


@pytest.mark.parametrize("name", CASES)
def test_order(name: str) -> None:
    live, wanted, expected = CASES[name]
    assert "".join(interleave(live, wanted)) == expected


KEYS = st.lists(st.sampled_from("abcdef"), unique=True)


@given(KEYS, KEYS)
def test_merged_order_contains_every_key_once(live: list[str], wanted: list[str]) -> None:
    merged = interleave(live, wanted)
    assert sorted(merged) == sorted({*live, *wanted})
    assert [key for key in merged if key in wanted] == wanted
    assert [key for key in merged if key not in wanted] == [key for key in live if key not in wanted]
