"""One simulated run: its jobs as tables, and its figures."""

from __future__ import annotations

from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from stromboli.lab.extra import MissingExtra
from stromboli.lab.measures import measures_of
from stromboli.lab.running import simulate as run_trace
from stromboli.lab.tables import arrow_table
from stromboli.python.html import heading, table
from stromboli.python.options import replay_options
from stromboli.python.plots import RunPlots
from stromboli.python.policies import SchedulingPolicy
from stromboli.python.traces import JobTrace, opened
from stromboli.simulator.results.job_table import JobTable
from stromboli.simulator.results.run import SimulationRun

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

_SHOWN_JOBS = 20


def simulate(
    trace: JobTrace | str | Path, policy: SchedulingPolicy | None = None, *, seed: int = 0, **options: Any
) -> TraceRun:
    """Run a trace once under a policy, by default that of a scheduler without a configuration file.

    Equal arguments give equal runs. `options` are those of `stromboli simulate --trace`: `layout`, `estimates`,
    `over_limit`, `queues`, `jobs`, `retries`, `checkpoint_interval`, `period`, `idle`. Raises TraceError and
    PluginFailure.
    """
    chosen, read = policy or SchedulingPolicy.default(), opened(trace)
    run = run_trace(read.trace, chosen.program(), replay_options(seed, options), policy=chosen.name)
    return TraceRun(run, [*chosen.warnings, *read.trace.rejected.warnings(), *run.warnings])


class TraceRun:
    """A run of a trace under a policy."""

    def __init__(self, run: SimulationRun, warnings: list[str]) -> None:
        self.run = run
        self.warnings = warnings
        self.jobs = RunJobs(run.jobs)
        self.plot = RunPlots(run)

    @property
    def policy(self) -> str:
        return self.run.policy

    @property
    def seed(self) -> int:
        return self.run.seed

    @cached_property
    def figures(self) -> dict[str, Any]:
        """The statistics of `stromboli simulate --trace -o json`, with what else compares policies."""
        return measures_of(self.run)

    def __repr__(self) -> str:
        return f"<Run of {self.run.trace} under {self.policy}, seed {self.seed}: {len(self.jobs):,} jobs>"

    def _repr_html_(self) -> str:
        figures = self.figures
        names = {"wait": "wait (s)", "turnaround": "turnaround (s)", "slowdown": "bounded slowdown"}
        rows = [(title, *(figures[name] or {}).values()) for name, title in names.items()]
        used = ", ".join(f"{name} {part:.1%}" for name, part in figures["utilisation"].items())
        outcomes = ", ".join(f"{count:,} {outcome}" for outcome, count in figures["outcomes"].items())
        title = heading(f"{self.run.trace} under {self.policy}", f"seed {self.seed}, {outcomes}; used: {used}")
        return title + table(("", "mean", "median", "95 %", "max"), rows)


class RunJobs:
    """The jobs of a run: a row per job in order of submission, with the columns of `stromboli simulate --csv`."""

    def __init__(self, jobs: JobTable) -> None:
        self._jobs = jobs

    def to_arrow(self) -> pyarrow.Table:
        """Raises MissingExtra."""
        return arrow_table(self._jobs)

    def to_pandas(self) -> pandas.DataFrame:
        """Raises MissingExtra."""
        try:
            import pandas  # noqa: F401 - pyarrow needs it
        except ImportError as error:
            raise MissingExtra("lab") from error
        return self.to_arrow().to_pandas()

    def to_polars(self) -> polars.DataFrame:
        """Raises MissingExtra."""
        try:
            import polars
        except ImportError as error:
            raise MissingExtra("lab") from error
        frame = polars.from_arrow(self.to_arrow())
        assert isinstance(frame, polars.DataFrame)  # noqa: S101 - a table is no series
        return frame

    def __len__(self) -> int:
        return len(self._jobs)

    def __repr__(self) -> str:
        return f"<{len(self):,} jobs>"

    def _repr_html_(self) -> str:
        rows = [
            (job.name, job.user, job.pods, job.submitted, job.started, job.ended, job.outcome.name.lower())
            for job in islice(self._jobs.rows(), _SHOWN_JOBS)
        ]
        header = ("job", "user", "pods", "submitted (s)", "started (s)", "ended (s)", "outcome")
        return table(header, rows, more=len(self) - len(rows))
