"""`stromboli explain`: why a job waits, and the smallest change that would let it start."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from stromboli.cli.answers.asking import asking_options, asking_scheduler
from stromboli.cli.completion import complete_jobs
from stromboli.cli.job_names import named_job
from stromboli.cli.options.settings import output_option
from stromboli.cli.output import Failure, Printout
from stromboli.cli.past_usage import past_usage_option, with_past_usage
from stromboli.cli.plan_output import explanation_printout
from stromboli.cli.scenario import WAITING, Scenario, read_scenario, scenario_options
from stromboli.planner.job_names import JobNames

_EPILOG = """\b
Examples:
  stromboli explain -n research finetune
  stromboli explain -f examples/cluster research/finetune
  stromboli explain -f examples/cluster finetune -o json

\b
Exit codes:
  0  the job does not wait
  1  invalid input, or no job has this name
  2  wrong usage
  3  the job waits, or an object could not be judged
"""

#: Larger manifests are not read to complete a name.
_MAX_COMPLETED_BYTES = 1 << 20


def _complete_job(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:
    """Complete the PodGroups of the files of `-f`, by name or with their namespace; without files, the jobs of the
    cluster.
    """
    from stromboli.kube import PodGroup
    from stromboli.kube.manifests.manifests import ManifestError
    from stromboli.workloads.reading import read_with_workloads

    if not context.params.get("paths"):
        return complete_jobs(context, parameter, incomplete)
    paths = [path for path in context.params["paths"] if path != "-"]
    try:
        if sum(map(_size, paths)) > _MAX_COMPLETED_BYTES:
            return []
        found = read_with_workloads(paths, scheduler_names=context.params["scheduler_names"]).objects
    except (ManifestError, OSError):
        return []
    groups = [entry for entry in found if isinstance(entry, PodGroup)]
    names = {group.key if "/" in incomplete else group.metadata.name for group in groups}
    return sorted(name for name in names if name.startswith(incomplete))


def _size(path: str) -> int:
    """Return the size of a file, or of all files of a folder."""
    place = Path(path)
    return sum(each.stat().st_size for each in place.rglob("*")) if place.is_dir() else place.stat().st_size


@click.command(epilog=_EPILOG)
@scenario_options
@output_option()
@past_usage_option()
@asking_options
@click.argument("job", shell_complete=_complete_job)
def explain(output: str, job: str, history_address: str, **options: Any) -> None:
    """Show why a job waits, and what would let it start.

    JOB is a PodGroup or one of its pods: NAMESPACE/NAME, the name alone if it is unique, or a line of plan -o name.

    Every proposed change is verified by running the scheduler again with it.

    For evictions, the output names victim, preemptor and rule, and the pods that were kept.
    """
    from stromboli.visibility.questions import Question

    with asking_scheduler(Question("jobs/explanation", "", job, output), options):
        scenario = read_scenario(**options)
        scenario = with_past_usage(scenario, {**options, "history_address": history_address})
        _reject_without_known_pods(scenario, job)
        printout, waits = explained(scenario, job)
        printout.echo(output)
        if scenario.unjudged or waits:
            click.get_current_context().exit(WAITING)


def explained(scenario: Scenario, job: str) -> tuple[Printout, bool]:
    """Return the explanation of a job, and whether it waits. An unknown job ends the command."""
    plan = scenario.plan()
    key = named_job(JobNames.of_plan(scenario.nameable(plan)), job, scenario.selection.namespace)
    return explanation_printout(scenario, plan, key), key in plan.groups and plan.groups[key].waiting


def _reject_without_known_pods(scenario: Scenario, name: str) -> None:
    """End the command if the name is that of an object that has no pods at present, or whose pods are not known."""
    remedy = "could not be judged: its pods are not known; describe its kind with --kinds"
    reasons = {**dict.fromkeys(scenario.unjudged, remedy), **scenario.inactive}
    for subject, reason in reasons.items():
        key = subject.partition(" ")[2]
        if name in (key, key.partition("/")[2]):
            Failure(f"{subject} {reason}").show()
            click.get_current_context().exit(WAITING)
