"""Policies compared over seeds: a run per policy and seed, in parallel where other processes can load the policies."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from stromboli.lab.comparison.comparison import Comparison
from stromboli.lab.comparison.experiment import Setting, TraceFiles, planned_runs
from stromboli.lab.comparison.folder import RunFolder
from stromboli.lab.comparison.local import run_locally
from stromboli.lab.comparison.metrics import METRICS
from stromboli.lab.comparison.verdict import verdicts_of
from stromboli.python.html import heading, listing, table
from stromboli.python.options import replay_options
from stromboli.python.policies import SchedulingPolicy
from stromboli.python.traces import JobTrace, opened


class ComparisonFailure(RuntimeError):
    """A run failed; the message names its policy, seed and cause."""


def compare(
    trace: JobTrace | str | Path,
    policies: Iterable[SchedulingPolicy],
    *,
    seeds: int | Sequence[int] = 10,
    workers: int | None = None,
    progress: Callable[[int, int], None] = lambda done, total: None,
    **options: Any,
) -> PolicyComparison:
    """Run every policy with every seed, and compare with the first policy. Results do not depend on `workers`.

    `seeds` is their number or a list. Runs use all processors, in other processes, unless a policy has a class that
    only this process defines. `progress` is called with the numbers of finished and of all runs, and `options` are
    those of `simulate`. Raises TraceError and ComparisonFailure.
    """
    chosen = list(policies)
    names = [policy.name for policy in chosen]
    if not chosen or len(set(names)) < len(names):
        raise ValueError(f"policies need different names, and there are {', '.join(names) or 'none'}")
    numbers = list(range(1, seeds + 1)) if isinstance(seeds, int) else list(seeds)
    if not numbers:
        raise ValueError("a comparison needs at least one seed")
    if len(set(numbers)) < len(numbers):
        raise ValueError("a seed is named twice, and equal seeds give equal runs: name each once")
    is_parallel = all(policy.is_importable for policy in chosen)
    count = (workers or os.cpu_count() or 1) if is_parallel else 1
    with TemporaryDirectory(prefix="stromboli-") as path:
        files, read = _files(opened(trace), Path(path))
        setting = Setting(files, replay_options(0, options), tuple(read.nodes))
        planned, folder = planned_runs(setting, [policy.source for policy in chosen], numbers), RunFolder(Path(path))
        for done, outcome in enumerate(run_locally(planned, folder, count), 1):
            if outcome.error:
                raise ComparisonFailure(outcome.error)
            progress(done, len(planned))
        runs: dict[str, list[dict[str, Any]]] = {name: [] for name in names}
        for each in planned:
            runs[each.policy.label].append(folder.statistics(each.key))
    return PolicyComparison(Comparison(files.name, numbers, runs))


def _files(trace: JobTrace, folder: Path) -> tuple[TraceFiles, JobTrace]:
    """Return the files that processes open; a trace that is none is written into one."""
    if trace.files:
        return trace.files, trace
    trace.write(folder / "trace.csv")
    return TraceFiles(str(folder / "trace.csv"), name=trace.name, mapping="stromboli"), trace


class PolicyComparison:
    """Figures of all policies over their seeds. The first policy is the baseline."""

    def __init__(self, comparison: Comparison) -> None:
        self._comparison = comparison

    @property
    def verdicts(self) -> list[str]:
        """A sentence for each policy but the baseline."""
        return verdicts_of(self._comparison)

    @property
    def figures(self) -> dict[str, Any]:
        """The document of `stromboli simulate --trace -o json` with several policies."""
        return self._comparison.as_plain(self.verdicts)

    def __repr__(self) -> str:
        return f"<Comparison on {self._comparison.trace}: {' '.join(self.verdicts) or self._comparison.baseline}>"

    def _repr_html_(self) -> str:
        found = self._comparison
        estimates = [found.estimates(policy) for policy in found.policies]
        rows = [
            (metric.title, *(_estimate(each.get(metric.key)) for each in estimates))
            for metric in METRICS
            if any(metric.key in each for each in estimates)
        ]
        note = f"means of {len(found.seeds)} seeds"
        return (
            heading(f"Comparison on {found.trace}", note) + table(("", *found.policies), rows) + listing(self.verdicts)
        )


def _estimate(estimate: Any) -> str:
    if estimate is None:
        return ""
    return f"{estimate.mean:,.4g}" + (f" ± {estimate.margin:,.2g}" if estimate.margin else "")
