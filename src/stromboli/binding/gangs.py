"""The next step for a partly bound gang; the rules are shared by both bind modes.

The API server binds one pod at a time, so a gang can be partly bound for a moment. The next step is one of:

* `COMPLETE`: every member that can be bound is bound, and the minimum is reached.
* `BIND`: enough members are ready to reach the minimum. A gang is rolled forward as long as that is possible.
* `WAIT`: the minimum can still be reached, but not now.
* `UNWIND`: the minimum cannot be reached, and members are bound: they are evicted.
* `FAIL`: the minimum cannot be reached, and no member is bound.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum, auto

#: Why members of a gang that is unwound are evicted.
UNWIND_REASON = "the gang could not be completed"


class GangStep(Enum):
    COMPLETE = auto()
    BIND = auto()
    WAIT = auto()
    UNWIND = auto()
    FAIL = auto()


def next_step(minimum: int, *, placed: int, bound_here: int, open_members: int, ready: int) -> GangStep:
    """The next step for one decision of which `minimum` members must be bound.

    `placed` members have a node, `bound_here` of them by this decision; `open_members` may still be bound, `ready` of
    them now.
    """
    if placed + open_members < minimum:
        return GangStep.UNWIND if bound_here else GangStep.FAIL
    if not open_members:
        return GangStep.COMPLETE
    return GangStep.BIND if placed + ready >= minimum else GangStep.WAIT


def recovery_step(*, is_whole: bool, can_complete: bool, is_late: bool) -> GangStep:
    """The next step for a gang that a decision left partly bound, while later decisions may complete it.

    `can_complete`: the gang is whole once the pending binds succeed.
    """
    if is_whole:
        return GangStep.COMPLETE
    return GangStep.UNWIND if is_late and not can_complete else GangStep.WAIT


def failing_members(members: Sequence[str], problems: Mapping[str, str], minimum: int) -> dict[str, str]:
    """The members, by uid, that are not bound because of these problems: all of them when too few are left."""
    left = len(members) - len(problems)
    step = next_step(minimum, placed=0, bound_here=0, open_members=left, ready=left)
    if not problems or step is not GangStep.FAIL:
        return dict(problems)
    reason = f"another member of the gang cannot be bound: {next(iter(problems.values()))}"
    return {uid: problems.get(uid, reason) for uid in members}
