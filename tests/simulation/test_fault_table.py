"""Rows of the fault table, each as a schedule with exactly this fault."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.simulation.network import Stream
from tests.simulation.schedule import Event, Schedule, schedule_of
from tests.simulation.simulation import Outcome, simulate

GANG = Event(5.0, "submit", "gang-0", 4, 2.0, "alice/red/low")


def _schedule(*events: Event, bind_mode: str = "request", replicas: int = 1, **facts: object) -> Schedule:
    return Schedule(0, bind_mode, False, replicas, events, **facts)  # type: ignore[arg-type]


def _terms(outcome: Outcome, kind: str) -> list[str]:
    return [line.split()[-1] for line in outcome.trace if f" {kind}-" in line and " leads in term " in line]


@pytest.mark.parametrize("process", ["scheduler-0", "binder-0", "controllers-0", "webhook-0"])
def test_half_open_watches_are_replaced_when_they_are_silent(process: str) -> None:
    outcome = simulate(_schedule(Event(3.0, "freeze streams", process), GANG))
    assert outcome.violations == []


def test_half_open_watches_without_an_idle_timeout_leave_a_gang_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    """A check of the check above."""
    lines = Stream.lines
    monkeypatch.setattr(Stream, "lines", lambda stream, idle_seconds: lines(stream, None))
    outcome = simulate(_schedule(Event(3.0, "freeze streams", "scheduler-0"), GANG))
    assert "0 of 4 members of gang-0 have a node and the others fit" in outcome.violations


@pytest.mark.parametrize("seconds", [-3600.0, 3600.0])
@pytest.mark.parametrize("number", [0, 1])
def test_clock_that_jumps_neither_ends_nor_steals_a_lease(seconds: float, number: int) -> None:
    jumps = [Event(3.0, "jump clock", f"{kind}-{number}", amount=seconds) for kind in ("scheduler", "binder")]
    outcome = simulate(_schedule(*jumps, GANG, replicas=2))
    assert outcome.violations == []
    assert (_terms(outcome, "scheduler"), _terms(outcome, "binder")) == (["0"], ["0"])


@pytest.mark.parametrize("seed", range(8))
def test_two_binders_and_two_schedulers_that_ignore_their_leases_over_commit_nothing(seed: int) -> None:
    usurpers = ("scheduler-0", "scheduler-1", "binder-0", "binder-1")
    schedule = replace(schedule_of(seed), bind_mode="request", replicas=2, usurpers=usurpers)
    assert simulate(schedule).violations == []


@pytest.mark.parametrize("restarts", [False, True])
def test_member_that_was_to_complete_a_failed_request_is_evicted_again(restarts: bool) -> None:
    """One member is replaced while the first request waits for a binder; the second request holds only that one."""
    events = [
        Event(5.9, "noise", "scheduler-0", amount=1.0, other="lost_answers"),
        Event(6.9, "noise", "binder-0", amount=1.0, other="errors"),
        Event(8.4, "submit", "gang-0", 4, 2.0, "bob/blue/low"),
        Event(10.2, "submit", "gang-1", 3, 2.0, "alice/red/low"),
        Event(12.6, "delete pod", "gang-0"),
        Event(13.7, "kill", "binder-0", 60),
    ]
    events += [
        Event(15.0, "silence", process, other=kind)
        for process, kind in (("scheduler-0", "lost_answers"), ("binder-0", "errors"))
    ]
    if restarts:
        events.append(Event(34.0, "kill", "scheduler-0", 1))
    outcome = simulate(_schedule(*events))
    assert outcome.violations == []
    assert any("pods/gang-0-0/eviction" in line for line in outcome.trace)


def test_requests_deleted_while_no_binder_runs_leave_nothing_prepared() -> None:
    """The binder dies while it prepares the gang; the capacity goes to another one before it is back."""
    events = (
        GANG,
        Event(5.0, "kill", "binder-0", 24),
        Event(5.2, "submit", "gang-1", 4, 2.0, "alice/red/high"),
        Event(6.0, "delete requests"),
    )
    outcome = simulate(_schedule(*events))
    assert outcome.violations == []


def test_limit_of_a_queue_is_free_while_evicted_members_terminate() -> None:
    """A gang loses a node while no binder runs. The binder evicts the rest; others start before these have ended."""
    events = (
        Event(0.2, "kill", "binder-0", 63),
        Event(2.0, "submit", "gang-1", 6, 1.0, "alice/red/high"),
        Event(3.2, "submit", "gang-0", 3, 1.0, "alice/red/high"),
        Event(4.4, "submit", "gang-2", 3, 1.0, "alice/red/high"),
        Event(5.4, "kill", "binder-0", 27),
        Event(12.8, "remove node", "b"),
    )
    outcome = simulate(_schedule(*events))
    assert outcome.violations == []
