"""`stromboli plan`: what the scheduler would do with some manifests, and why pods wait."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from stromboli.cli.output import echo_json, echo_yaml, warn
from stromboli.cli.scenario import WAITING, Scenario, read_scenario, scenario_options

if TYPE_CHECKING:
    from stromboli.planner.plan import SchedulingPlan

_EPILOG = """\b
Examples:
  stromboli plan -f cluster/ -f job.yaml
  kubectl get nodes,pods,podgroups.scheduling.volcano.sh,queues,priorityclasses,namespaces \\
    -A -o yaml | stromboli plan -f -
  stromboli plan -f cluster/ --conf volcano-scheduler.conf --cycles 3 -o json

\b
Exit codes:
  0  every pod is scheduled
  1  invalid input
  2  wrong usage
  3  a job waits
"""


@click.command(epilog=_EPILOG)
@scenario_options
@click.option(
    "-o", "--output", type=click.Choice(["table", "json", "yaml"]), default="table", show_default=True,
    help="The output format.",
)  # fmt: skip
@click.option("--explain", is_flag=True, help="Also explain every job that waits or searched for a domain.")
def plan(output: str, explain: bool, **options: Any) -> None:
    """Show what the scheduler would do with some manifests.

    Nodes, pods, PodGroups, queues, priority classes and so on are read from the files and scheduled as in a cluster.
    The command does not connect to a cluster.
    """
    scenario = read_scenario(**options)
    made = scenario.plan()
    if output == "table":
        _echo_table(scenario, made, explain)
    else:
        _echo_report(scenario, made, explain, output)
    if scenario.has_unread or not made.is_complete:
        click.get_current_context().exit(WAITING)


def _echo_table(scenario: Scenario, made: SchedulingPlan, explain: bool) -> None:
    from stromboli.cli.text.advice import echo_advice
    from stromboli.cli.text.plan import echo_closing, echo_plan

    warn([*scenario.warnings, *made.warnings])
    echo_plan(made)
    for advice in scenario.advise(made, made.explained_jobs) if explain else ():
        echo_advice(advice)
        click.echo()
    echo_closing(made)


def _echo_report(scenario: Scenario, made: SchedulingPlan, explain: bool, output: str) -> None:
    from stromboli.planner.report import advice_as_plain, report_of

    report = report_of(made, scenario.warnings)
    if explain:
        advice = scenario.advise(made, made.explained_jobs)
        report["explanations"] = {entry.explanation.job: advice_as_plain(entry) for entry in advice}
    if output == "json":
        echo_json(report)
    else:
        echo_yaml(report)
