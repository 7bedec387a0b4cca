"""`stromboli cancel`."""

from __future__ import annotations

import click

from stromboli.cli.changes.running import change_job, changing_options
from stromboli.cli.completion import complete_jobs

_EPILOG = """\b
Examples:
  stromboli cancel train
  stromboli cancel -n team-a train

\b
Exit codes:
  0  cancelled
  1  invalid input, an unknown job, or the cluster is unreachable
  2  wrong usage
"""


@click.command(epilog=_EPILOG)
@click.argument("name", metavar="JOB", shell_complete=complete_jobs)
@changing_options
def cancel(name: str, **options: str | None) -> None:
    """Cancel a job: delete its workload, its pods and its PodGroup.

    Pods that no workload owns are deleted one by one. A Volcano Job that has not ended is terminated by a Command:
    its pods are deleted, and it stays with its status. Cancelled again, it is deleted.
    """
    from stromboli.cli.changes.workloads import cancel as cancel_workload

    change_job(name, options, cancel_workload)
