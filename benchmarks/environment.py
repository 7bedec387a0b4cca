"""The environment of Gymnasium: steps per second of processor time, with random actions that are possible."""

from __future__ import annotations

import time

import numpy as np

import stromboli as sb
from benchmarks.measurement import Result, finished

_JOBS, _EPISODE = 2_000, 200


def environment(parameters: dict[str, int], runs: int) -> list[Result]:
    steps, nodes = parameters["steps"], parameters["nodes"]
    trace = sb.Trace.poisson(
        _JOBS, nodes=nodes, gpus_per_node=8, cpus_per_node=64, load=1.2, sizes={1: 0.7, 4: 0.3}, gpus=1, seed=1
    )
    found = []
    for choose in ("job", "node"):
        env = sb.gym.SchedulingEnv(trace, choose=choose, jobs=_EPISODE)
        chance = np.random.default_rng(1)
        seconds = min(_seconds_of(env, steps, chance) for _ in range(runs))
        result = Result(f"environment-{choose}", parameters, seconds, steps, steps / seconds, {})
        result.more = {"steps_per_second": round(steps / seconds)}
        found.append(finished(result))
    return found


def _seconds_of(env: sb.gym.SchedulingEnv, steps: int, chance: np.random.Generator) -> float:
    _, info = env.reset(seed=1)
    began = time.process_time()
    for _ in range(steps):
        *_, is_over, _, info = env.step(chance.choice(np.flatnonzero(info["action_mask"])))
        if is_over:
            _, info = env.reset()
    return time.process_time() - began
