"""The search for failing seeds, in functions that other processes can import."""

from __future__ import annotations

from tests.simulation.schedule import Schedule, schedule_of
from tests.simulation.shrinking import shrunk
from tests.simulation.simulation import Outcome, simulate


def fails(schedule: Schedule) -> bool:
    return bool(simulate(schedule).violations)


def failure_of(seed: int) -> dict[str, object] | None:
    """The failure of a seed with its shrunk schedule; None if nothing was violated."""
    schedule = schedule_of(seed)
    return described(simulate(shrunk(schedule, fails))) if fails(schedule) else None


def described(outcome: Outcome) -> dict[str, object]:
    return {
        "seed": outcome.schedule.seed,
        "violations": outcome.violations,
        "digest": outcome.digest,
        "seconds": round(outcome.seconds, 1),
        "schedule": outcome.schedule.encoded(),
    }
