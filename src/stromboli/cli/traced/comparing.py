"""`stromboli simulate --trace` with several policies or seeds: runs in parallel, one table, and a report."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from stromboli.cli.options.comparison import COMPARISON_PARAMETERS
from stromboli.cli.options.replay import replay_of
from stromboli.cli.options.settings import reject_options
from stromboli.cli.options.traces import trace_files_of
from stromboli.cli.output import Failure, Printout
from stromboli.cli.policies import parse_policy, read_configuration_text, read_registry
from stromboli.cli.scenario import WAITING
from stromboli.cli.traced.files import FILE_PARAMETERS, check_files, write_files, writes_to_output
from stromboli.cli.traced.progress import ComparisonProgress
from stromboli.cli.traced.replay import NOT_WITH_TRACES, cluster_of_trace
from stromboli.registry import built_in_registry

if TYPE_CHECKING:
    from stromboli.lab.comparison.comparison import Comparison
    from stromboli.lab.comparison.execution import RunOutcome
    from stromboli.lab.comparison.experiment import PlannedRun, Setting
    from stromboli.lab.comparison.folder import RunFolder
    from stromboli.lab.policy import PolicySource

#: Options that have no effect on runs in other processes.
_NOT_COMPARED = ("ask_extenders", "traceback")
_DEFAULT = "default"


def is_comparison(confs: Sequence[str]) -> bool:
    """Report whether the options ask for more than one plain run."""
    source = click.get_current_context().get_parameter_source
    return len(confs) > 1 or any(source(name) is ParameterSource.COMMANDLINE for name in COMPARISON_PARAMETERS)


@dataclass(frozen=True, slots=True)
class ComparedRuns:
    """The planned runs with the folder of their results."""

    planned: Sequence[PlannedRun]
    folder: RunFolder
    comparison: Comparison
    verdicts: Sequence[str]
    warnings: Sequence[str]


def compare_policies(trace: str, until: float, output: str, confs: Sequence[str], **options: Any) -> None:
    """Run every policy with every seed, print the comparison and write its files."""
    from stromboli.lab.comparison.verdict import verdicts_of

    reject_options(NOT_WITH_TRACES, "with --trace")
    reject_options(_NOT_COMPARED, "in a comparison")
    files = {name: options.pop(name) for name in FILE_PARAMETERS}
    check_files(files, output)
    own = {name: options.pop(name) for name in ("seeds", "workers", "dask", "results")}
    if own["dask"] and own["workers"]:
        raise click.UsageError("--workers has no effect with --dask, which has workers of its own; leave it out.")
    policies, warnings = _policies(confs, options["plugins"])
    seeds = _seeds(own["seeds"], options["seed"])
    setting, of_cluster = _setting(trace, until, confs, options)
    with _folder(own["results"]) as folder:
        planned = _planned(setting, policies, seeds)
        _run_missing(planned, folder, own["workers"] or os.cpu_count() or 1, own["dask"])
        comparison = _comparison(planned, folder, seeds)
        every = [*of_cluster, *warnings, *_warnings_of_runs(comparison)]
        runs = ComparedRuns(planned, folder, comparison, verdicts_of(comparison), every)
        write_files(runs, files)
        _echo(runs, output, is_silent=writes_to_output(files))
    if any("waiting" in run["outcomes"] for each in runs.comparison.runs.values() for run in each):
        click.get_current_context().exit(WAITING)


def _seeds(count: int | None, first: int) -> list[int]:
    named = click.get_current_context().get_parameter_source("seed") is ParameterSource.COMMANDLINE
    if count is None:
        return [first]
    return list(range(first if named else 1, (first if named else 1) + count))


def _policies(confs: Sequence[str], plugins: Sequence[str]) -> tuple[list[PolicySource], list[str]]:
    """Read and check all policies before the first run. Their labels are the names of their files."""
    from stromboli.lab.policy import PolicySource

    registry, policies, warnings = read_registry(plugins), [], []
    names = [Path(conf).stem for conf in confs]
    for conf, name in zip(confs, names, strict=True):
        label = conf if names.count(name) > 1 else name
        text = read_configuration_text(conf)
        warnings += [f"{conf}: {warning}" for warning in parse_policy(text, registry, conf).warnings]
        policies.append(PolicySource(label, text, built_in_registry, tuple(plugins)))
    if len({policy.label for policy in policies}) < len(policies):
        raise click.UsageError("The same --conf is named twice.")
    return policies or [PolicySource(_DEFAULT, None, built_in_registry, tuple(plugins))], warnings


def _setting(trace: str, until: float, confs: Sequence[str], options: dict[str, Any]) -> tuple[Setting, Sequence[str]]:
    from stromboli.lab.comparison.experiment import Setting

    files = trace_files_of(trace, options)
    replay = replay_of(options, 0)
    scenario, nodes = cluster_of_trace({**options, "conf": confs[0] if confs and confs[0] != "-" else None})
    setting = Setting(files, replay, tuple(nodes), tuple(scenario.objects), tuple(scenario.scheduler_names), until)
    return setting, scenario.warnings


@contextmanager
def _folder(path: str | None) -> Iterator[RunFolder]:
    from stromboli.lab.comparison.folder import RunFolder

    with TemporaryDirectory(prefix="stromboli-") as temporary:
        try:
            folder = RunFolder(Path(path or temporary))
        except OSError as error:
            raise Failure(f"{path}: {error.strerror or error}") from error
        yield folder


def _planned(setting: Setting, policies: Sequence[PolicySource], seeds: Sequence[int]) -> list[PlannedRun]:
    from stromboli.lab.comparison.experiment import planned_runs
    from stromboli.traces.trace import TraceError

    try:
        setting.trace.open()
        return planned_runs(setting, policies, seeds)
    except TraceError as error:
        raise Failure(error) from error


def _run_missing(planned: Sequence[PlannedRun], folder: RunFolder, workers: int, dask: str | None) -> None:
    from stromboli.lab.comparison.dask import DaskUnreachable, run_on_dask
    from stromboli.lab.comparison.local import WorkersLost, run_locally
    from stromboli.lab.extra import MissingExtra

    missing = [each for each in planned if not folder.has(each.key)]
    outcomes = run_on_dask(missing, folder, dask) if dask else run_locally(missing, folder, workers)
    try:
        with ComparisonProgress(len(planned), len(planned) - len(missing)) as progress:
            for outcome in outcomes:
                _check(outcome)
                progress.advance()
    except (DaskUnreachable, WorkersLost, MissingExtra) as error:
        raise Failure(error) from error


def _check(outcome: RunOutcome) -> None:
    if outcome.error:
        raise Failure(outcome.error)


def _comparison(planned: Sequence[PlannedRun], folder: RunFolder, seeds: Sequence[int]) -> Comparison:
    from stromboli.lab.comparison.comparison import Comparison

    runs: dict[str, list[dict[str, Any]]] = {}
    for each in planned:
        runs.setdefault(each.policy.label, []).append(folder.statistics(each.key))
    return Comparison(planned[0].setting.trace.name, seeds, runs)


def _warnings_of_runs(comparison: Comparison) -> Iterator[str]:
    yield from dict.fromkeys(text for runs in comparison.runs.values() for run in runs for text in run["warnings"])


def _echo(runs: ComparedRuns, output: str, *, is_silent: bool) -> None:
    from stromboli.cli.text.comparison import echo_comparison

    comparison, verdicts = runs.comparison, runs.verdicts
    printout = Printout(
        tables=lambda wide: echo_comparison(comparison, verdicts, wide=wide),
        data=lambda: {**comparison.as_plain(verdicts), "warnings": list(runs.warnings)},
        names=lambda: (f"policy/{name}" for name in comparison.policies), warnings=list(runs.warnings),
    )  # fmt: skip
    if not is_silent:
        printout.echo(output)
