"""Scheduling as an environment of Gymnasium.

environment  the environment: observations, actions and rewards
queue        the jobs, nodes and time that it decides about
"""

from stromboli.python.gym.environment import SchedulingEnv

__all__ = ["SchedulingEnv"]
