"""`stromboli jobs`: the jobs of a cluster, and why they wait."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from stromboli.cli.answers.asking import Unanswered, ask_for, asking_options, asking_scheduler, switches
from stromboli.cli.cluster_scenario import objects_of, read_view, view_options
from stromboli.cli.cluster_source import ListingDenied
from stromboli.cli.completion import complete_queues
from stromboli.cli.forecasting import forecast_of, learned_option
from stromboli.cli.options.connection import connector, request_errors
from stromboli.cli.options.listing import ListingScope, namespace_options, scope_of, selector_option, watch_option
from stromboli.cli.options.settings import output_option, reject_options
from stromboli.cli.options.times import clock_unless
from stromboli.cli.past_usage import with_past_usage

if TYPE_CHECKING:
    from stromboli.cli.job_source import JobObjects, JobWatch
    from stromboli.cli.output import Printout
    from stromboli.cli.scenario import Scenario
    from stromboli.cli.text.changes import ChangedRows
    from stromboli.kube.client.config.connection import Connection
    from stromboli.planner.overview.job_list import JobEntry
    from stromboli.visibility.questions import Question

#: Changes within this many seconds are shown together.
_DEBOUNCE_SECONDS = 0.2

_EPILOG = """\b
Examples:
  stromboli jobs
  stromboli jobs -A --queue research --waiting
  stromboli jobs -n team-a -l app=train --watch
  stromboli jobs -o json | jq -r '.jobs[] | select(.position == 1) | .job'
  stromboli jobs -f examples/forecast --plan --when

\b
Exit codes:
  0  shown, also when there are none
  1  invalid input, or the cluster is unreachable
  2  wrong usage
