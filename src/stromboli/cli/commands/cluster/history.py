"""`stromboli history`: what happened to jobs."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, Any

import click

from stromboli.cli.answers.asking import ask_for, asking_options
from stromboli.cli.completion import complete_jobs
from stromboli.cli.options.connection import kubeconfig_options
from stromboli.cli.options.history import find_history, history_option, open_history
from stromboli.cli.options.listing import namespace_options, scope_of, watch_option
from stromboli.cli.options.settings import output_option, reject_options
from stromboli.cli.options.times import SINCE, clock_unless, now_option
from stromboli.cli.output import Failure
from stromboli.cli.text.tables import on_terminal
from stromboli.cli.watching import HISTORY_SECONDS, watch_rows

if TYPE_CHECKING:
    from stromboli.cli.output import Printout
    from stromboli.history.databases.database import Database
    from stromboli.history.query import HistoryFilter, JobHistory

#: Jobs in a table on a terminal, unless a limit is set.
_MAX_ON_TERMINAL = 50
#: As in `query.STATES`, which is imported only when the command runs.
_STATES = ("Pending", "Running", "Succeeded", "Failed", "Evicted", "Suspended", "Cancelled", "Unknown")

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


@click.command(epilog=_EPILOG)
@click.argument("job", default="", shell_complete=complete_jobs)
@namespace_options
@click.option("--queue", default="", metavar="NAME", help="Only jobs of one queue.")
@click.option("--state", "states", multiple=True, type=click.Choice(_STATES), help="Only jobs in a state. Repeatable.")
@click.option(
    "--since", type=SINCE, default="1d", show_default=True, metavar="TIME",
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
@asking_options
def history(job: str, output: str, now: float | None, watch: bool, **options: Any) -> None:
    """Show what happened to jobs: starts, evictions, failures.

    With JOB, the name of a PodGroup or of its owner such as a Job, every start and end of its pods is listed. --watch
    prints what is recorded from then on.
    """
    moment = clock_unless(now)
    if options["limit"] is None and output in ("table", "wide") and on_terminal():
        options["limit"] = _MAX_ON_TERMINAL
    if options["scheduler_address"] or not (address := find_history(options)):
        if watch:
            reject_options(("watch",), "where the scheduler answers; name a history with --history")
        _ask(job, options, output)
        return
    namespace, _, name = job.rpartition("/")
    scope = scope_of(options, namespace or _present_namespace(options))
    wanted = _filter(
        scope.namespace, name, moment, options["since"], options["queue"], options["states"], options["limit"]
    )
    with open_history(address) as database:
        if watch:
            _watch(database, wanted, lambda: clock_unless(now), output)
        else:
            recorded(database, wanted, moment).echo(output)


def _ask(job: str, options: dict[str, Any], output: str) -> None:
    """Ask the scheduler of the cluster of the kubeconfig, if there is one."""
    from stromboli.core.model.values.times import format_timestamp
    from stromboli.visibility.questions import Question

    missing = Failure("the kubeconfig names no history, as that of stromboli up does; name one with --history")
    if not (options["scheduler_address"] or _is_configured(options)):
        raise missing
    namespace, _, name = job.rpartition("/")
    since = options["since"]
    parameters = {
        "since": f"{-since:g}" if since <= 0 else format_timestamp(since), "queue": options["queue"],
        "state": ",".join(options["states"]), "limit": str(options["limit"] or ""),
    }  # fmt: skip
    asked = {key: value for key, value in parameters.items() if value}
    question = Question("history", "", name, output, asked)
    ask_for(question, {**options, "namespace": namespace or options["namespace"]}, missing)


def filter_of(
    namespace: str, job: str, now: float, *, queue: str, states: Collection[str], since: str, limit: str
) -> HistoryFilter:
    """Return the filter of the parameters of a question. Invalid ones end the command."""
    if unknown := sorted(set(states) - set(_STATES)):
        raise Failure(f"state {', '.join(unknown)} is not one of {', '.join(_STATES)}")
    if limit and not limit.isdecimal():
        raise Failure(f"limit {limit!r} is not a number")
    return _filter(namespace, job, now, SINCE.convert(since or "1d", None, None), queue, states, int(limit or 0))


def _filter(
    namespace: str, job: str, now: float, since: float, queue: str, states: Collection[str], limit: int | None
) -> HistoryFilter:
    from stromboli.history.query import HistoryFilter

    moment = None if job or not since else now + since if since < 0 else since
    return HistoryFilter(namespace, job, queue, frozenset(states), moment, limit or None)


def _is_configured(options: dict[str, Any]) -> bool:
    from stromboli.kube.client.config.kubeconfig import kubeconfig_exists

    return bool(options["kubeconfig"] or options["context"] or kubeconfig_exists())


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


def recorded(database: Database, wanted: HistoryFilter, now: float, shown_key: Callable[[str], str] = str) -> Printout:
    """Return the jobs or, of a named job, all its attempts. `shown_key` returns the text for the key of a preemptor. An
    unknown name ends the command.
    """
    from stromboli.cli.text.cluster.history import job_printout, jobs_printout
    from stromboli.history.query import pods_of, query

    if not wanted.job:
        return jobs_printout(query(database, wanted), now, shows_namespaces=not wanted.namespace)
    jobs = [(job, pods_of(database, job.uid)) for job in _found(database, wanted)]
    for _, pods in jobs:
        for pod in pods:
            pod.preemptor = shown_key(pod.preemptor) if pod.preemptor else pod.preemptor
    return job_printout(jobs, now)


def _found(database: Database, wanted: HistoryFilter) -> list[JobHistory]:
    """Return the jobs of a name. An unknown name ends the command."""
    from stromboli.history.query import query

    found = query(database, wanted).jobs
    if not found:
        where = f"in namespace {wanted.namespace}" if wanted.namespace else "in any namespace"
        raise Failure(f"the history has no job {wanted.job} {where}; names are those of PodGroups or their owners")
    return found
