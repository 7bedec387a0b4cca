"""`stromboli job`: one page about one job."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from stromboli.cli.answers.asking import asking_options, asking_scheduler
from stromboli.cli.cluster_scenario import job_view_options, objects_of, read_view
from stromboli.cli.completion import complete_jobs
from stromboli.cli.job_names import named_job
from stromboli.cli.options.connection import connector
from stromboli.cli.options.history import find_history, history_option, open_history
from stromboli.cli.options.times import clock_unless
from stromboli.cli.output import Printout, job_name
from stromboli.cli.past_usage import with_past_usage
from stromboli.cli.scenario import WAITING
from stromboli.planner.job_names import JobNames

if TYPE_CHECKING:
    from stromboli.cli.job_source import JobObjects
    from stromboli.cli.scenario import Scenario
    from stromboli.cli.text.cluster.history import JobAttempts
    from stromboli.kube import PodGroup
    from stromboli.planner.overview.job_page import JobPage
    from stromboli.planner.plan import SchedulingPlan

_EPILOG = """\b
Examples:
  stromboli job train
  stromboli job -n team-a train -o wide
  stromboli job train -o json | jq '.explanation.reasons[].code'
  stromboli job -f examples/cluster research/finetune

\b
Exit codes:
  0  shown, and the job does not wait
  1  invalid input, an unknown job, or the cluster is unreachable
  2  wrong usage
  3  the job waits
"""


@click.command(epilog=_EPILOG)
@click.argument("name", metavar="JOB", shell_complete=complete_jobs)
@job_view_options
@history_option(
    "The history with the starts and evictions of the job, and with past usage. Default: that of stromboli up, in its "
    "cluster."
)
@asking_options
def job(name: str, output: str, **options: Any) -> None:
    """Show one job: its pods, why it waits, and what would help.

    With a history, also when it started, was evicted and by which job, and what failed.

    JOB is a PodGroup, the workload that owns it, or one of its pods: NAME or NAMESPACE/NAME.

    The reasons are those of a scheduling cycle on the present state of the cluster; nothing is written. A job that the
    cycle would start shows the nodes.
    """
    from stromboli.visibility.questions import Question

    with asking_scheduler(Question("jobs", "", name, output), options):
        scenario = with_past_usage(read_view(options), options)
        history = options["history_address"] if options["paths"] else find_history(options)
        without_pods = scenario.is_live and _suspended_volcano_job(scenario, name, options)
        if without_pods:
            printout, waits = _suspended_printout(scenario, without_pods, history), True
        else:
            printout, waits = job_of(scenario, name, options["namespace"], history, partial(_is_suspended, options))
        printout.echo(output)
        if waits:
            click.get_current_context().exit(WAITING)


def job_of(
    scenario: Scenario,
    name: str,
    namespace: str,
    history: str,
    is_suspended: Callable[[PodGroup], bool] = lambda group: False,
    shown_key: Callable[[str], str] = str,
) -> tuple[Printout, bool]:
    """Return the page of a job, and whether it waits. An unknown job ends the command."""
    from stromboli.planner.overview.job_list import SUSPENDED
    from stromboli.planner.overview.job_page import job_page

    plan = scenario.plan()
    key = named_job(JobNames.of_plan(scenario.nameable(plan)), name, namespace)
    page, group = job_page(plan, objects_of(scenario), key), plan.pod_groups.get(key)
    if scenario.is_live and page.entry.waits and not page.pods and group is not None and is_suspended(group):
        page.entry.reason = SUSPENDED
    return _printout(scenario, plan, page, _recorded(group, key, history, shown_key)), page.entry.waits or plan.groups[
        key
    ].waiting


def _is_suspended(options: Mapping[str, Any], group: PodGroup) -> bool:
    """Report whether the workload of a job of the cluster is suspended."""
    from stromboli.cli.changes.running import run_with_client
    from stromboli.cli.suspended_jobs import suspended_groups

    namespace, connection = group.metadata.namespace, connector(options)()
    return bool(run_with_client(connection, lambda client: suspended_groups(client, [group], namespace), "PodGroups"))


def _suspended_volcano_job(scenario: Scenario, name: str, options: Mapping[str, Any]) -> JobObjects | None:
    """Return the group that a suspended Volcano Job of this name had; None for any other job."""
    from stromboli.cli.changes.running import run_with_client
    from stromboli.cli.job_source import JobObjects, job_objects
    from stromboli.cli.suspended_jobs import suspended_volcano_jobs
    from stromboli.workloads.groups import title_of

    present = job_objects(objects_of(scenario))
    scope, _, plain = name.rpartition("/")
    namespace = scope or options["namespace"]
    names = {title_of(group) for group in present.groups if namespace in ("", group.metadata.namespace)}
    if plain in names:
        return None
    connection = connector(options)()
    groups = run_with_client(connection, lambda client: suspended_volcano_jobs(client, namespace), "Jobs")
    named = [group for group in groups if title_of(group) == plain]
    if len(named) != 1:
        return None
    return JobObjects(named, present.priorities, is_complete=False, suspended=frozenset({named[0].key}))


def _suspended_printout(scenario: Scenario, found: JobObjects, history: str) -> Printout:
    from stromboli.planner.overview.job_page import JobPage

    (entry,), (group,) = found.jobs(), found.groups
    page = JobPage(entry=entry, pods=(), eviction="", waiting_in_queue=0, next_nodes={})
    return _printout(scenario, None, page, _recorded(group, entry.key, history, str))


def _recorded(
    group: PodGroup | None, key: str, address: str, shown_key: Callable[[str], str]
) -> list[JobAttempts] | None:
    """Return what the history at this address has about a job; None without a history. `shown_key` returns the text for
    the key of a preemptor.
    """
    if not address:
        return None
    from stromboli.history.query import HistoryFilter, pods_of, query

    namespace, _, name = key.partition("/")
    with open_history(address) as database:
        found = query(database, HistoryFilter(namespace, name.rpartition(":")[2])).jobs
        same = [job for job in found if group is not None and job.uid == group.metadata.uid]
        attempts: list[JobAttempts] = [(job, pods_of(database, job.uid)) for job in same or found]
        for pod in (pod for _, pods in attempts for pod in pods if pod.preemptor):
            pod.preemptor = shown_key(pod.preemptor or "")
        return attempts


def _printout(
    scenario: Scenario, plan: SchedulingPlan | None, page: JobPage, recorded: list[JobAttempts] | None
) -> Printout:
    """Return the page with the advice of a plan; a job without pods is not in it."""
    key, warnings = page.entry.key, [*scenario.warnings, *(plan.warnings if plan else ())]
    now = scenario.dump.now if scenario.dump else clock_unless(scenario.now)

    def tables(wide: bool) -> None:
        from stromboli.cli.text.advice import echo_sections
        from stromboli.cli.text.cluster.job import echo_history, echo_job

        echo_job(page, now, wide=wide)
        echo_history(recorded or (), wide=wide)
        if plan is not None:
            echo_sections(scenario.advise(plan, [key])[0], wide=wide)

    def data() -> dict[str, Any]:
        from stromboli.cli.text.cluster.history import recorded_as_plain
        from stromboli.planner.report import advice_as_plain

        found = {
            "explanation": None if plan is None else advice_as_plain(scenario.advise(plan, [key])[0]),
            "history": None if recorded is None else recorded_as_plain(recorded, now),
        }
        return {**page.as_plain(), **found, "warnings": warnings}

    return Printout(tables, data, lambda: [job_name(key)], warnings)
