"""`stromboli priority`: the order of a job's queue, by the keys of every plugin."""

from __future__ import annotations

from typing import Any

import click

from stromboli.cli.cluster_scenario import job_view_options, read_view
from stromboli.cli.completion import complete_jobs
from stromboli.cli.job_names import named_job
from stromboli.cli.options.times import clock_unless
from stromboli.cli.output import Failure
from stromboli.cli.past_usage import past_usage_option, with_past_usage
from stromboli.planner.job_names import JobNames

_EPILOG = """\b
Examples:
  stromboli priority train
  stromboli priority -n team-a train -o wide
  stromboli priority train -o json | jq '.jobs[] | {name, keys}'
  stromboli priority -f examples/cluster research/finetune

\b
Exit codes:
  0  shown
  1  invalid input, a job that does not wait, or the cluster is unreachable
  2  wrong usage
"""


@click.command(epilog=_EPILOG)
@click.argument("name", metavar="JOB", shell_complete=complete_jobs)
@job_view_options
@past_usage_option()
def priority(name: str, output: str, **options: Any) -> None:
    """Show the order of a job's queue, with the keys of every plugin.

    Every plugin that orders jobs has a column with its key. Keys are compared from left to right, and a smaller one
    comes first; jobs with equal keys are in the order of their age. A star marks JOB, and its queue among the queues.
    """
    from stromboli.cli.text.cluster.priority import priority_printout
    from stromboli.planner.overview.queue_order import queue_order

    scenario = with_past_usage(read_view(options), options)
    cluster = scenario.open()
    session = cluster.session
    key = named_job(JobNames.of_cluster(cluster), name, options["namespace"])
    order = queue_order(session, cluster.pod_groups, session.jobs[key].queue)
    if all(each.subject.key != key for each in order.jobs):
        raise Failure(f"job {name} has no waiting pods, so it has no place in queue {order.queue}")
    now = scenario.dump.now if scenario.dump else clock_unless(scenario.now)
    priority_printout(order, key, now, [*scenario.warnings, *map(scenario.located, session.warnings)]).echo(output)
