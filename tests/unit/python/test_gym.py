"""The environment of Gymnasium."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import stromboli as sb
from stromboli.lab.extra import MissingExtra
from tests.testing.queueing_reference import fcfs

LUBLIN = sb.Trace.lublin(80, processors=16, seed=3)
GPUS = sb.Trace.poisson(60, nodes=3, gpus_per_node=4, load=1.5, sizes={1: 0.6, 4: 0.4}, gpus=1, seed=1)


@pytest.mark.parametrize("choose", ["job", "node"])
@pytest.mark.parametrize("trace", [LUBLIN, GPUS], ids=["processors", "gpus"])
def test_environment_passes_the_checker(trace: sb.Trace, choose: str) -> None:
    check_env(sb.gym.SchedulingEnv(trace, choose=choose, jobs=20), skip_render_check=True)


def total_reward(env: sb.gym.SchedulingEnv, first_only: bool) -> float:
    """Return the reward of an agent that takes the first possible action, or waits unless it is the very first one."""
    observation, info = env.reset(seed=1)
    total, is_over = 0.0, False
    while not is_over:
        assert env.observation_space.contains(observation)
        possible = np.flatnonzero(info["action_mask"])
        action = possible[0] if not first_only or possible[0] == 0 else possible[-1]
        observation, reward, is_over, _, info = env.step(action)
        total += reward
    return total


def test_agent_that_serves_in_order_of_arrival_waits_as_the_reference() -> None:
    jobs = [(int(job.submitted), int(job.run_time or 0), job.pods) for job in LUBLIN.jobs()]
    waits = [start - job[0] for start, job in zip(fcfs(jobs, 16), jobs, strict=True)]
    slowdown = np.mean([wait / max(run, 10) for wait, (_, run, _) in zip(waits, jobs, strict=True)])
    assert total_reward(sb.gym.SchedulingEnv(LUBLIN), first_only=True) == pytest.approx(-slowdown)
    assert total_reward(sb.gym.SchedulingEnv(LUBLIN, choose="node"), first_only=False) == pytest.approx(-slowdown)


def test_agent_that_fills_gaps_has_another_reward() -> None:
    env = sb.gym.SchedulingEnv(LUBLIN)
    assert total_reward(env, first_only=False) > total_reward(env, first_only=True)


@pytest.mark.parametrize("choose", ["job", "node"])
def test_agent_that_only_waits_reaches_the_end(choose: str) -> None:
    env = sb.gym.SchedulingEnv(GPUS, choose=choose)
    _, info = env.reset()
    wait, is_over, steps = len(info["action_mask"]) - 1, False, 0
    while not is_over:
        _, _, is_over, _, info = env.step(np.int64(wait))
        steps += 1
    assert info["waiting"] == 0
    assert steps <= 3 * 60


def test_seed_chooses_the_part_of_the_trace() -> None:
    env = sb.gym.SchedulingEnv(LUBLIN, jobs=10)
    times = [env.reset(seed=seed)[1]["time"] for seed in (1, 2, 1)]
    assert times[0] == times[2] != times[1]


def test_invalid_arguments_are_rejected() -> None:
    with pytest.raises(ValueError, match="is none of job, node"):
        sb.gym.SchedulingEnv(LUBLIN, choose="pod")
    with pytest.raises(ValueError, match="no job has a run time and fits"):
        sb.gym.SchedulingEnv(sb.Trace.poisson(3, nodes=1, sizes=(2,)))


def test_missing_library_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "gymnasium", None)
    for module in ("stromboli.python.gym", "stromboli.python.gym.environment"):
        monkeypatch.delitem(sys.modules, module, raising=False)
    with pytest.raises(MissingExtra, match=r"pip install 'stromboli\[lab\]'"):
        sb.gym  # noqa: B018
