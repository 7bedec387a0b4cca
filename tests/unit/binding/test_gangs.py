"""The rules for partly bound gangs, which both bind modes use."""

from __future__ import annotations

import pytest

from stromboli.binding.gangs import GangStep, failing_members, next_step, recovery_step

#: The minimum, placed members, those bound by this decision, open members, ready members, and the next step.
STEPS = {
    "all members are bound": (3, 3, 3, 0, 0, GangStep.COMPLETE),
    "the minimum is bound and the others cannot be": (2, 2, 2, 0, 0, GangStep.COMPLETE),
    "all members are ready": (3, 0, 0, 3, 3, GangStep.BIND),
    "the minimum is ready": (2, 0, 0, 3, 2, GangStep.BIND),
    "a bound gang gets its optional member": (2, 2, 2, 1, 1, GangStep.BIND),
    "too few are ready": (3, 0, 0, 3, 2, GangStep.WAIT),
    "partly bound and too few are ready": (3, 2, 2, 1, 0, GangStep.WAIT),
    "partly bound and too few are left": (3, 2, 2, 0, 0, GangStep.UNWIND),
    "too few are left and another writer bound the others": (3, 2, 0, 0, 0, GangStep.FAIL),
    "too few are left": (3, 0, 0, 2, 2, GangStep.FAIL),
}


@pytest.mark.parametrize(("minimum", "placed", "here", "remaining", "ready", "expected"), STEPS.values(), ids=STEPS)
def test_next_step(minimum: int, placed: int, here: int, remaining: int, ready: int, expected: GangStep) -> None:
    assert next_step(minimum, placed=placed, bound_here=here, open_members=remaining, ready=ready) is expected


@pytest.mark.parametrize("is_late", [False, True])
@pytest.mark.parametrize("can_complete", [False, True])
def test_whole_gang_is_complete_in_any_case(can_complete: bool, is_late: bool) -> None:
    assert recovery_step(is_whole=True, can_complete=can_complete, is_late=is_late) is GangStep.COMPLETE


@pytest.mark.parametrize(
    ("can_complete", "is_late", "expected"),
    [
        (False, False, GangStep.WAIT),
        (True, False, GangStep.WAIT),
        (True, True, GangStep.WAIT),
        (False, True, GangStep.UNWIND),
    ],
)
def test_half_bound_gang_is_unwound_when_late_without_pending_binds(
    can_complete: bool, is_late: bool, expected: GangStep
) -> None:
    assert recovery_step(is_whole=False, can_complete=can_complete, is_late=is_late) is expected


def test_all_members_fail_when_too_few_are_left() -> None:
    found = failing_members(["a", "b", "c"], {"b": "the node is gone"}, 3)
    assert found["b"] == "the node is gone"
    assert {found["a"], found["c"]} == {"another member of the gang cannot be bound: the node is gone"}
    assert failing_members(["a", "b", "c"], {"b": "the node is gone"}, 2) == {"b": "the node is gone"}
    assert failing_members(["a"], {}, 3) == {}
