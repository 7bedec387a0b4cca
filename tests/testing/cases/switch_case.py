"""A question to plugins, and what comes of it with and without an answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from stromboli.core.config.extension_points import BY_NAME
from stromboli.core.config.plugin import Plugin
from stromboli.planner.plan import SchedulingPlan
from tests.testing.cases.case import Case, configuration, plugin
from tests.testing.cases.probe_actions import PROBE_ACTIONS


class Row:
    """An extension point, a plugin that answers it, and the result with the answer (`on`) and without it (`off`)."""

    def __init__(
        self,
        point: str,
        *world: Any,
        by: str | type[Plugin],
        on: str,
        off: str,
        beside: Sequence[str] = ("gang",),
        actions: str = "enqueue, allocate, backfill",
        switch: str | None = None,
        given: Mapping[str, bool] | None = None,
    ) -> None:
        self.point = point
        self.switch = switch or (BY_NAME[point].switch if point in BY_NAME else None)
        self.name, extensions = (by, ()) if isinstance(by, str) else (by.name, (by,))
        self.beside = beside
        self.actions = actions
        self.given = dict(given or {})
        self.on, self.off = on.replace(" ", ""), off.replace(" ", "")
        self.case = Case(point, *world, binds="", extensions=(*PROBE_ACTIONS, *extensions))

    def __str__(self) -> str:
        return f"{self.point} by {self.switch}"

    def listed(self, **switches: bool) -> str:
        """What comes of it with the plugin listed and these switches set."""
        return self._outcome(plugin(self.name, **{**self.given, **switches}))

    def not_listed(self) -> str:
        return self._outcome()

    def _outcome(self, *plugins: Any) -> str:
        plan = self.case.plan(configuration(*self.beside, *plugins, actions=self.actions))
        return self.case.binds(plan) + evicted(plan) + annotated(plan)


def evicted(plan: SchedulingPlan) -> str:
    return "".join(f",evicts:{key.partition('/')[2]}" for key in plan.evictions)


def annotated(plan: SchedulingPlan) -> str:
    binds = (bind for statement in plan.session.decisions.binds for bind in statement)
    return "".join(f",{key}:{value}" for bind in binds for key, value in bind.annotations.items())
