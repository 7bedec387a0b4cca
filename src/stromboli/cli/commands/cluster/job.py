"""`stromboli job`: one page about one job."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from stromboli.cli.cluster_scenario import job_view_options, objects_of, read_view
from stromboli.cli.completion import complete_jobs
from stromboli.cli.job_names import JobNames, find_job
from stromboli.cli.options.connection import connector
from stromboli.cli.options.history import find_history, history_option, open_history
from stromboli.cli.options.times import clock_unless
from stromboli.cli.output import Printout, job_name
from stromboli.cli.scenario import WAITING

if TYPE_CHECKING:
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
@history_option("The history with the starts and evictions of the job. Default: that of stromboli up, in its cluster.")
def job(name: str, output: str, **options: Any) -> None:
    """Show one job: its pods, why it waits, and what would help.

    With a history, also when it started, was evicted and by which job, and what failed.

    JOB is a PodGroup, the workload that owns it, or one of its pods: NAME or NAMESPACE/NAME.

    The reasons are those of a scheduling cycle on the present state of the cluster; nothing is written. A job that the
    cycle would start shows the nodes.
    """
    from stromboli.planner.overview.job_list import SUSPENDED
    from stromboli.planner.overview.job_page import job_page

    scenario = read_view(options)
    plan = scenario.plan()
    key = find_job(JobNames.of_plan(plan), name, options["namespace"])
    page = job_page(plan, objects_of(scenario), key)
    if scenario.is_live and page.entry.waits and not page.pods and _is_suspended(plan.pod_groups.get(key), options):
        page.entry.reason = SUSPENDED
    recorded = _recorded(plan.pod_groups.get(key), key, options)
    _printout(scenario, plan, page, recorded).echo(output)
    if page.entry.waits or plan.groups[key].waiting:
        click.get_current_context().exit(WAITING)


def _is_suspended(group: PodGroup | None, options: dict[str, Any]) -> bool:
    """Report whether the workload of a job of the cluster is suspended."""
    from stromboli.cli.changes.running import run_with_client
    from stromboli.cli.suspended_jobs import suspended_groups

    if group is None:
        return False
    namespace = group.metadata.namespace
    connection = connector(options)()
    return bool(run_with_client(connection, lambda client: suspended_groups(client, [group], namespace), "PodGroups"))


def _recorded(group: PodGroup | None, key: str, options: dict[str, Any]) -> list[JobAttempts] | None:
    """Return what the history has about a job; None without a history."""
    address = options["history_address"] if options["paths"] else find_history(options)
    if not address:
        return None
    from stromboli.history.query import HistoryFilter, pods_of, query

    namespace, _, name = key.partition("/")
    with open_history(address) as database:
        found = query(database, HistoryFilter(namespace, name.rpartition(":")[2])).jobs
        same = [job for job in found if group is not None and job.uid == group.metadata.uid]
        return [(job, pods_of(database, job.uid)) for job in same or found]


def _printout(scenario: Scenario, plan: SchedulingPlan, page: JobPage, recorded: list[JobAttempts] | None) -> Printout:
    key, warnings = page.entry.key, [*scenario.warnings, *plan.warnings]
    now = scenario.dump.now if scenario.dump else clock_unless(scenario.now)

    def tables(wide: bool) -> None:
        from stromboli.cli.text.advice import echo_sections
        from stromboli.cli.text.cluster.job import echo_history, echo_job

        echo_job(page, now, wide=wide)
        echo_history(recorded or (), wide=wide)
        echo_sections(scenario.advise(plan, [key])[0], wide=wide)

    def data() -> dict[str, Any]:
        from stromboli.cli.text.cluster.history import recorded_as_plain
        from stromboli.cli.text.cluster.jobs import job_as_plain
        from stromboli.planner.report import advice_as_plain

        found = {
            "explanation": advice_as_plain(scenario.advise(plan, [key])[0]),
            "history": None if recorded is None else recorded_as_plain(recorded, now),
        }
        return {**job_as_plain(page.entry), **page.as_plain(), **found, "warnings": warnings}

    return Printout(tables, data, lambda: [job_name(key)], warnings)
