"""`stromboli history`: what happened to jobs."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from stromboli.cli.options.connection import kubeconfig_options
from stromboli.cli.options.history import find_history, history_option, open_history
from stromboli.cli.options.listing import namespace_options, scope_of, watch_option
from stromboli.cli.options.settings import DURATION, output_option
from stromboli.cli.options.times import TIMESTAMP, clock_unless, now_option
from stromboli.cli.output import Failure
from stromboli.cli.text.tables import on_terminal
from stromboli.cli.watching import HISTORY_SECONDS, watch_rows

if TYPE_CHECKING:
    from stromboli.history.databases.database import Database
    from stromboli.history.query import HistoryFilter, JobHistory

#: Jobs in a table on a terminal, unless a limit is set.
_MAX_ON_TERMINAL = 50
#: As in `query.STATES`, which is imported only when the command runs.
_STATES = ("Pending", "Running", "Succeeded", "Failed", "Evicted", "Cancelled", "Unknown")

_EPILOG = """\b
Examples:
  stromboli history -A --since 2d
  stromboli history train -n research
  stromboli history -n research --watch
  stromboli history -A --queue research --state Failed --state Evicted
  stromboli history -A -o json | jq '.jobs[] | {name, state, evictions}'
  stromboli history -A --history postgresql://stromboli@db/history

\b
Exit codes:
  0  shown, also when there are none
  1  invalid input, no such job, or no history
  2  wrong usage
"""


class _Since(click.ParamType[float]):
    """A duration before the present as a negative number, or a time."""

    name = "time"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        if isinstance(value, float):
            return value
        return TIMESTAMP.convert(value, param, ctx) if "T" in value else -DURATION.convert(value, param, ctx)


@click.command(epilog=_EPILOG)
@click.argument("job", default="")
@namespace_options
@click.option("--queue", default="", metavar="NAME", help="Only jobs of one queue.")
@click.option("--state", "states", multiple=True, type=click.Choice(_STATES), help="Only jobs in a state. Repeatable.")
@click.option(
    "--since", type=_Since(), default="1d", show_default=True, metavar="TIME",
    help="Only jobs that waited or ran since then: a duration (2d, 6h), a time, or 0 for all. A JOB is always shown.",
)  # fmt: skip
@click.option(
    "--limit", type=click.IntRange(min=0), metavar="N",
    help=f"The latest jobs only; 0: all. Default: {_MAX_ON_TERMINAL} in a table on a terminal, elsewhere all.",
)  # fmt: skip
@history_option(
    "The file or PostgreSQL server of the history. Default: the history of stromboli up, if the kubeconfig is that of "
    "its cluster."
)
@kubeconfig_options
@now_option("The present time, for durations. Default: the clock.")
@output_option()
@watch_option
def history(job: str, output: str, now: float | None, watch: bool, **options: Any) -> None:
    """Show what happened to jobs: starts, evictions, failures.

    With JOB, the name of a PodGroup or of its owner such as a Job, every start and end of its pods is listed. --watch
    prints what is recorded from then on.
    """
    moment = clock_unless(now)
    if options["limit"] is None and output in ("table", "wide") and on_terminal():
        options["limit"] = _MAX_ON_TERMINAL
    if not (address := find_history(options)):
        raise Failure("the kubeconfig names no history, as that of stromboli up does; name one with --history")
    wanted = _filter(job, moment, options)
    with open_history(address) as database:
        if watch:
            _watch(database, wanted, lambda: clock_unless(now), output)
        else:
            (_echo_job if job else _echo_jobs)(database, wanted, moment, output)


def _filter(job: str, now: float, options: dict[str, Any]) -> HistoryFilter:
    from stromboli.history.query import HistoryFilter

    namespace, _, name = job.rpartition("/")
    scope = scope_of(options, namespace or _present_namespace(options))
    since = options["since"]
    return HistoryFilter(
        namespace=scope.namespace,
        job=name,
        queue=options["queue"],
        states=frozenset(options["states"]),
        since=None if job or not since else now + since if since < 0 else since,
        limit=options["limit"] or None,
    )


def _present_namespace(options: dict[str, Any]) -> str:
    """Return the namespace of the kubeconfig; without one, all."""
    from stromboli.kube.client.config.connect import connect
    from stromboli.kube.client.config.connection import ConnectionProblem

    try:
        return connect(options["kubeconfig"], options["context"]).namespace
    except ConnectionProblem:
        return ""


def _watch(database: Database, wanted: HistoryFilter, now: Callable[[], float], output: str) -> None:
    """Print the jobs that change or, of a named job, its further events."""
    from stromboli.cli.text.cluster.history import event_changes, job_changes
    from stromboli.history.events import events_of
    from stromboli.history.query import pods_of, query

    if not wanted.job:
        changes = job_changes(output, now, shows_namespaces=not wanted.namespace)
        watch_rows(lambda: query(database, wanted).jobs, changes, HISTORY_SECONDS)
        return
    _found(database, wanted)
    watch_rows(
        lambda: [event for job in query(database, wanted).jobs for event in events_of(job, pods_of(database, job.uid))],
        event_changes(output),
        HISTORY_SECONDS,
    )


def _echo_jobs(database: Database, wanted: HistoryFilter, now: float, output: str) -> None:
    from stromboli.cli.text.cluster.history import jobs_printout
    from stromboli.history.query import query

    jobs_printout(query(database, wanted), now, shows_namespaces=not wanted.namespace).echo(output)


def _echo_job(database: Database, wanted: HistoryFilter, now: float, output: str) -> None:
    from stromboli.cli.text.cluster.history import job_printout
    from stromboli.history.query import pods_of

    job_printout([(job, pods_of(database, job.uid)) for job in _found(database, wanted)], now).echo(output)


def _found(database: Database, wanted: HistoryFilter) -> list[JobHistory]:
    """Return the jobs of a name. An unknown name ends the command."""
    from stromboli.history.query import query

    found = query(database, wanted).jobs
    if not found:
        where = f"in namespace {wanted.namespace}" if wanted.namespace else "in any namespace"
        raise Failure(f"the history has no job {wanted.job} {where}; names are those of PodGroups or their owners")
    return found
