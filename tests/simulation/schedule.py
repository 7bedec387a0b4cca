"""A schedule: what users do and what fails, in order of time. A seed makes one; a failing one is shrunk to its core."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace

#: Tenants, with the queue that they may use.
TENANTS = {"alice": "red", "bob": "blue"}
NODES = ("a", "b", "c")
CPUS = 4
#: The limit of each queue, in CPUs.
LIMIT = 8
LENGTH = 15.0
"""Seconds in which events happen; then everything must settle."""


@dataclass(frozen=True, slots=True)
class Event:
    """`what` happens to `subject`; the meaning of the rest depends on what happens."""

    at: float
    what: str
    subject: str = ""
    number: int = 0
    amount: float = 0.0
    other: str = ""


@dataclass(frozen=True, slots=True)
class Schedule:
    seed: int
    #: `direct` or `request`.
    bind_mode: str
    preempts: bool
    #: Schedulers, and binders if there are any: one each, or another one on standby.
    replicas: int
    events: tuple[Event, ...]
    #: Processes that work although another one holds the lease.
    usurpers: tuple[str, ...] = ()

    def without(self, events: Sequence[Event]) -> Schedule:
        return replace(self, events=tuple(event for event in self.events if event not in events))

    def encoded(self) -> str:
        return json.dumps(asdict(self))

    @staticmethod
    def decoded(text: str) -> Schedule:
        facts = json.loads(text)
        events = tuple(Event(**event) for event in facts["events"])
        return Schedule(**{**facts, "events": events, "usurpers": tuple(facts["usurpers"])})


def processes_of(bind_mode: str, replicas: int) -> tuple[str, ...]:
    kinds = ("scheduler", "binder") if bind_mode == "request" else ("scheduler",)
    return (*(f"{kind}-{number}" for kind in kinds for number in range(replicas)), "controllers-0", "webhook-0")


def schedule_of(seed: int) -> Schedule:
    chance = random.Random(seed)  # noqa: S311
    bind_mode = chance.choice(("direct", "request"))
    replicas = chance.choice((1, 1, 2))
    faults = _FaultChoice(chance, processes_of(bind_mode, replicas))
    events = [*_work(chance), *faults.choose()]
    ordered = tuple(sorted(events, key=lambda event: event.at))
    return Schedule(seed, bind_mode, chance.random() < 0.4, replicas, ordered)


def _work(chance: random.Random) -> Iterator[Event]:
    """Gangs that are submitted, and what becomes of some of them."""
    for number in range(chance.randint(2, 5)):
        at, name, tenant = chance.uniform(0.0, LENGTH * 0.7), f"gang-{number}", chance.choice(list(TENANTS))
        queue = TENANTS[tenant] if chance.random() < 0.8 else chance.choice(list(TENANTS.values()))
        size, cpu = chance.choice((1, 2, 3, 4, 6)), chance.choice((1, 1, 2))
        yield Event(at, "submit", name, size, float(cpu), f"{tenant}/{queue}/{chance.choice(('low', 'high'))}")
        if chance.random() < 0.4:
            what = chance.choice(("delete gang", "finish gang", "delete pod", "delete pod"))
            yield Event(at + chance.uniform(0.0, 10.0), what, name, chance.randrange(size))


class _FaultChoice:
    def __init__(self, chance: random.Random, processes: Sequence[str]) -> None:
        self._chance = chance
        self._processes = processes
        self._kinds: list[Callable[[float, str], Iterator[Event]]] = [
            self._kill, self._kill, self._suspend, self._noise, self._noise, self._noise, self._streams,
            self._streams, self._nodes, self._requests, self._clock,
        ]  # fmt: skip

    def choose(self) -> Iterator[Event]:
        for _ in range(self._chance.randint(0, 6)):
            kind = self._chance.choice(self._kinds)
            yield from kind(self._chance.uniform(0.0, LENGTH), self._chance.choice(self._processes))

    def _kill(self, at: float, process: str) -> Iterator[Event]:
        """Kill a process before one of its next steps."""
        yield Event(at, "kill", process, int(self._chance.expovariate(1 / 60.0)) + 1)

    def _suspend(self, at: float, process: str) -> Iterator[Event]:
        yield Event(at, "suspend", process, amount=self._chance.choice((1.0, 5.0, 12.0)))

    def _noise(self, at: float, process: str) -> Iterator[Event]:
        """Messages of a process fail for some time."""
        kind = self._chance.choice(("refused", "errors", "lost_requests", "lost_answers", "slow"))
        yield Event(at, "noise", process, amount=self._chance.choice((0.1, 0.3, 1.0)), other=kind)
        yield Event(at + self._chance.uniform(0.5, 8.0), "silence", process, other=kind)

    def _streams(self, at: float, process: str) -> Iterator[Event]:
        yield Event(at, self._chance.choice(("cut streams", "freeze streams", "compact")), process)

    def _nodes(self, at: float, process: str) -> Iterator[Event]:
        node, what = self._chance.choice(NODES), self._chance.choice(("cordon", "remove node"))
        yield Event(at, what, node)
        yield Event(at + self._chance.uniform(1.0, 8.0), {"cordon": "uncordon"}.get(what, "add node"), node)

    def _requests(self, at: float, process: str) -> Iterator[Event]:
        yield Event(at, "delete requests", number=self._chance.randrange(3))

    def _clock(self, at: float, process: str) -> Iterator[Event]:
        yield Event(at, "jump clock", process, amount=self._chance.choice((-3600.0, 3600.0)))
