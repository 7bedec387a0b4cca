"""The usage plugin: the measured load of nodes in this cycle."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from stromboli.core.config.arguments import Argument, Arguments, PrefixArgument
from stromboli.core.config.plugin import Event, Plugin
from stromboli.core.model.nodes.table import Mask, Vector
from stromboli.core.model.tasks.task_class import LIMITS
from stromboli.core.model.values.times import parse_duration
from stromboli.core.plugins.usage.load import Load, LoadLimits
from stromboli.core.plugins.usage.unmeasured import Estimator, EstimatorArguments, UnmeasuredLoad
from stromboli.core.search.node_rules import NodeFilter, NodeScorer
from stromboli.core.session.session import Session

#: Measurements are averaged over ten minutes.
_WINDOW = 600.0
_DEFAULT_LIMIT = 80.0


class ThresholdArguments(Arguments):
    """Limits in per cent, by current names, and by older ones that include the averaging period."""

    cpu: float = Argument("cpu", _DEFAULT_LIMIT, "Per cent.", minimum=0)
    memory: float = Argument("mem", _DEFAULT_LIMIT, "Per cent.", minimum=0)
    cpu_over: Mapping[str, float] = PrefixArgument("CPUUsageAvg.<period>", _DEFAULT_LIMIT, "Per cent.", minimum=0)
    memory_over: Mapping[str, float] = PrefixArgument("MEMUsageAvg.<period>", _DEFAULT_LIMIT, "Per cent.", minimum=0)


class UsageArguments(Arguments):
    weight: float = Argument("usage.weight", 5.0, "Weight of the score.", minimum=0)
    cpu_weight: float = Argument("cpu.weight", 1.0, "Weight of cpu in it.", minimum=0)
    memory_weight: float = Argument("memory.weight", 1.0, "Weight of memory in it.", minimum=0)
    thresholds: ThresholdArguments = Argument("thresholds", {}, "Load limits in per cent.", entries=ThresholdArguments)
    estimator: EstimatorArguments = Argument("estimator", {}, "Use of unmeasured pods.", entries=EstimatorArguments)


class UsagePlugin(Plugin):
    name = "usage"
    arguments = UsageArguments()
    reads_annotations = (LIMITS,)

    def __init__(self, arguments: UsageArguments, hierarchy: bool = False) -> None:
        super().__init__(arguments, hierarchy)
        self.weight, thresholds = arguments.weight, arguments.thresholds
        self.cpu_weight, self.memory_weight = arguments.cpu_weight, arguments.memory_weight
        self._cpu_limit = _limit(thresholds, "cpu", thresholds.cpu_over)
        self._memory_limit = _limit(thresholds, "mem", thresholds.memory_over)
        periods = map(parse_duration, (*thresholds.cpu_over, *thresholds.memory_over))
        self.usage_window = max(periods, default=_WINDOW)
        self._estimator = Estimator(arguments.estimator)
        self._rules = (LoadLimits(self),), (Load(self),)
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
            message = f"no usage metrics of the last 5m for {unknown} of {number} nodes"
            self._session.warnings.append(f"usage: {message}; their load is ignored")

    @property
    def unmeasured(self) -> UnmeasuredLoad:
        """The unmeasured load, computed on first use because it iterates over every pod."""
        if self._unmeasured is None:
            self._unmeasured = UnmeasuredLoad(
                self._session, self._estimator, self.known, self._measured_at, self._at_risk()
            )
        return self._unmeasured

    def _at_risk(self) -> Mask:
        """The nodes whose weighted load reaches the risk threshold: higher estimates apply to their pods."""
        load = self.cpu * self.cpu_weight + self.memory * self.memory_weight
        at_risk: Mask = load / (self.cpu_weight + self.memory_weight) >= self.arguments.estimator.risk_threshold
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


def _limit(thresholds: ThresholdArguments, key: str, older: Mapping[str, float]) -> float:
    """Return the fraction that a node may use; the strictest value if it is set several times."""
    current = [float(thresholds.configured[key])] if key in thresholds.configured else []
    return min((*current, *older.values()), default=_DEFAULT_LIMIT) / 100.0