"""


@click.command(epilog=_EPILOG)
@namespace_options
@selector_option
@click.option(
    "--queue",
    "queues",
    multiple=True,
    metavar="NAME",
    shell_complete=complete_queues,
    help="Only the jobs of a queue. Repeatable.",
)
@click.option("--waiting", is_flag=True, help="Only jobs that have not started.")
@click.option("--when", is_flag=True, help="Forecast now when waiting jobs are expected to start.")
@learned_option
@click.option("--plan", "is_planned", is_flag=True, help="Show what the next scheduling cycle would do.")
@output_option()
@watch_option
@view_options
@asking_options
def jobs(
    queues: tuple[str, ...], waiting: bool, is_planned: bool, when: bool, output: str, watch: bool, **options: Any
) -> None:
    """List jobs, their places in their queues, and why they wait.

    The list shows what the scheduler has reported, so it needs only the right to list PodGroups. Where no scheduler has
    reported anything, as in manifests, and with --plan, a scheduling cycle is run on the objects instead; nothing is
    written.

    READY counts the pods that run or have succeeded, of those that must start together. POSITION is the place among the
    waiting jobs of the queue, by priority and age; with --plan, by the order of the policy.
    """
    from stromboli.visibility.questions import Question

    wanted = partial(WantedJobs, queues=frozenset(queues), only_waiting=waiting)
    asked = switches(waiting=waiting, when=when, plan=is_planned)
    lists = {"queue": ",".join(queues), "selector": options["selector"]}
    question = Question("jobs", "", output=output, parameters={**asked, **{k: v for k, v in lists.items() if v}})
    if options["scheduler_address"]:
        ask_for(question, options)
    if options["paths"] or is_planned or when:
        if watch:
            reject_options(("watch",), "with --plan, --when or -f, which are computed once")
        with asking_scheduler(question, options):
            default = "" if options["paths"] else connector(options)().namespace
            scope = scope_of(options, default)
            listed(
                with_past_usage(read_view(options), options),
                wanted(scope),
                options["history_address"],
                is_planned=is_planned,
                when=when,
            ).echo(output)
        return
    connection = connector(options)()
    scope = scope_of(options, connection.namespace)
    if watch:
        asyncio.run(_watch(connection, wanted(scope), output))
    else:
        with asking_scheduler(question, options):
            _list(connection, wanted(scope), question, options, output)


@dataclass(frozen=True, slots=True)
class WantedJobs:
    """The jobs to show."""

    scope: ListingScope
    queues: frozenset[str]
    only_waiting: bool

    def of(self, jobs: Iterable[JobEntry]) -> list[JobEntry]:
        return [job for job in jobs if self._includes(job)]

    def _includes(self, job: JobEntry) -> bool:
        if not self.scope.includes(job.namespace, job.labels) or (self.only_waiting and not job.waits):
            return False
        return not self.queues or job.queue in self.queues


def listed(
    scenario: Scenario, wanted: WantedJobs, history_address: str, *, is_planned: bool = False, when: bool = False
) -> Printout:
    """Return the jobs of a scenario: as a scheduler has reported them, or as a cycle would leave them."""
    from stromboli.cli.job_source import job_objects
    from stromboli.cli.text.cluster.jobs import jobs_printout
    from stromboli.planner.overview.planned_jobs import planned_jobs

    reported, warnings = job_objects(objects_of(scenario)), scenario.warnings
    if (reported.has_reports or scenario.is_live) and not is_planned:
        found = reported.jobs()
    else:
        plan = scenario.plan()
        found, warnings = planned_jobs(plan), [*warnings, *plan.warnings]
    now = scenario.dump.now if scenario.dump else clock_unless(scenario.now)
    shown = wanted.of(found)
    waiting = [job.key for job in shown if job.waits]
    starts = forecast_of(scenario, history_address, waiting) if when else {}
    for job in shown:
        if job.key in starts:
            job.expected = (starts[job.key].earliest, starts[job.key].latest)
    return jobs_printout(shown, wanted.scope, now, warnings)


def _list(
    connection: Connection, wanted: WantedJobs, question: Question, options: Mapping[str, Any], output: str
) -> None:
    """List what the scheduler has reported. If not all jobs may be listed, positions are those that the scheduler
    answers, or else unknown.
    """
    from stromboli.cli.text.cluster.jobs import jobs_printout
    from stromboli.kube.work.collection import collection_paused

    with collection_paused():
        with request_errors(connection, "PodGroups"):
            found = asyncio.run(_found(connection, wanted.scope))
        if not found.is_complete:
            with suppress(Unanswered):
                ask_for(question, options)
        jobs_printout(wanted.of(found.jobs()), wanted.scope, time.time(), found.warnings).echo(output)


async def _found(connection: Connection, scope: ListingScope) -> JobObjects:
    from stromboli.cli.job_source import list_job_objects
    from stromboli.kube.client.api_errors import ApiError
    from stromboli.kube.client.client import Client

    async with Client(connection) as client:
        try:
            return await list_job_objects(client, scope.namespace)
        except ApiError as error:
            if error.status != 403 or not scope.namespace:
                raise
            raise ListingDenied(f"you may not list podgroups in namespace {scope.namespace}") from error


async def _watch(connection: Connection, wanted: WantedJobs, output: str) -> None:
    """Watch until a signal. An error of the first list ends the command; later errors are retried."""
    from stromboli.cli.job_source import JobWatch, list_job_objects
    from stromboli.cli.text.cluster.jobs import job_changes
    from stromboli.kube.client.client import Client
    from stromboli.observability.signals import stopped_by_signal

    async with Client(connection) as client:
        with request_errors(connection, "PodGroups"):
            first = await list_job_objects(client, wanted.scope.namespace)
        watch = JobWatch(client, first, wanted.scope.namespace)
        changes = job_changes(output, time.time, with_namespace=not wanted.scope.namespace)
        watching = asyncio.ensure_future(asyncio.gather(watch.run(), _print_changes(watch, wanted, changes)))
        with stopped_by_signal(watching.cancel):
            await asyncio.gather(watching, return_exceptions=True)


async def _print_changes(watch: JobWatch, wanted: WantedJobs, changes: ChangedRows[JobEntry]) -> None:
    await watch.synced()
    while True:
        changes.show(wanted.of(watch.current.jobs()))
        await watch.changed.wait()
        await asyncio.sleep(_DEBOUNCE_SECONDS)
        watch.changed.clear()
