"""Short forms of reasons."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stromboli.core.model.reasons import CODES, MAX_SHORT, Code, Reason
from stromboli.core.model.resources.resources import ResourceAxis

_MAX_TITLE = 30

SHORT = [
    ("text of the producer", Reason(Code.QUEUE_SHARE, "detail", short="own"), "own"),
    ("function of the producer", Reason(Code.QUEUE_SHARE, "detail", short=lambda: "own"), "own"),
    ("a detail that fits", Reason(Code.CLAIM_MISSING, "claim data not found"), "claim data not found"),
    ("a blank text is none", Reason(Code.NO_PODS, "detail", short=" "), "detail"),
    ("title alone for a detail about nodes", Reason(Code.NODE_UNSCHEDULABLE, "node(s) were unschedulable"), "cordoned"),
    (
        "a long detail follows the title and is cut between words",
        Reason(Code.PLUGIN_REFUSED, "the licence server refused the job for a reason that it did not report"),
        "refused by a plugin: the licence server refused the job...",
    ),
    (
        "a list is not cut after the number of an item",
        Reason(Code.TAINT, "", short="2 of 4 pods fit; 4 nodes: 3 had maintenance today, 1 insufficient cpu"),
        "2 of 4 pods fit; 4 nodes: 3 had maintenance today...",
    ),
    ("a long word is cut", Reason(Code.TAINT, "", short="x" * 61), "x" * 57 + "..."),
    ("line ends become spaces", Reason(Code.TAINT, "", short="a\nb\t c"), "a b c"),
]  # fmt: skip


@pytest.mark.parametrize(("reason", "short"), [each[1:] for each in SHORT], ids=[each[0] for each in SHORT])
def test_short_form(reason: Reason, short: str) -> None:
    assert reason.short == short


@given(st.sampled_from(Code), st.text(), st.text())
def test_short_form_is_one_short_line(code: Code, detail: str, own: str) -> None:
    for short in (Reason(code, detail).short, Reason(code, detail, short=own).short):
        assert 0 < len(short) <= MAX_SHORT
        assert len(short.splitlines()) == 1


@pytest.mark.parametrize("code", Code)
def test_code_has_a_short_title(code: Code) -> None:
    title = CODES[code].title
    assert 0 < len(title) <= _MAX_TITLE
    assert not title.endswith(".")


def test_reasons_are_equal_if_they_state_the_same_fact() -> None:
    assert {Reason(Code.TAINT, "detail", short="own"), Reason(Code.TAINT, "detail")} == {Reason(Code.TAINT, "detail")}
    assert Reason(Code.TAINT, "detail") != Reason(Code.HOST_PORT, "detail")
    share = Reason(Code.QUEUE_SHARE, "queue a has 8", fact=("a", 0))
    assert share == Reason(Code.QUEUE_SHARE, "queue a has 9", fact=("a", 0))
    assert share != Reason(Code.QUEUE_SHARE, "queue a has 8", fact=("a", 1))


AMOUNTS = [
    ("cpu", 8000, "8 cpu"),
    ("cpu", 500, "500m cpu"),
    ("memory", 64 << 30, "64Gi memory"),
    ("memory", (32 << 30) - 1, "31.9Gi memory"),
    ("memory", 32_780_224 << 10, "31.2Gi memory"),
    ("memory", 1_234_567, "1.1Mi memory"),
    ("pods", 3, "3 pods"),
    ("nvidia.com/gpu", 12000, "12 GPUs"),
    ("amd.com/gpu", 1000, "1 GPU"),
    ("nvidia.com/gpu", 0, "0 GPUs"),
    ("nvidia.com/gpu", 6400, "6.4 GPUs"),
    ("nvidia.com/gpu", 62, "0.062 GPUs"),
    ("example.com/fpga", 2000, "2 fpga"),
]


@pytest.mark.parametrize(("name", "amount", "text"), AMOUNTS, ids=[each[2] for each in AMOUNTS])
def test_short_amount(name: str, amount: int, text: str) -> None:
    axis = ResourceAxis()
    assert axis.short(axis.dimension(name), amount) == text
