"""`stromboli replay`: run the cycle of a dump again and compare the decisions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from stromboli.cli.output import echo_json, echo_yaml, escape_controls, warn
from stromboli.cli.scenario import Scenario, read_dumped

if TYPE_CHECKING:
    from stromboli.planner.plan import SchedulingPlan

#: The exit code if the decisions differ from those of the dump.
DECISIONS_DIFFER = 4

_MAX_LISTED = 100

_EPILOG = """\b
Examples:
  stromboli replay dump.json.gz
  stromboli replay dump.json.gz --conf other.conf --explain

\b
Exit codes:
  0  the decisions equal those of the dump, or the dump has none
  1  invalid input
  2  wrong usage
  4  the decisions differ
"""


@click.command(epilog=_EPILOG)
@click.argument("file", type=click.Path())
@click.option(
    "-o", "--output", type=click.Choice(["table", "json", "yaml"]), default="table", show_default=True,
    help="The output format.",
)  # fmt: skip
@click.option(
    "--conf", metavar="FILE", type=click.Path(allow_dash=True),
    help="Use another configuration than that of the dump.",
)  # fmt: skip
@click.option("--explain", is_flag=True, help="Also explain every job that waits.")
@click.option(
    "--plugin", "plugins", multiple=True, metavar="MODULE:CLASS",
    help="Your own plugin or action that the configuration names. Repeatable.",
)  # fmt: skip
def replay(file: str, output: str, conf: str | None, explain: bool, plugins: Sequence[str]) -> None:
    """Run the cycle of a dump again, and compare the decisions.

    FILE is a dump of a scheduler: the input of one cycle and, if recorded, its decisions. The cycle runs again without
    a cluster. The same configuration gives the same decisions.
    """
    scenario = read_dumped(file, conf, 1, plugins)
    made = scenario.plan()
    changed = scenario.changed_decisions(made)
    if output == "table":
        _echo_table(scenario, made, changed, explain)
    else:
        _echo_report(scenario, made, changed, explain, output)
    if changed:
        click.get_current_context().exit(DECISIONS_DIFFER)


def _echo_table(scenario: Scenario, made: SchedulingPlan, changed: Sequence[str] | None, explain: bool) -> None:
    from stromboli.cli.text.advice import echo_advice
    from stromboli.cli.text.plan import echo_closing, echo_plan

    warn(made.warnings)
    echo_plan(made)
    for advice in scenario.advise(made, made.waiting) if explain else ():
        echo_advice(advice)
        click.echo()
    echo_closing(made)
    _echo_comparison(changed)


def _echo_comparison(changed: Sequence[str] | None) -> None:
    if changed is None:
        click.echo("The dump contains no decisions to compare.")
        return
    if not changed:
        click.echo("The decisions equal those of the dump.")
        return
    click.echo("Differences to the dump:")
    for line in changed[:_MAX_LISTED]:
        click.echo(f"  {escape_controls(line)}")
    if len(changed) > _MAX_LISTED:
        click.echo(f"  and {len(changed) - _MAX_LISTED} more")


def _echo_report(
    scenario: Scenario, made: SchedulingPlan, changed: Sequence[str] | None, explain: bool, output: str
) -> None:
    from stromboli.planner.report import advice_as_plain, report_of

    report = report_of(made)
    report["replay"] = {"compared": changed is not None, "differences": list(changed or ())}
    if explain:
        advice = scenario.advise(made, made.waiting)
        report["explanations"] = {entry.explanation.job: advice_as_plain(entry) for entry in advice}
    if output == "json":
        echo_json(report)
    else:
        echo_yaml(report)
