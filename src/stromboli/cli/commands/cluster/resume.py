"""`stromboli resume`."""

from __future__ import annotations

import click

from stromboli.cli.changes.running import change_job, changing_options
from stromboli.cli.completion import complete_jobs

_EPILOG = """\b
Examples:
  stromboli resume train
  stromboli resume -n team-a train

\b
Exit codes:
  0  resumed
  1  invalid input, an unknown job, or one that has no such state
  2  wrong usage
"""


@click.command(epilog=_EPILOG)
@click.argument("name", metavar="JOB", shell_complete=complete_jobs)
@changing_options
def resume(name: str, **options: str | None) -> None:
    """Resume a suspended job.

    The controller of the workload makes its pods again, and the job waits in its queue by its age.
    """
    from stromboli.cli.changes.workloads import JobWorkload, set_suspended
    from stromboli.kube.client.client import Client

    async def change(client: Client, workload: JobWorkload) -> list[str]:
        await set_suspended(client, workload, suspended=False)
        return [workload.label]

    change_job(name, options, change, "resumed")
