"""Traces that are opened or generated."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from stromboli.lab.comparison.experiment import TraceFiles
from stromboli.python.html import heading, table
from stromboli.simulator.traced.nodes import nodes_of_trace
from stromboli.traces.formats.writing import write_csv, write_swf
from stromboli.traces.generators.lublin import lublin
from stromboli.traces.generators.poisson import JobSize, PoissonWorkload, equal_nodes, poisson
from stromboli.traces.statistics import as_plain, summary_of
from stromboli.traces.trace import Trace, TraceJob, TraceNode, first_jobs, ordered

_SHOWN_JOBS = 10


class JobTrace:
    """Jobs in order of submission, and the nodes of their cluster."""

    def __init__(self, trace: Trace, files: TraceFiles | None = None) -> None:
        """`files` are those of the trace, if it is exactly what they contain."""
        self.trace = trace
        self.files = files

    @classmethod
    def open(cls, path: str | Path, form: str = "", *, nodes: str | Path = "", columns: str = "") -> JobTrace:
        """Open a trace in any format of `stromboli simulate --trace`, by its content unless `form` names one.

        `nodes` is a file with nodes; `columns` declares the columns of a table. Raises TraceError.
        """
        files = TraceFiles(str(path), form, str(nodes), columns, Path(path).name)
        return cls(files.open(), files)

    @classmethod
    def generate(cls, model: str = "lublin", **parameters: Any) -> JobTrace:
        """Draw from `lublin` or `poisson`, whose parameters are those of the methods of these names."""
        models: dict[str, Callable[..., JobTrace]] = {"lublin": cls.lublin, "poisson": cls.poisson}
        if model not in models:
            raise ValueError(f"no model is called {model!r}; there are {', '.join(models)}")
        return models[model](**parameters)

    @classmethod
    def lublin(cls, jobs: int = 1000, *, processors: int = 128, seed: int = 0) -> JobTrace:
        """Draw from the model of Lublin and Feitelson: parallel jobs with a daily cycle."""
        _check_positive(jobs=jobs, processors=processors)
        return cls(lublin(jobs, processors, seed))

    @classmethod
    def poisson(
        cls,
        jobs: int = 1000,
        *,
        nodes: int,
        cpus_per_node: int = 1,
        gpus_per_node: int = 0,
        load: float = 0.8,
        sizes: Mapping[int, float] | Sequence[int] = (1,),
        run_time: float = 3600.0,
        cpus: int = 1,
        gpus: float = 0.0,
        seed: int = 0,
    ) -> JobTrace:
        """Draw Poisson arrivals at a load of a cluster, and exponential run times. `sizes` are numbers of pods with
        their weights; `cpus` and `gpus` are those of a pod.
        """
        _check_positive(jobs=jobs, nodes=nodes, cpus_per_node=cpus_per_node, load=load, run_time=run_time)
        weights = sizes if isinstance(sizes, Mapping) else dict.fromkeys(sizes, 1.0)
        _check_positive(**{f"sizes[{pods}]": weight for pods, weight in weights.items()}, sizes=len(weights))
        if gpus and not gpus_per_node:
            raise ValueError("gpus needs nodes with GPUs: name their number with gpus_per_node")
        _check_positive(requests=cpus + gpus)
        workload = PoissonWorkload(
            jobs, load, equal_nodes(nodes, cpus_per_node, gpus_per_node),
            [JobSize(pods, weight) for pods, weight in weights.items()], run_time, cpu=cpus * 1000,
            gpu=round(gpus * 1000),
        )  # fmt: skip
        return cls(poisson(workload, seed))

    def first(self, jobs: int) -> JobTrace:
        """Return the trace of the first jobs."""
        _check_positive(jobs=jobs)
        return JobTrace(first_jobs(self.trace, jobs))

    def sorted(self) -> JobTrace:
        """Return the trace in order of submission, for files that are in another order."""
        return JobTrace(ordered(self.trace, sort=True))

    def on_nodes(self, count: int, *, cpus: int = 1, gpus: int = 0) -> JobTrace:
        """Return the same jobs on a cluster of equal nodes."""
        _check_positive(count=count, cpus=cpus)
        return JobTrace(replace(self.trace, nodes=equal_nodes(count, cpus, gpus)))

    @property
    def name(self) -> str:
        return self.files.name if self.files else self.trace.source

    @property
    def nodes(self) -> Sequence[TraceNode]:
        """The nodes of the cluster. Raises TraceError if the trace names none."""
        return nodes_of_trace(self.trace)

    @property
    def statistics(self) -> dict[str, Any]:
        """The statistics of `stromboli trace info`. Raises TraceError."""
        return as_plain(self.trace, summary_of(self.trace))

    def jobs(self) -> Iterator[TraceJob]:
        """Read the jobs. Raises TraceError."""
        return self.trace.jobs()

    def write(self, path: str | Path) -> list[str]:
        """Write the jobs as SWF, or all their properties as a table if the name ends in `.csv`.

        Returns warnings about properties that SWF cannot hold. Raises TraceError and OSError.
        """
        write = write_csv if Path(path).suffix == ".csv" else write_swf
        with Path(path).open("w", encoding="utf-8") as file:
            return write(self.trace, file)

    def __repr__(self) -> str:
        return f"<Trace {self.name}>"

    def _repr_html_(self) -> str:
        rows = [
            (job.name, job.submitted, job.run_time, job.requested, job.pods, job.cpu / 1000, job.gpu / 1000, job.user)
            for job in first_jobs(self.trace, _SHOWN_JOBS).jobs()
        ]
        header = ("job", "submitted (s)", "run time (s)", "requested (s)", "pods", "CPUs", "GPUs", "user")
        return heading(f"Trace {self.name}", f"its first {len(rows)} jobs") + table(header, rows)


def opened(trace: JobTrace | str | Path) -> JobTrace:
    """Return the trace; a path is opened. Raises TraceError."""
    return trace if isinstance(trace, JobTrace) else JobTrace.open(trace)


def _check_positive(**values: float) -> None:
    for name, value in values.items():
        if not 0 < value < float("inf"):
            raise ValueError(f"{name} is {value!r}, and must be above zero")
