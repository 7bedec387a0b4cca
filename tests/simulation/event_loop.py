"""A deterministic event loop: a virtual clock, and processes that stop between any two steps.

Every callback belongs to the process in whose context it was scheduled. A process that is killed runs no further step:
nothing is cancelled and no `finally` runs, as after a power failure. A process that is suspended runs its steps when it
resumes. Tasks have hashes by age, so that sets of them have the same order in every run.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import random
import secrets
import time
import types
import uuid
from asyncio.base_events import BaseEventLoop
from collections.abc import Callable, Coroutine, Iterator
from contextvars import Context, ContextVar, copy_context
from typing import Any
from unittest import mock

#: The wall clock at the start of every simulation.
BEGINNING = 1_800_000_000.0

PROCESS: ContextVar[Process] = ContextVar("PROCESS")


class Process:
    """A simulated process: the steps that it runs, until it dies."""

    def __init__(self, name: str, number: int, loop: SimulationLoop, seed: object) -> None:
        self.name = name
        #: How many processes of this name started before.
        self.number = number
        self.chance = random.Random(f"{seed}/{name}/{number}")  # noqa: S311
        self.is_dead = False
        #: The difference of its wall clock from the others.
        self.clock_offset = 0.0
        #: Called when it dies.
        self.on_death: Callable[[], None] = lambda: None
        self._loop = loop
        self._steps_left = -1
        self._is_suspended = False
        self._backlog: list[tuple[Context, list[asyncio.Handle], Callable[..., object], tuple[Any, ...]]] = []
        self.context = copy_context()
        self.context.run(PROCESS.set, self)

    def step(self, handles: list[asyncio.Handle], callback: Callable[..., object], arguments: tuple[Any, ...]) -> None:
        self._steps_left -= 1
        if self._steps_left == 0:
            self.kill()
        if self._is_suspended or self.is_dead:
            self._backlog.append((copy_context(), handles, callback, arguments))
        else:
            callback(*arguments)

    def start(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        return self._loop.create_task(work, context=self.context)

    def kill(self) -> None:
        if not self.is_dead:
            self.is_dead = True
            self.on_death()

    def kill_after(self, steps: int) -> None:
        """Die before the step with this number from now."""
        self._steps_left = steps

    def revive(self) -> None:
        """Run steps again, so that its coroutines can be ended."""
        self.is_dead, self._steps_left = False, -1
        self._resume()

    def suspend(self, seconds: float) -> None:
        self._is_suspended = True
        self._loop.call_later(seconds, self._resume, context=Context())

    def _resume(self) -> None:
        if self.is_dead:
            return
        self._is_suspended, backlog = False, self._backlog
        self._backlog = []
        for context, handles, callback, arguments in backlog:
            if not handles[0].cancelled():
                self._loop.call_soon(_unless_cancelled, handles, callback, arguments, context=context)


def _unless_cancelled(
    handles: list[asyncio.Handle], callback: Callable[..., object], arguments: tuple[Any, ...]
) -> None:
    """Run a step of the backlog, unless one of the backlog before it has cancelled it, as it cancels a timer."""
    if not handles[0].cancelled():
        callback(*arguments)


class _Clock:
    """The selector of the loop: it has no files, and waiting for them advances the clock."""

    now = 0.0

    def select(self, timeout: float | None = None) -> list[Any]:
        assert timeout is not None, "deadlock: no timer is set and nothing is ready"
        self.now += max(timeout, 0.0)
        return []


class _OrderedTask(asyncio.Task[Any]):
    """A task whose hash does not depend on its address."""

    _numbers = itertools.count()

    def __init__(self, *arguments: Any, **facts: Any) -> None:
        self._number = next(_OrderedTask._numbers)
        super().__init__(*arguments, **facts)

    def __hash__(self) -> int:
        return self._number


class SimulationLoop(BaseEventLoop):
    def __init__(self) -> None:
        super().__init__()
        _OrderedTask._numbers = itertools.count()
        self._clock = self._selector = _Clock()
        self._clock_resolution = 1e-9
        self.set_task_factory(lambda loop, work, context=None: _OrderedTask(work, loop=loop, context=context))
        self.set_exception_handler(self._failed)
        #: Errors of callbacks and of tasks that were dropped.
        self.errors: list[str] = []

    def time(self) -> float:
        return self._clock.now

    def call_soon(  # type: ignore[override]
        self, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> asyncio.Handle:
        process = PROCESS.get(None) if context is None else context.get(PROCESS)
        if process is None:
            return super().call_soon(callback, *args, context=context)
        handles: list[asyncio.Handle] = []
        handles.append(super().call_soon(process.step, handles, callback, args, context=context))
        return handles[0]

    def call_at(  # type: ignore[override]
        self, when: float, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> asyncio.TimerHandle:
        process = PROCESS.get(None) if context is None else context.get(PROCESS)
        if process is None:
            return super().call_at(when, callback, *args, context=context)
        handles: list[asyncio.Handle] = []
        handle = super().call_at(when, process.step, handles, callback, args, context=context)
        handles.append(handle)
        return handle

    def _process_events(self, event_list: list[Any]) -> None:
        pass

    def _write_to_self(self) -> None:
        pass

    def _failed(self, loop: asyncio.AbstractEventLoop, facts: dict[str, Any]) -> None:
        if facts.get("exception") is not None:
            self.errors.append(f"{facts['message']}: {facts['exception']!r}")


def _late_bound(clock: Callable[[], float]) -> Callable[[], float]:
    return lambda: getattr(time, clock.__name__)()


@contextlib.contextmanager
def virtual_world(loop: SimulationLoop, seed: object) -> Iterator[None]:
    """Replace time and chance by those of the simulation."""
    chance = random.Random(f"{seed}/world")  # noqa: S311

    def wall_clock() -> float:
        process = PROCESS.get(None)
        return BEGINNING + loop.time() + (process.clock_offset if process else 0.0)

    def own_chance() -> random.Random:
        process = PROCESS.get(None)
        return process.chance if process else chance

    replaced: list[tuple[types.ModuleType, str, Any]] = [
        (time, "time", wall_clock),
        (time, "monotonic", loop.time),
        (time, "perf_counter", loop.time),
        (uuid, "uuid4", lambda: uuid.UUID(int=chance.getrandbits(128), version=4)),
        (secrets, "token_hex", lambda size=8: own_chance().randbytes(size).hex()),
        (secrets, "choice", lambda options: own_chance().choice(options)),
        (random, "SystemRandom", own_chance),
        (random, "uniform", lambda low, high: own_chance().uniform(low, high)),
    ]
    with contextlib.ExitStack() as stack:
        for module, name, substitute in replaced:
            stack.enter_context(mock.patch.object(module, name, substitute))
        yield


@contextlib.contextmanager
def bound_late(*kinds: type) -> Iterator[None]:
    """Make clocks that are default arguments of constructors those of the module `time` when they are called."""
    real = {time.time: _late_bound(time.time), time.monotonic: _late_bound(time.monotonic)}
    with contextlib.ExitStack() as stack:
        for kind in kinds:
            function: Any = kind.__init__  # type: ignore[misc]
            keywords = {name: real.get(value, value) for name, value in (function.__kwdefaults__ or {}).items()}
            positional = tuple(real.get(value, value) for value in function.__defaults__ or ())
            stack.enter_context(mock.patch.object(function, "__kwdefaults__", keywords or None))
            stack.enter_context(mock.patch.object(function, "__defaults__", positional or None))
        yield
