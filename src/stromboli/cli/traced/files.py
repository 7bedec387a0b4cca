"""The files that a comparison writes."""

from __future__ import annotations

import csv
import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from stromboli.cli.output import Failure
from stromboli.cli.targets import written_target

if TYPE_CHECKING:
    from stromboli.cli.traced.comparing import ComparedRuns
    from stromboli.lab.comparison.experiment import PlannedRun
    from stromboli.lab.comparison.folder import RunFolder
    from stromboli.lab.pictures.catalogue import Picture
    from stromboli.simulator.results.run import SimulationRun

#: The options that name files, or describe them.
FILE_PARAMETERS = ("csv", "parquet", "pictures", "report", "figures", "perfetto")
#: Those that are written to the standard output for -.
_TEXTS = ("csv", "figures", "perfetto", "report")
_PARQUET = ".parquet"
_LIBRARIES = {"parquet": "pyarrow", "pictures": "vl_convert", "report": "vl_convert"}

#: Options that decide where runs are done, with a value each.
_WHERE = ("--workers", "--dask", "--results")


def check_files(files: Mapping[str, Any], output: str) -> None:
    """Reject what cannot be written before the first run. Errors end the command."""
    to_output = [f"--{name} -" for name in _TEXTS if files[name] == "-"] + ["-o"] * (output != "table")
    if len(to_output) > 1:
        raise click.UsageError(f"{' and '.join(to_output[:2])} cannot both write to the standard output.")
    for name in FILE_PARAMETERS:
        target = files[name]
        if target and (name in _LIBRARIES or Path(target).suffix == _PARQUET):
            _need(_LIBRARIES.get(name, "pyarrow"), f"--{name}")
        if target and target != "-" and not Path(target).parent.is_dir():
            raise Failure(f"{target}: there is no folder {Path(target).parent}")


def writes_to_output(files: Mapping[str, Any]) -> bool:
    return any(files[name] == "-" for name in _TEXTS)


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
        if files["figures"]:
            _write_figures(runs, files["figures"])
        if files["perfetto"]:
            _write_perfetto(runs, files["perfetto"])
        if files["pictures"]:
            _write_pictures(runs, Path(files["pictures"]))
        if files["report"]:
            _write_report(runs, files["report"])
    except OSError as error:
        raise Failure(f"{error.filename or ''}: {error.strerror or error}") from error


@dataclass(frozen=True, slots=True)
class StoredRuns:
    """Runs of a folder, of which one at a time is in memory."""

    planned: Sequence[PlannedRun]
    folder: RunFolder

    def __iter__(self) -> Iterator[SimulationRun]:
        return (self.folder.run(planned.key) for planned in self.planned)


def _each_run(runs: ComparedRuns) -> StoredRuns:
    return StoredRuns(runs.planned, runs.folder)


def _first_of_each_policy(runs: ComparedRuns) -> StoredRuns:
    first = min(planned.seed for planned in runs.planned)
    return StoredRuns([planned for planned in runs.planned if planned.seed == first], runs.folder)


def _write_csv(runs: ComparedRuns, target: str) -> None:
    from stromboli.simulator.results.rows import write_all_jobs

    with written_target(target) as file:
        write_all_jobs((((run.policy, run.seed), run.jobs) for run in _each_run(runs)), file, ("policy", "seed"))


def _write_parquet(runs: ComparedRuns, path: Path) -> None:
    from stromboli.lab.tables import write_parquet

    write_parquet((({"policy": run.policy, "seed": run.seed}, run.jobs) for run in _each_run(runs)), path)


def _write_figures(runs: ComparedRuns, target: str) -> None:
    from stromboli.lab.comparison.rows import FigureRow, figure_rows
    from stromboli.lab.tables import write_figures

    rows = figure_rows(runs.comparison)
    if Path(target).suffix == _PARQUET:
        write_figures(rows, Path(target))
        return
    with written_target(target) as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(FigureRow._fields)
        writer.writerows(rows)


def _write_perfetto(runs: ComparedRuns, target: str) -> None:
    from stromboli.lab.perfetto import write_chrome_trace

    with written_target(target) as file:
        write_chrome_trace(_first_of_each_policy(runs), file)


def _pictures(runs: ComparedRuns) -> Iterator[Picture]:
    from stromboli.lab.pictures.catalogue import compared_pictures, pictures_of

    first = _first_of_each_policy(runs)
    yield from compared_pictures(first, _each_run(runs))
    for run in first:
        yield from pictures_of(run)


def _write_pictures(runs: ComparedRuns, folder: Path) -> None:
    from stromboli.lab.pictures.files import write_pictures

    write_pictures(_pictures(runs), folder)


def _write_report(runs: ComparedRuns, target: str) -> None:
    from stromboli.lab.report.content import Report
    from stromboli.lab.report.page import report_page

    policies = {planned.policy.label: planned.policy.text for planned in runs.planned}
    report = Report(
        runs.comparison, runs.verdicts, list(_pictures(runs)), policies, runs.warnings, _command(sys.argv[1:])
    )
    with written_target(target) as file:
        file.write(report_page(report))


def _command(arguments: Sequence[str]) -> str:
    """Return the command without what does not change its results."""
    kept, left = [], iter(arguments)
    for argument in left:
        name, separator, _ = argument.partition("=")
        if name not in _WHERE:
            kept.append(argument)
        elif not separator:
            next(left, None)
    return shlex.join(("stromboli", *kept))
