"""`stromboli plan`: what the scheduler would do with a job, a cluster or manifests, and why pods wait."""

from __future__ import annotations

from typing import Any

import click

from stromboli.cli.answers.asking import asking_options, asking_scheduler, switches
from stromboli.cli.forecasting import forecast_of
from stromboli.cli.options.settings import output_option
from stromboli.cli.output import Printout
from stromboli.cli.past_usage import past_usage_option, with_past_usage
from stromboli.cli.plan_output import plan_printout
from stromboli.cli.scenario import WAITING, Scenario, read_scenario, scenario_options

#: Submitted jobs that wait are forecast without being asked for, in this time and in clusters of this size.
_QUICK_SECONDS = 1.0
_MAX_QUICK_OBJECTS = 5_000

_EPILOG = """\b
Examples:
  stromboli plan -f job.yaml
  stromboli plan -n research
  stromboli plan -f examples/cluster
  stromboli plan -f examples/cluster --explain -o wide
  stromboli plan -f examples/forecast --when
  stromboli plan -f examples/contention --cycles 3 -o json \\
    --conf examples/contention/scheduler.conf

\b
Exit codes:
  0  every pod is scheduled
  1  invalid input
  2  wrong usage
  3  a job waits, or an object could not be judged
"""


@click.command(epilog=_EPILOG)
@scenario_options
@output_option()
@click.option("--explain", is_flag=True, help="Also explain every job that waits or searched for a domain.")
@click.option("--when", is_flag=True, help="Also show when the waiting jobs are expected to start, as in forecast.")
@past_usage_option(", and with --when run times")
@asking_options
def plan(output: str, explain: bool, when: bool, history_address: str, **options: Any) -> None:
    """Show what the scheduler would do with a job, or with all.

    Files without nodes are added to the cluster of the kubeconfig, and the output is about their jobs. Files with nodes
    are a complete cluster, and no other is read. Without files, the output is about all jobs of the cluster. Nothing is
    written.
    """
    from stromboli.visibility.questions import Question

    question = Question("plans", "", output=output, parameters=switches(explain=explain, when=when))
    with asking_scheduler(question, options):
        scenario = read_scenario(**options)
        scenario = with_past_usage(scenario, {**options, "history_address": history_address})
        printout, is_complete = planned(scenario, history_address, explain=explain, when=when)
        printout.echo(output)
        if not is_complete:
            click.get_current_context().exit(WAITING)


def planned(
    scenario: Scenario, history_address: str, *, explain: bool = False, when: bool = False
) -> tuple[Printout, bool]:
    """Return the plan of a scenario, and whether every pod of its jobs is scheduled."""
    made = scenario.shown(scenario.plan())
    is_quick = scenario.has_submission and made.waiting and len(scenario.objects) <= _MAX_QUICK_OBJECTS
    seconds = None if when else _QUICK_SECONDS
    starts = forecast_of(scenario, history_address, made.waiting, seconds) if when or is_quick else None
    explained = made.explained_jobs if explain or scenario.has_submission else None
    return plan_printout(scenario, made, explained, starts), scenario.is_judged and made.is_complete
