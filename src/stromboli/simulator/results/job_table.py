"""The table of a simulation: a row per job in order of submission, and a row per attempt to run it.

Columns are arrays of numbers, so that a million jobs take about 300 MB. Times are seconds since the start of the trace;
a time that has not come, and an unknown duration, is NaN. Amounts are those of one pod: thousandths of processors and
GPUs, bytes. Columns may be added; those that exist keep their names and meanings.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from enum import IntEnum
from math import nan
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Column = NDArray[np.float64] | NDArray[np.int64]


class JobOutcome(IntEnum):
    """What has become of a job, or of an attempt to run it."""

    WAITING = 0
    RUNNING = 1
    COMPLETED = 2
    #: Ended at its requested run time.
    KILLED = 3
    #: Its pods failed, and the job is not tried again.
    FAILED = 4
    #: Only of attempts: evicted in favour of another job.
    PREEMPTED = 5


class JobResult(NamedTuple):
    """A job of the table."""

    name: str
    queue: str
    user: str
    group: str
    #: The line of the trace.
    line: int
    pods: int
    cpu: int
    memory: int
    gpu: int
    submitted: float
    #: The start of its first attempt, and its end.
    started: float
    ended: float
    #: The run time in the simulated world, the requested one, and the one that the scheduler was given.
    run_time: float
    requested: float
    estimate: float
    #: Seconds without its pods on nodes: until its first start, and after each interruption.
    waited: float
    preemptions: int
    failures: int
    #: Seconds of run time that interruptions lost.
    lost: float
    outcome: JobOutcome


class AttemptResult(NamedTuple):
    """An attempt to run a job."""

    #: The row of its job.
    job: int
    started: float
    ended: float
    outcome: JobOutcome
    #: The row of the node of each pod, among the nodes of the run.
    nodes: Sequence[int]
    #: The number of the shared GPU of each pod; -1 for pods without one. It is that of all pods that share it.
    devices: Sequence[int]


#: Numbers of a job, with the type of their array.
NUMBERS = {
    "line": "q", "pods": "q", "cpu": "q", "memory": "q", "gpu": "q", "submitted": "d", "started": "d", "ended": "d",
    "run_time": "d", "requested": "d", "estimate": "d", "waited": "d", "preemptions": "q", "failures": "q", "lost": "d",
    "outcome": "b",
}  # fmt: skip
ATTEMPT_NUMBERS = {"job": "q", "started": "d", "ended": "d", "outcome": "b"}
TEXTS = ("name", "queue", "user", "group")


class TextColumn:
    """Texts of which each different one is kept once."""

    def __init__(self) -> None:
        self.codes = array("i")
        #: The different texts in order of their first use.
        self.texts: list[str] = []
        self._numbers: dict[str, int] = {}

    def append(self, text: str) -> None:
        number = self._numbers.get(text)
        if number is None:
            number = self._numbers[text] = len(self.texts)
            self.texts.append(text)
        self.codes.append(number)

    def __getitem__(self, row: int) -> str:
        return self.texts[self.codes[row]]


class JobTable:
    """Written by the simulation, read by everything else through rows and columns."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self.queues, self.users, self.groups = TextColumn(), TextColumn(), TextColumn()
        self._numbers: dict[str, array[float]] = {name: array(kind) for name, kind in NUMBERS.items()}
        self._attempts: dict[str, array[float]] = {name: array(kind) for name, kind in ATTEMPT_NUMBERS.items()}
        #: The end of the nodes of each attempt within `_nodes`.
        self._node_ends = array("q")
        self._nodes = array("i")
        self._devices = array("i")
        self._device_numbers: dict[str, int] = {"": -1}

    def __len__(self) -> int:
        return len(self.names)

    # -- writing ------------------------------------------------------------------------------------------------

    def add(
        self, name: str, queue: str, user: str, group: str, *, line: int, pods: int, cpu: int, memory: int, gpu: int,
        submitted: float, run_time: float, requested: float, estimate: float,
    ) -> int:  # fmt: skip
        """Add a job that waits; return its row."""
        self.names.append(name)
        self.queues.append(queue)
        self.users.append(user)
        self.groups.append(group)
        values = (line, pods, cpu, memory, gpu, submitted, nan, nan, run_time, requested, estimate, nan, 0, 0, 0.0, 0)
        for column, value in zip(self._numbers.values(), values, strict=True):
            column.append(value)
        return len(self.names) - 1

    def set(self, row: int, name: str, value: float) -> None:
        self._numbers[name][row] = value

    def get(self, row: int, name: str) -> float:
        return self._numbers[name][row]

    def add_attempt(
        self, job: int, started: float, ended: float, outcome: JobOutcome, nodes: Sequence[int],
        devices: Sequence[str] = (),
    ) -> None:  # fmt: skip
        """Add an attempt that has ended, or that still runs at the end of the simulation."""
        for column, value in zip(self._attempts.values(), (job, started, ended, outcome), strict=True):
            column.append(value)
        self._nodes.extend(nodes)
        numbers = self._device_numbers
        self._devices.extend(numbers.setdefault(name, len(numbers) - 1) for name in devices or ("",) * len(nodes))
        self._node_ends.append(len(self._nodes))

    # -- reading ------------------------------------------------------------------------------------------------

    def column(self, name: str) -> Column:
        """Return a copy of a column of numbers."""
        return np.array(self._numbers[name])

    def codes(self, name: str) -> tuple[NDArray[np.int32], Sequence[str]]:
        """Return a column of texts (`queue`, `user` or `group`) as numbers, and the text of each number."""
        column = {"queue": self.queues, "user": self.users, "group": self.groups}[name]
        return np.array(column.codes), column.texts

    def row(self, row: int) -> JobResult:
        numbers = {name: column[row] for name, column in self._numbers.items()}
        outcome = JobOutcome(int(numbers.pop("outcome")))
        texts = (self.names[row], self.queues[row], self.users[row], self.groups[row])
        return JobResult(*texts, **numbers, outcome=outcome)  # type: ignore[arg-type]

    def rows(self) -> Iterator[JobResult]:
        return map(self.row, range(len(self)))

    @property
    def attempt_count(self) -> int:
        return len(self._node_ends)

    def attempt_column(self, name: str) -> Column:
        """Return a copy of a column of the attempts: `job`, `started`, `ended` or `outcome`."""
        return np.array(self._attempts[name])

    def attempt_pods(self) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int32]]:
        """Return the pods of all attempts one after the other: the end of each attempt's, their nodes and devices."""
        return np.array(self._node_ends), np.array(self._nodes), np.array(self._devices)

    def attempts(self) -> Iterator[AttemptResult]:
        begin = 0
        for number, end in enumerate(self._node_ends):
            job, started, ended, outcome = (column[number] for column in self._attempts.values())
            pods = slice(begin, end)
            yield AttemptResult(
                int(job), started, ended, JobOutcome(int(outcome)), self._nodes[pods], self._devices[pods]
            )
            begin = end

    # -- as arrays ----------------------------------------------------------------------------------------------

    def arrays(self) -> Iterator[tuple[str, array[Any]]]:
        """Yield all arrays by name. They are those of the table, and are not changed."""
        for name, column in self._numbers.items():
            yield name, column
        for name, column in self._attempts.items():
            yield f"attempt_{name}", column
        for name, texts in (("queue", self.queues), ("user", self.users), ("group", self.groups)):
            yield f"{name}_code", texts.codes
        yield from (("pod_end", self._node_ends), ("pod_node", self._nodes), ("pod_device", self._devices))
