"""`stromboli suspend` and `stromboli resume`: one change in two directions."""

from __future__ import annotations

import click

from stromboli.cli.changes.running import change_job, changing_options
from stromboli.cli.completion import complete_jobs

_EPILOG = """\b
Examples:
  stromboli {verb} train
  stromboli {verb} -n team-a train

\b
Exit codes:
  0  {verb}{ending}
  1  invalid input, an unknown job, or one that has no such state
  2  wrong usage
"""
_JOB = click.argument("name", metavar="JOB", shell_complete=complete_jobs)


@click.command(epilog=_EPILOG.format(verb="suspend", ending="ed"))
@_JOB
@changing_options
def suspend(name: str, **options: str | None) -> None:
    """Suspend a job: its pods end, and it can be resumed.

    The controller of the workload deletes its pods, so that others can use their capacity, and keeps the workload. A
    batch Job, a JobSet, a TrainJob and jobs of the training operator and of Ray have a field for that; for a Volcano
    Job a Command is created.
    """
    _change(name, options, suspended=True)


@click.command(epilog=_EPILOG.format(verb="resume", ending="d"))
@_JOB
@changing_options
def resume(name: str, **options: str | None) -> None:
    """Resume a suspended job.

    The controller of the workload makes its pods again, and the job waits in its queue by its age.
    """
    _change(name, options, suspended=False)


def _change(name: str, options: dict[str, str | None], *, suspended: bool) -> None:
    from stromboli.cli.changes.workloads import JobWorkload, set_suspended
    from stromboli.kube.client.client import Client

    async def change(client: Client, workload: JobWorkload) -> list[str]:
        await set_suspended(client, workload, suspended=suspended)
        return [f"{workload.label} {'suspended' if suspended else 'resumed'}"]

    change_job(name, options, change)
