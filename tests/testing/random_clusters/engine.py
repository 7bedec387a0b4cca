"""The scheduler core for tests: programs, virtual clusters, sessions and plans."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache

from stromboli.core.actions import ACTIONS
from stromboli.core.config.configuration import DEFAULT_TEXT, parse_configuration
from stromboli.core.config.plugin import Plugin
from stromboli.core.config.registry import Registry
from stromboli.core.plugins import PLUGINS
from stromboli.core.session.program import Program
from stromboli.core.session.session import Session
from stromboli.kube import KubeObject
from stromboli.planner.plan import SchedulingPlan, make_plan
from stromboli.planner.virtual_cluster import PlannedCluster

SCHEDULER_NAMES = ("stromboli", "volcano")


def program_of(text: str = DEFAULT_TEXT, plugins: Iterable[type[Plugin]] = ()) -> Program:
    """Build a configuration, with additional plugins beside the built-in ones."""
    registry = Registry((*PLUGINS, *plugins), ACTIONS)
    return Program(parse_configuration(text, registry), registry)


def with_plugin(name: str) -> str:
    """Return the default configuration with one more plugin."""
    return f"{DEFAULT_TEXT}  - name: {name}\n"


@cache
def default_program() -> Program:
    return program_of()


def world_of(objects: Iterable[KubeObject], program: Program | None = None) -> PlannedCluster:
    return PlannedCluster(objects, program or default_program(), scheduler_names=SCHEDULER_NAMES)


def session_of(objects: Iterable[KubeObject], program: Program | None = None) -> Session:
    """Return an open session without any operation."""
    chosen = program or default_program()
    return Session(world_of(objects, chosen).snapshot(), chosen)


def plan_of(objects: Sequence[KubeObject], program: Program | None = None, cycles: int = 1) -> SchedulingPlan:
    return make_plan(objects, program or default_program(), cycles=cycles, scheduler_names=SCHEDULER_NAMES)
