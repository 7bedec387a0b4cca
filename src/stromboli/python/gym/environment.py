"""An agent decides which job starts next, or on which node the pods of the first job run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stromboli.lab.extra import MissingExtra
from stromboli.python.gym.queue import JobQueue, QueuedJob, queued_jobs
from stromboli.python.traces import JobTrace, opened

try:
    import gymnasium
    from gymnasium import spaces
except ImportError as error:
    raise MissingExtra("lab") from error

JOB, NODE = CHOICES = ("job", "node")
#: Times are divided by this scale, and then mapped to [0, 1).
_HOUR = 3600.0

Observation = NDArray[np.float32]


class SchedulingEnv(gymnasium.Env[Observation, np.int64]):
    """One episode is a part of a trace, and ends when its last job has started.

    With `choose="job"`, action `n` starts the n-th waiting job by arrival, of the first `slots`. With `choose="node"`,
    action `n` puts the next pod of the first waiting job on node `n`; the job runs when all its pods have a node. The
    last action waits, and so does one that is not possible: `info["action_mask"]` has those that are. To wait is to let
    time pass until the next arrival or end of a job, and takes back the pods of a job that are not all placed. Where
    nothing is possible, time passes by itself.

    Each row of an observation is a job, or a node after the job, with values in [0, 1]. The reward is what bounded
    slowdown grew by meanwhile, negative and divided by the number of jobs: their sum over an episode is minus the mean
    of wait / max(run time, 10 s).
    """

    def __init__(
        self, trace: JobTrace | str | Path, *, choose: str = JOB, slots: int = 32, jobs: int | None = None
    ) -> None:
        """Episodes of so many `jobs` begin anywhere in the trace. Raises TraceError and ValueError."""
        if choose not in CHOICES:
            raise ValueError(f"choose={choose!r} is none of {', '.join(CHOICES)}")
        read = opened(trace)
        self._nodes = read.nodes
        self._all = queued_jobs(list(read.jobs()), self._nodes)
        if not self._all:
            raise ValueError(f"{read.name}: no job has a run time and fits the cluster")
        self._length = min(jobs or len(self._all), len(self._all))
        self._chooses_nodes, self._slots = choose == NODE, slots
        self._placed: list[int] = []
        choices = len(self._nodes) if self._chooses_nodes else slots
        self._wait = choices
        self.action_space = spaces.Discrete(choices + 1)
        shape = (choices + 1, 5)
        self.observation_space = spaces.Box(0.0, 1.0, shape, np.float32)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        super().reset(seed=seed)
        first = int(self.np_random.integers(len(self._all) - self._length + 1))
        self._queue = JobQueue(self._nodes, self._all[first : first + self._length])
        self._placed = []
        self._pass_time()
        return self._observed()

    def step(self, action: np.int64) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        before = self._queue.slowdown
        chosen = int(action)
        if chosen < self._wait and self._mask[chosen]:
            self._place(chosen) if self._chooses_nodes else self._queue.start(self._queue.waiting[chosen])
        elif not self._queue.is_over:
            self._let_pass()
        self._pass_time()
        observation, info = self._observed()
        reward = (before - self._queue.slowdown) / self._length
        return observation, float(reward), self._queue.is_over, False, info

    # -- decisions ----------------------------------------------------------------------------------------------

    def _place(self, node: int) -> None:
        queue, first = self._queue, self._queue.waiting[0]
        queue.free[node] -= first.request
        self._placed.append(node)
        if len(self._placed) == first.job.pods:
            queue.run(first, self._placed)
            self._placed = []

    def _let_pass(self) -> None:
        """Wait. At the end of the trace nothing else happens, and the first job that fits starts."""
        self._take_back()
        if not self._queue.advance():
            fitting = self._queue.fit(self._queue.waiting)
            self._queue.start(self._queue.waiting[int(fitting.argmax())])

    def _take_back(self) -> None:
        for node in self._placed:
            self._queue.free[node] += self._queue.waiting[0].request
        self._placed = []

    def _pass_time(self) -> None:
        """Let time pass until something is possible."""
        while not self._queue.is_over:
            self._mask = self._possible()
            if self._mask[: self._wait].any():
                return
            self._take_back()
            self._queue.advance()
        self._mask = self._possible()

    def _possible(self) -> NDArray[np.int8]:
        queue = self._queue
        mask = np.zeros(self._wait + 1, dtype=np.int8)
        mask[self._wait] = 1
        if not self._chooses_nodes:
            mask[: min(len(queue.waiting), self._slots)] = queue.fit(queue.waiting[: self._slots])
        elif queue.waiting and (self._placed or queue.fit(queue.waiting[:1])[0]):
            mask[: self._wait] = queue.pods_that_fit(queue.waiting[0].request) > 0
        return mask

    # -- observations -------------------------------------------------------------------------------------------

    def _observed(self) -> tuple[Observation, dict[str, Any]]:
        queue = self._queue
        rows = np.zeros(self.observation_space.shape or (), dtype=np.float32)
        rows[0, :3] = (queue.capacity - queue.free).sum(axis=0) / queue.total
        rows[0, 3] = _bounded(len(queue.waiting), self._slots)
        if self._chooses_nodes:
            if queue.waiting:
                rows[0] = self._job_row(queue.waiting[0], 1)
            rows[1:, :3] = queue.free / np.maximum(queue.capacity, 1)
            rows[1:, 3] = self._mask[: self._wait]
        else:
            for number, queued in enumerate(queue.waiting[: self._slots]):
                rows[number + 1] = self._job_row(queued, self._mask[number])
        info = {"time": queue.now, "waiting": len(queue.waiting), "action_mask": self._mask.copy()}
        return rows, info

    def _job_row(self, queued: QueuedJob, fits: float) -> tuple[float, float, float, float, float]:
        """Return wait, requested run time, part of its pods left, part of the cluster, and whether it fits."""
        job = queued.job
        requested = queued.run_time if job.requested is None else job.requested
        left = 1 - len(self._placed) / job.pods
        return _bounded(self._queue.now - job.submitted, _HOUR), _bounded(requested, _HOUR), left, queued.part, fits


def _bounded(value: float, scale: float) -> float:
    return float(value / (value + scale))
