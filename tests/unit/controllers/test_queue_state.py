"""How queues open and close."""

from collections import Counter
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stromboli.controllers.commands import CLOSE_QUEUE, OPEN_QUEUE
from stromboli.controllers.queue_state import (
    CLOSED,
    CLOSED_BY_PARENT,
    CLOSING,
    OPEN,
    UNKNOWN,
    CommandRejected,
    QueueState,
    after_command,
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
    now: QueueState
    parent: QueueState | None
    is_empty: bool
    expected: QueueState


MARKED_CLOSED, MARKED_CLOSING = QueueState(CLOSED, True), QueueState(CLOSING, True)

CASES = [
    Case("an open queue stays open", QueueState(OPEN), QueueState(OPEN), False, QueueState(OPEN)),
    Case("an empty queue is not closed for that", QueueState(OPEN), None, True, QueueState(OPEN)),
    Case("closing while it holds groups", QueueState(CLOSING), QueueState(OPEN), False, QueueState(CLOSING)),
    Case("closed with the last group", QueueState(CLOSING), QueueState(OPEN), True, QueueState(CLOSED)),
    Case("closed too early: closing", QueueState(CLOSED), QueueState(OPEN), False, QueueState(CLOSING)),
    Case("closed stays closed", QueueState(CLOSED), QueueState(OPEN), True, QueueState(CLOSED)),
    Case("an unknown word", QueueState("Opne"), QueueState(OPEN), True, QueueState(UNKNOWN)),
    Case("unknown waits for a person", QueueState(UNKNOWN), QueueState(OPEN), True, QueueState(UNKNOWN)),
    Case("closes with its parent", QueueState(OPEN), QueueState(CLOSING), False, MARKED_CLOSING),
    Case("closes with its parent, empty", QueueState(OPEN), QueueState(CLOSED), True, MARKED_CLOSED),
    Case("stays closed with its parent", MARKED_CLOSING, QueueState(CLOSED), True, MARKED_CLOSED),
    Case("opened under a closed parent: closed again", QueueState(OPEN), QueueState(CLOSED), True, MARKED_CLOSED),
    Case("was closed on its own before", QueueState(CLOSED), QueueState(CLOSED), True, QueueState(CLOSED)),
    Case("opens with its parent", MARKED_CLOSED, QueueState(OPEN), True, QueueState(OPEN)),
    Case("opens when its parent is gone", MARKED_CLOSED, None, True, QueueState(OPEN)),
    Case("closed on its own stays closed", QueueState(CLOSED), QueueState(OPEN), True, QueueState(CLOSED)),
]


@pytest.mark.parametrize("case", CASES, ids=[case.title for case in CASES])
def test_standing(case: Case) -> None:
    assert next_state(case.now, case.parent, is_empty=case.is_empty) == case.expected


STANDINGS = st.builds(QueueState, st.sampled_from([OPEN, CLOSING, CLOSED, UNKNOWN, "x"]), st.booleans())


@given(STANDINGS, st.none() | STANDINGS, st.booleans())
def test_the_rules_come_to_rest_at_once(now: QueueState, parent: QueueState | None, is_empty: bool) -> None:
    settled = next_state(now, parent, is_empty=is_empty)
    assert next_state(settled, parent, is_empty=is_empty) == settled


@given(STANDINGS, st.booleans())
def test_no_queue_is_open_below_a_closed_one(now: QueueState, is_empty: bool) -> None:
    assert next_state(now, QueueState(CLOSED), is_empty=is_empty).is_closed


class Command(NamedTuple):
    title: str
    now: QueueState
    action: str
    expected: QueueState
    parent: QueueState | None = QueueState(OPEN)


COMMANDS = [
    Command("closes an open queue", QueueState(OPEN), CLOSE_QUEUE, QueueState(CLOSING)),
    Command("closes a queue of an unknown state", QueueState(UNKNOWN), CLOSE_QUEUE, QueueState(CLOSING)),
    Command("closed stays closed", QueueState(CLOSED), CLOSE_QUEUE, QueueState(CLOSED)),
    Command("closed on its own from now on", MARKED_CLOSED, CLOSE_QUEUE, QueueState(CLOSED), MARKED_CLOSED),
    Command("opens a closing queue", QueueState(CLOSING), OPEN_QUEUE, QueueState(OPEN)),
    Command("opens a queue of an unknown state", QueueState(UNKNOWN), OPEN_QUEUE, QueueState(OPEN)),
    Command("opens the root", QueueState(CLOSED), OPEN_QUEUE, QueueState(OPEN), None),
]


@pytest.mark.parametrize("case", COMMANDS, ids=[case.title for case in COMMANDS])
def test_command(case: Command) -> None:
    assert after_command(case.now, case.action, case.parent) == case.expected


@pytest.mark.parametrize(
    ("action", "parent", "message"),
    [(OPEN_QUEUE, QueueState(CLOSING), "parent queue is closed"), ("AbortJob", None, "unknown action 'AbortJob'")],
    ids=["below a closed parent", "of a job"],
)
def test_rejected_command(action: str, parent: QueueState | None, message: str) -> None:
    with pytest.raises(CommandRejected, match=message):
        after_command(QueueState(CLOSED), action, parent)


def test_state_of_a_queue_object() -> None:
    marked = KubeQueue(
        metadata=ObjectMeta(name="q", annotations={CLOSED_BY_PARENT: "true"}), status=QueueStatus(CLOSED)
    )
    assert state_of(KubeQueue()) == QueueState(OPEN)
    assert state_of(marked) == MARKED_CLOSED


def test_the_tree() -> None:
    assert parent_of(KubeQueue(metadata=ObjectMeta(name="root"))) is None
    assert parent_of(KubeQueue(metadata=ObjectMeta(name="a"))) == "root"
    assert parent_of(KubeQueue(metadata=ObjectMeta(name="b"), spec=QueueSpec(parent="a"))) == "a"


def test_counts() -> None:
    phases = ["Pending", None, "", "Inqueue", "Running", "Running", "Completed", "Unknown", "Strange"]
    counted = Counter(phase_of(PodGroup(status=PodGroupStatus(phase=phase))) for phase in phases)
    assert counts_of(counted) == {"pending": 3, "inqueue": 1, "running": 2, "unknown": 1, "completed": 1}
