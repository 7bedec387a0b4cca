"""The job that a name on the command line means."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stromboli.cli.output import Failure, job_name

if TYPE_CHECKING:
    from stromboli.planner.job_names import JobNames


def named_job(known: JobNames, name: str, namespace: str = "") -> str:
    """Return the key of a job as `find_job` does, or by its name in `-o name`. An unknown name ends the command with a
    message.
    """
    from stromboli.planner.job_names import UnknownJob, find_job

    if name not in known.jobs and (key := next((key for key in known.jobs if name == job_name(key)), "")):
        return key
    try:
        return find_job(known, name, namespace)
    except UnknownJob as error:
        raise Failure(error) from error
