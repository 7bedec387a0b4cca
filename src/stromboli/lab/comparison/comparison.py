"""All figures of all policies, over their seeds, and the differences to the first policy on equal seeds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from stromboli.lab.comparison.metrics import GROUP_METRICS, METRICS, Metric, values_of
from stromboli.lab.comparison.statistics import MeanEstimate, mean_of

Statistics = Mapping[str, Any]
GROUPS = ("queues", "sizes")


@dataclass(frozen=True, slots=True)
class PairedDifference:
    """A figure of a policy minus that of the baseline, on equal seeds, and the same relative to the baseline's mean."""

    metric: Metric
    absolute: MeanEstimate
    relative: MeanEstimate | None

    @property
    def is_better(self) -> bool:
        return self.absolute.is_clear and self.absolute.mean * self.metric.better > 0

    @property
    def is_worse(self) -> bool:
        return self.absolute.is_clear and self.absolute.mean * self.metric.better < 0


@dataclass(frozen=True, slots=True)
class Comparison:
    trace: str
    seeds: Sequence[int]
    #: Statistics of the runs by policy, in the order of the seeds. The first policy is the baseline.
    runs: Mapping[str, Sequence[Statistics]]

    @property
    def policies(self) -> list[str]:
        return list(self.runs)

    @property
    def baseline(self) -> str:
        return self.policies[0]

    def estimates(self, policy: str) -> dict[str, MeanEstimate]:
        return _estimates(METRICS, self.runs[policy])

    def groups(self, kind: str) -> list[str]:
        """Return the names of queues or sizes, in the order of the runs."""
        return list(dict.fromkeys(name for runs in self.runs.values() for run in runs for name in run[kind]))

    def group_estimates(self, policy: str, kind: str, name: str) -> dict[str, MeanEstimate]:
        return _estimates(GROUP_METRICS, [run[kind].get(name, {}) for run in self.runs[policy]])

    def differences(self, policy: str) -> dict[str, PairedDifference]:
        """Return how a policy differs from the baseline in each figure that both have."""
        found = {}
        for metric in METRICS:
            own, base = (values_of(metric, self.runs[each]) for each in (policy, self.baseline))
            if own is not None and base is not None and metric.better:
                pairs = mean_of([mine - other for mine, other in zip(own, base, strict=True)])
                mean = sum(base) / len(base)
                found[metric.key] = PairedDifference(metric, pairs, pairs.scaled(1 / mean) if mean else None)
        return found

    def as_plain(self, verdicts: Sequence[str]) -> dict[str, Any]:
        """Return everything for JSON: the keys are stable, and keys may be added."""
        return {
            "trace": self.trace,
            "seeds": list(self.seeds),
            "baseline": self.baseline,
            "verdicts": list(verdicts),
            "policies": {name: self._policy(name) for name in self.runs},
        }

    def _policy(self, name: str) -> dict[str, Any]:
        plain: dict[str, Any] = {"figures": _plain(self.estimates(name))}
        for kind in GROUPS:
            plain[kind] = {each: _plain(self.group_estimates(name, kind, each)) for each in self.groups(kind)}
        if name != self.baseline:
            plain["differences"] = {
                key: {
                    "absolute": each.absolute.as_plain(),
                    "relative": each.relative.as_plain() if each.relative else None,
                }
                for key, each in self.differences(name).items()
            }
        plain["runs"] = list(self.runs[name])
        return plain


def _estimates(metrics: Iterable[Metric], runs: Sequence[Statistics]) -> dict[str, MeanEstimate]:
    found = ((metric.key, values_of(metric, runs)) for metric in metrics)
    return {key: mean_of(values) for key, values in found if values is not None}


def _plain(estimates: Mapping[str, MeanEstimate]) -> dict[str, Any]:
    return {key: estimate.as_plain() for key, estimate in estimates.items()}
