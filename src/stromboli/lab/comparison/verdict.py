"""The difference between two policies as a sentence.

Only differences whose confidence interval excludes zero are named, and only those of a hundredth or more.
"""

from __future__ import annotations

from collections.abc import Iterable

from stromboli.lab.comparison.comparison import Comparison, PairedDifference
from stromboli.lab.comparison.metrics import COUNT, HOURS
from stromboli.lab.comparison.statistics import MeanEstimate

_WAIT = "wait.mean"
#: What a sentence names beside the mean wait: what is better, the first of these, and everything that is worse.
_BETTER = (
    "slowdown.mean", "utilisation.gpu", "utilisation.cpu", "wait.max", "fragmentation.mean", "fairness.deviation",
    "preemptions", "lostHours",
)  # fmt: skip
_WORSE = (
    "wait.p95", "wait.max", "slowdown.mean", "makespan", "utilisation.gpu", "utilisation.cpu", "fragmentation.mean",
    "fairness.deviation", "preemptions", "lostHours",
)  # fmt: skip
_MAX_BETTER = 3
_LEAST = 0.01


def verdicts_of(comparison: Comparison) -> list[str]:
    """Return a sentence for each policy but the baseline."""
    return [_verdict(comparison, policy) for policy in comparison.policies[1:]]


def _verdict(comparison: Comparison, policy: str) -> str:
    differences, base = comparison.differences(policy), comparison.baseline
    better = _phrases(differences[key] for key in _BETTER if key in differences and differences[key].is_better)
    worse = _phrases(differences[key] for key in _WORSE if key in differences and differences[key].is_worse)
    parts = [f"{policy} {_waiting(differences.get(_WAIT), base)}"]
    if better:
        parts.append(f"with {', '.join(better[:_MAX_BETTER])}")
    if worse:
        parts.append(f"at {', '.join(worse)}")
    note = " (one seed, no confidence interval)" if len(comparison.seeds) == 1 else ""
    return f"{', '.join(parts)}{note}."


def _waiting(wait: PairedDifference | None, base: str) -> str:
    if wait is None or wait.relative is None:
        return f"cannot be compared with {base} by mean wait"
    if not wait.absolute.is_clear:
        detail = "" if wait.relative.margin is None else f" ({percent_text(wait.relative, signed=True)})"
        return f"waits as long as {base}, as far as these seeds show{detail}"
    return f"waits {percent_text(wait.relative)} {'less' if wait.absolute.mean < 0 else 'more'} than {base}"


def _phrases(differences: Iterable[PairedDifference]) -> list[str]:
    return list(filter(None, map(_phrase, differences)))


def _phrase(each: PairedDifference) -> str:
    """Return `2 % more preemptions`; empty for a difference below a hundredth."""
    less, more = ("less", "more") if each.metric.unit in (COUNT, HOURS) else ("lower", "higher")
    direction = less if each.absolute.mean < 0 else more
    if each.metric.unit == COUNT and direction == "less":
        direction = "fewer"
    if each.relative is None:
        return f"{abs(each.absolute.mean):,.4g} {each.metric.title} instead of none"
    if abs(each.relative.mean) < _LEAST:
        return ""
    return f"{percent_text(each.relative)} {direction} {each.metric.title}"


def percent_text(estimate: MeanEstimate, *, signed: bool = False) -> str:
    """Return `12 % ± 3 %`."""
    mean = 100 * (estimate.mean if signed else abs(estimate.mean))
    text = _number(mean) if not signed else f"{'+' if mean >= 0 else ''}{_number(mean)}"
    return f"{text} %" if not estimate.margin else f"{text} % ± {_number(100 * estimate.margin)} %"


def _number(value: float) -> str:
    return f"{value:.0f}" if abs(value) >= 10 else f"{value:.1f}".replace(".0", "")
