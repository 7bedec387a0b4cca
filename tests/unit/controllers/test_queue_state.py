"""How queues open and close."""

from collections import Counter
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stromboli.controllers.queue_state import (
    CLOSED,
    CLOSED_BY_PARENT,
    CLOSING,
    OPEN,
    UNKNOWN,
    Standing,
    counts_of,
    next_state,
    parent_of,
    phase_of,
    state_of,
)
from stromboli.kube.objects.meta import ObjectMeta
from stromboli.kube.objects.volcano import KubeQueue, PodGroup, PodGroupStatus, QueueSpec, QueueStatus


class Case(NamedTuple):
    title: str
    now: Standing
    parent: Standing | None
    is_empty: bool
    expected: Standing


MARKED_CLOSED, MARKED_CLOSING = Standing(CLOSED, True), Standing(CLOSING, True)

CASES = [
    Case("an open queue stays open", Standing(OPEN), Standing(OPEN), False, Standing(OPEN)),
    Case("an empty queue is not closed for that", Standing(OPEN), None, True, Standing(OPEN)),
    Case("closing while it holds groups", Standing(CLOSING), Standing(OPEN), False, Standing(CLOSING)),
    Case("closed with the last group", Standing(CLOSING), Standing(OPEN), True, Standing(CLOSED)),
    Case("closed too early: closing", Standing(CLOSED), Standing(OPEN), False, Standing(CLOSING)),
    Case("closed stays closed", Standing(CLOSED), Standing(OPEN), True, Standing(CLOSED)),
    Case("an unknown word", Standing("Opne"), Standing(OPEN), True, Standing(UNKNOWN)),
    Case("unknown waits for a person", Standing(UNKNOWN), Standing(OPEN), True, Standing(UNKNOWN)),
    Case("closes with its parent", Standing(OPEN), Standing(CLOSING), False, MARKED_CLOSING),
    Case("closes with its parent, empty", Standing(OPEN), Standing(CLOSED), True, MARKED_CLOSED),
    Case("stays closed with its parent", MARKED_CLOSING, Standing(CLOSED), True, MARKED_CLOSED),
    Case("opened under a closed parent: closed again", Standing(OPEN), Standing(CLOSED), True, MARKED_CLOSED),
    Case("was closed on its own before", Standing(CLOSED), Standing(CLOSED), True, Standing(CLOSED)),
    Case("opens with its parent", MARKED_CLOSED, Standing(OPEN), True, Standing(OPEN)),
    Case("opens when its parent is gone", MARKED_CLOSED, None, True, Standing(OPEN)),
    Case("closed on its own stays closed", Standing(CLOSED), Standing(OPEN), True, Standing(CLOSED)),
]


@pytest.mark.parametrize("case", CASES, ids=[case.title for case in CASES])
def test_standing(case: Case) -> None:
    assert next_state(case.now, case.parent, is_empty=case.is_empty) == case.expected


STANDINGS = st.builds(Standing, st.sampled_from([OPEN, CLOSING, CLOSED, UNKNOWN, "x"]), st.booleans())


@given(STANDINGS, st.none() | STANDINGS, st.booleans())
def test_the_rules_come_to_rest_at_once(now: Standing, parent: Standing | None, is_empty: bool) -> None:
    settled = next_state(now, parent, is_empty=is_empty)
    assert next_state(settled, parent, is_empty=is_empty) == settled


@given(STANDINGS, st.booleans())
def test_no_queue_is_open_below_a_closed_one(now: Standing, is_empty: bool) -> None:
    assert next_state(now, Standing(CLOSED), is_empty=is_empty).is_closed


def test_state_of_a_queue_object() -> None:
    marked = KubeQueue(
        metadata=ObjectMeta(name="q", annotations={CLOSED_BY_PARENT: "true"}), status=QueueStatus(CLOSED)
    )
    assert state_of(KubeQueue()) == Standing(OPEN)
    assert state_of(marked) == MARKED_CLOSED


def test_the_tree() -> None:
    assert parent_of(KubeQueue(metadata=ObjectMeta(name="root"))) is None
    assert parent_of(KubeQueue(metadata=ObjectMeta(name="a"))) == "root"
    assert parent_of(KubeQueue(metadata=ObjectMeta(name="b"), spec=QueueSpec(parent="a"))) == "a"


def test_counts() -> None:
    phases = ["Pending", None, "", "Inqueue", "Running", "Running", "Completed", "Unknown", "Strange"]
    counted = Counter(phase_of(PodGroup(status=PodGroupStatus(phase=phase))) for phase in phases)
    assert counts_of(counted) == {"pending": 3, "inqueue": 1, "running": 2, "unknown": 1, "completed": 1}
