"""`stromboli replay`: the decisions of a dump, taken again on this machine."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from stromboli.cli.output import echo_json, echo_yaml, escape_controls, warn
from stromboli.cli.scenario import Scenario, read_dumped

if TYPE_CHECKING:
    from stromboli.planner.plan import Plan

#: The exit code that tells a script that something was decided otherwise.
DECISIONS_DIFFER = 4

_MAX_LISTED = 100

_EPILOG = """\b
Examples:
  stromboli replay dump.json.gz
  stromboli replay dump.json.gz --conf other.conf --explain

\b
Exit codes:
  0  the decisions are those of the dump, or the dump holds none
  1  something that was given cannot be used
  2  wrong usage
  4  something was decided otherwise
"""


@click.command(epilog=_EPILOG)
@click.argument("file", type=click.Path())
@click.option(
    "-o", "--output", type=click.Choice(["table", "json", "yaml"]), default="table", show_default=True,
    help="For people, or for programs.",
)  # fmt: skip
@click.option(
    "--conf", metavar="FILE", type=click.Path(allow_dash=True),
    help="Try another configuration than that of the dump.",
)  # fmt: skip
@click.option("--explain", is_flag=True, help="Also explain every job that waits, and say what would let it start.")
@click.option(
    "--plugin", "plugins", multiple=True, metavar="MODULE:CLASS",
    help="A plugin or action of your own that the configuration names. May be given several times.",
)  # fmt: skip
def replay(file: str, output: str, conf: str | None, explain: bool, plugins: Sequence[str]) -> None:
    """Take the decisions of a dump again, and compare them.

    FILE is a dump that a scheduler wrote: everything one cycle depended on, and what it decided, if that was known.
    The cycle is run once more, here and without a cluster. The same configuration decides the same.
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


def _echo_table(scenario: Scenario, made: Plan, changed: Sequence[str] | None, explain: bool) -> None:
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
        click.echo("The dump holds no decisions to compare with.")
        return
    if not changed:
        click.echo("The decisions are those of the dump.")
        return
    click.echo("Decided otherwise than in the dump:")
    for line in changed[:_MAX_LISTED]:
        click.echo(f"  {escape_controls(line)}")
    if len(changed) > _MAX_LISTED:
        click.echo(f"  and {len(changed) - _MAX_LISTED} more")


def _echo_report(scenario: Scenario, made: Plan, changed: Sequence[str] | None, explain: bool, output: str) -> None:
    from stromboli.planner.advice_report import advice_as_plain
    from stromboli.planner.report import report_of

    report = report_of(made)
    report["replay"] = {"compared": changed is not None, "differences": list(changed or ())}
    if explain:
        advice = scenario.advise(made, made.waiting)
        report["explanations"] = {entry.explanation.job: advice_as_plain(entry) for entry in advice}
    if output == "json":
        echo_json(report)
    else:
        echo_yaml(report)
