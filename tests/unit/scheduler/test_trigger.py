"""When the next cycle begins, by a clock that is moved by hand."""

from __future__ import annotations

import asyncio

import pytest

from stromboli.scheduler.trigger import CycleTrigger, shortest_pause


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """Sleeping advances the clock."""
    clock = Clock()
    pause = asyncio.sleep

    async def sleep(seconds: float) -> None:
        clock.now += seconds
        await pause(0)

    monkeypatch.setattr("stromboli.scheduler.trigger.asyncio.sleep", sleep)
    return clock


async def test_without_a_ring_time_passes(clock: Clock) -> None:
    assert await CycleTrigger(clock, debounce=0.02).wait(0.001) is False


async def test_a_ring_is_heard_after_a_moment_of_silence(clock: Clock) -> None:
    trigger = CycleTrigger(clock, debounce=0.02)
    trigger.notify()
    assert await trigger.wait(1.0) is True
    assert clock.now == pytest.approx(0.02)
    assert await trigger.wait(0.001) is False, "it rings once"


async def test_notifications_in_a_row_are_one_and_cannot_delay_it_indefinitely(clock: Clock) -> None:
    trigger = CycleTrigger(clock, debounce=0.02, max_wait=0.25)

    def ring_again() -> None:
        trigger.notify()
        if clock.now < 10:
            asyncio.get_running_loop().call_soon(ring_again)

    ring_again()
    assert await trigger.wait(1.0) is True
    assert 0.25 <= clock.now < 0.3
    clock.now = 10.0
    await asyncio.sleep(0)


async def test_wait_cancelled_during_a_notification_is_cancelled() -> None:
    trigger = CycleTrigger(Clock(), debounce=0.0)

    async def listen() -> None:
        while True:
            await trigger.wait(10.0)

    for _ in range(20):
        task = asyncio.create_task(listen())
        await asyncio.sleep(0)
        trigger.notify()
        task.cancel()
        done, _ = await asyncio.wait([task], timeout=30.0)
        assert done
        assert task.cancelled()


async def test_after_a_long_cycle_it_is_silent_for_a_while_but_not_for_long(clock: Clock) -> None:
    trigger = CycleTrigger(clock, debounce=0.02, max_wait=0.25)
    trigger.pause(0.1)
    trigger.notify()
    assert await trigger.wait(1.0) is True
    assert clock.now == pytest.approx(0.1)
    trigger.pause(60.0)
    trigger.notify()
    assert await trigger.wait(1.0) is True
    assert clock.now == pytest.approx(0.35), "a pause is at most max_wait"


async def test_pause_for_waiting_binds_is_longer_than_any_other(clock: Clock) -> None:
    trigger = CycleTrigger(clock, debounce=0.02, max_wait=0.25)
    trigger.pause(60.0, at_least=0.5)
    trigger.notify()
    assert await trigger.wait(1.0) is True
    assert clock.now == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("cycle", "writes", "pause"),
    [
        pytest.param(3.0, 0, 0.0, id="nothing waits"),
        pytest.param(3.0, 1, 3.0, id="a long cycle leaves as much time for writes"),
        pytest.param(60.0, 1, 5.0, id="but not indefinitely"),
        pytest.param(0.01, 10, 0.01, id="writes of a moment"),
        pytest.param(0.01, 500, 0.5, id="many writes"),
        pytest.param(0.01, 10_000, 1.0, id="very many writes"),
        pytest.param(3.0, 10_000, 3.0, id="very many writes after a long cycle"),
    ],
)
def test_shortest_pause(cycle: float, writes: int, pause: float) -> None:
    assert shortest_pause(cycle, writes=writes) == pause
