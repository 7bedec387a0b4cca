"""The files that a comparison writes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from stromboli.cli.output import Failure
from stromboli.cli.targets import written_target

if TYPE_CHECKING:
    from stromboli.cli.traced.comparing import ComparedRuns
    from stromboli.simulator.results.run import SimulationRun

#: The options that name files, or describe them.
FILE_PARAMETERS = ("csv", "parquet")


def check_files(files: Mapping[str, Any], output: str) -> None:
    """Reject what cannot be written before the first run. Errors end the command."""
    if files["csv"] == "-" and output != "table":
        raise click.UsageError("--csv - and -o cannot both write to the standard output.")
    for name in FILE_PARAMETERS:
        target = files[name]
        if target and target != "-" and not Path(target).parent.is_dir():
            raise Failure(f"{target}: there is no folder {Path(target).parent}")
    if files["parquet"]:
        _need("pyarrow", "--parquet")


def _need(module: str, option: str) -> None:
    """Test before hours of simulation whether a library of an extra is installed."""
    from importlib.util import find_spec

    from stromboli.lab.extra import MissingExtra

    if find_spec(module) is None:
        raise Failure(f"{option}: {MissingExtra('lab')}")


def write_files(runs: ComparedRuns, files: Mapping[str, Any]) -> None:
    """Write every file that the options name. One run at a time is in memory."""
    try:
        if files["csv"]:
            _write_csv(runs, files["csv"])
        if files["parquet"]:
            _write_parquet(runs, Path(files["parquet"]))
    except OSError as error:
        raise Failure(f"{error.filename or ''}: {error.strerror or error}") from error


def _each_run(runs: ComparedRuns) -> Iterator[SimulationRun]:
    return (runs.folder.run(planned.key) for planned in runs.planned)


def _write_csv(runs: ComparedRuns, target: str) -> None:
    from stromboli.simulator.results.rows import write_all_jobs

    with written_target(target) as file:
        write_all_jobs((((run.policy, run.seed), run.jobs) for run in _each_run(runs)), file, ("policy", "seed"))


def _write_parquet(runs: ComparedRuns, path: Path) -> None:
    from stromboli.lab.tables import write_parquet

    write_parquet((({"policy": run.policy, "seed": run.seed}, run.jobs) for run in _each_run(runs)), path)
