"""`stromboli plan`: what the scheduler would do with some manifests, and why pods wait."""

from __future__ import annotations

from typing import Any

import click

from stromboli.cli.options.settings import output_option
from stromboli.cli.plan_output import plan_printout
from stromboli.cli.scenario import WAITING, read_scenario, scenario_options

_EPILOG = """\b
Examples:
  stromboli plan -f examples/cluster
  stromboli plan -f examples/cluster --explain -o wide
  stromboli plan -f examples/contention --cycles 3 -o json \\
    --conf examples/contention/scheduler.conf
  kubectl get nodes,pods,queues,pc,ns,podgroups.scheduling.volcano.sh \\
    -A -o yaml | stromboli plan -f -

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
def plan(output: str, explain: bool, **options: Any) -> None:
    """Show what the scheduler would do with some manifests.

    Nodes, pods, PodGroups, queues, priority classes and so on are read from the files and scheduled as in a cluster.
    The command does not connect to a cluster.
    """
    scenario = read_scenario(**options)
    made = scenario.plan()
    plan_printout(scenario, made, made.explained_jobs if explain else None).echo(output)
    if not scenario.is_judged or not made.is_complete:
        click.get_current_context().exit(WAITING)
