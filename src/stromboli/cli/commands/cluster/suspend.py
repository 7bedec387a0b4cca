"""`stromboli suspend`."""

from __future__ import annotations

import click

from stromboli.cli.changes.running import change_job, changing_options
from stromboli.cli.completion import complete_jobs

_EPILOG = """\b
Examples:
  stromboli suspend train
  stromboli suspend -n team-a train

\b
Exit codes:
  0  suspended
  1  invalid input, an unknown job, or one that has no such state
  2  wrong usage
"""


@click.command(epilog=_EPILOG)
@click.argument("name", metavar="JOB", shell_complete=complete_jobs)
@changing_options
def suspend(name: str, **options: str | None) -> None:
    """Suspend a job: its pods end, and it can be resumed.

    The controller of the workload deletes its pods, so that others can use their capacity, and keeps the workload. A
    batch Job, a JobSet, a TrainJob and jobs of the training operator and of Ray have a field for that; for a Volcano
    Job a Command is created.
    """
    from stromboli.cli.changes.workloads import JobWorkload, set_suspended
    from stromboli.kube.client.client import Client

    async def change(client: Client, workload: JobWorkload) -> list[str]:
        await set_suspended(client, workload, suspended=True)
        return [workload.label]

    change_job(name, options, change, "suspended")
