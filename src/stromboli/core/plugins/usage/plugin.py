"""The plugin: what is known of the nodes in this cycle, and what follows from it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from stromboli.core.config.arguments import Argument, Arguments
from stromboli.core.config.plugin import Event, Plugin
from stromboli.core.model.nodes.table import Mask, Vector
from stromboli.core.model.tasks.task_class import LIMITS
from stromboli.core.model.values.durations import parse_duration
from stromboli.core.plugins.usage.estimate import ARGUMENTS, Estimator
from stromboli.core.plugins.usage.load import Limits, Load
from stromboli.core.plugins.usage.unmeasured import UnmeasuredLoad
from stromboli.core.search.node_rules import NodeFilter, NodeScorer
from stromboli.core.session.session import Session

#: Measurements are averaged over ten minutes.
_WINDOW = 600.0
_USUAL_LIMIT = 80
#: Per cent; by names of today and by those that once said over which time is averaged.
_LIMITS = tuple(
    Argument(key, float, _USUAL_LIMIT, "Per cent.", minimum=0)
    for key in ("cpu", "mem", "CPUUsageAvg.<period>", "MEMUsageAvg.<period>")
)


class UsagePlugin(Plugin):
    name = "usage"
    arguments = (
        Argument("usage.weight", float, 5, "Weight of the score.", minimum=0),
        Argument("cpu.weight", float, 1, "Weight of cpu in it.", minimum=0),
        Argument("memory.weight", float, 1, "Weight of memory in it.", minimum=0),
        Argument("thresholds", dict, {}, "From which load on a node takes nobody, in per cent.", entries=_LIMITS),
        Argument("estimator", dict, {}, "What pods use that were placed a moment ago.", entries=ARGUMENTS),
    )
    reads_annotations = (LIMITS,)

    def __init__(self, given: Arguments, hierarchy: bool = False) -> None:
        super().__init__(given, hierarchy)
        self.weight: float = given["usage.weight"]
        self.cpu_weight: float = given["cpu.weight"]
        self.memory_weight: float = given["memory.weight"]
        self._cpu_limit = _limit(given["thresholds"], "cpu", "CPUUsageAvg.")
        self._memory_limit = _limit(given["thresholds"], "mem", "MEMUsageAvg.")
        self.usage_window = max(_periods(given["thresholds"]), default=_WINDOW)
        self._estimator = Estimator(given["estimator"])
        self._rules = (Limits(self),), (Load(self),)
        self._unmeasured: UnmeasuredLoad | None = None

    @property
    def weighs_anything(self) -> bool:
        return self.weight > 0 and self.cpu_weight + self.memory_weight > 0

    def open(self, session: Session) -> None:
        usage, number = session.snapshot.usage, len(session.nodes)
        self._session, self._unmeasured = session, None
        unknown = np.zeros(number)
        self.known: Mask = np.zeros(number, dtype=np.bool_) if usage is None else usage.known(session.now)
        self.cpu: Vector = unknown if usage is None else np.where(self.known, usage.cpu, 0.0)
        self.memory: Vector = unknown if usage is None else np.where(self.known, usage.memory, 0.0)
        self._measured_at: Vector = unknown if usage is None else usage.at
        self.cpu_exceeded: Mask = self.cpu > self._cpu_limit
        self.memory_exceeded: Mask = self.memory > self._memory_limit
        self.is_informed = bool(self.known.any())
        self._warn_of_unknown()

    def _warn_of_unknown(self) -> None:
        unknown, number = len(self.known) - int(self.known.sum()), len(self.known)
        if unknown:
            words = f"no figure of the last 5m says what {unknown} of {number} nodes use"
            self._session.warnings.append(f"usage: {words}; these are not judged by their load")

    @property
    def unmeasured(self) -> UnmeasuredLoad:
        """Made only if somebody is to be placed: it looks at every pod once."""
        if self._unmeasured is None:
            self._unmeasured = UnmeasuredLoad(
                self._session, self._estimator, self.known, self._measured_at, self._at_risk()
            )
        return self._unmeasured

    def _at_risk(self) -> Mask:
        """The nodes that are loaded so much, all in all, that more is expected of their pods."""
        load = self.cpu * self.cpu_weight + self.memory * self.memory_weight
        at_risk: Mask = load / (self.cpu_weight + self.memory_weight) >= self._estimator.risk_threshold
        return at_risk

    def node_filters(self) -> Sequence[NodeFilter]:
        return self._rules[0]

    def node_scorers(self) -> Sequence[NodeScorer]:
        return self._rules[1]

    def on_allocate(self, event: Event) -> None:
        if self._unmeasured is not None:
            self._unmeasured.add(event)

    def on_deallocate(self, event: Event) -> None:
        if self._unmeasured is not None:
            self._unmeasured.take_away(event)


def _limit(said: Mapping[str, float], name: str, old_name: str) -> float:
    """The part that a node may use; the strictest, if it is said several times."""
    limits = [limit for key, limit in said.items() if key == name or key.startswith(old_name)]
    return min(limits, default=_USUAL_LIMIT) / 100.0


def _periods(said: Mapping[str, float]) -> Iterator[float]:
    """The times that old names ask for. Raises ValueError for one that is none."""
    for key in said:
        _, dot, period = key.partition(".")
        if dot:
            yield parse_duration(period)
