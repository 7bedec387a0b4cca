"""`stromboli job`: one page about one job."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from stromboli.cli.cluster_scenario import objects_of, read_view, view_options
from stromboli.cli.completion import complete_jobs
from stromboli.cli.job_names import JobNames, find_job
from stromboli.cli.options.listing import namespace_option
from stromboli.cli.options.settings import output_option
from stromboli.cli.options.times import clock_unless
from stromboli.cli.output import Printout, job_name
from stromboli.cli.scenario import WAITING

if TYPE_CHECKING:
    from stromboli.cli.scenario import Scenario
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
@namespace_option
@output_option()
@view_options
def job(name: str, output: str, **options: Any) -> None:
    """Show one job: its pods, why it waits, and what would help.

    JOB is a PodGroup, the workload that owns it, or one of its pods: NAME or NAMESPACE/NAME.

    The reasons are those of a scheduling cycle on the present state of the cluster; nothing is written. A job that the
    cycle would start shows the nodes.
    """
    from stromboli.planner.overview.job_page import job_page

    scenario = read_view(options)
    plan = scenario.plan()
    key = find_job(JobNames.of_plan(plan), name, options["namespace"])
    page = job_page(plan, objects_of(scenario), key)
    _printout(scenario, plan, page).echo(output)
    if page.entry.waits or plan.groups[key].waiting:
        click.get_current_context().exit(WAITING)


def _printout(scenario: Scenario, plan: SchedulingPlan, page: JobPage) -> Printout:
    key, warnings = page.entry.key, [*scenario.warnings, *plan.warnings]
    now = scenario.dump.now if scenario.dump else clock_unless(scenario.now)

    def tables(wide: bool) -> None:
        from stromboli.cli.text.advice import echo_sections
        from stromboli.cli.text.cluster.job import echo_job

        echo_job(page, now, wide=wide)
        echo_sections(scenario.advise(plan, [key])[0], wide=wide)

    def data() -> dict[str, Any]:
        from stromboli.cli.text.cluster.jobs import job_as_plain
        from stromboli.planner.report import advice_as_plain

        explanation = advice_as_plain(scenario.advise(plan, [key])[0])
        return {**job_as_plain(page.entry), **page.as_plain(), "explanation": explanation, "warnings": warnings}

    return Printout(tables, data, lambda: [job_name(key)], warnings)
