"""`stromboli replay`: run the cycle of a dump again and compare the decisions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import islice

import click

from stromboli.cli.options.settings import conf_option, output_option, plugin_option
from stromboli.cli.output import escape_controls
from stromboli.cli.plan_output import plan_printout
from stromboli.cli.scenario import read_dumped

#: The exit code if the decisions differ from those of the dump.
DECISIONS_DIFFER = 4

_MAX_LISTED = 100

_EPILOG = """\b
Examples:
  stromboli replay dump.json.gz
  stromboli replay dump.json.gz \\
    --conf examples/contention/scheduler.conf --explain

\b
Exit codes:
  0  the decisions equal those of the dump, or the dump has none
  1  invalid input
  2  wrong usage
  4  the decisions differ
"""


@click.command(epilog=_EPILOG)
@click.argument("file", type=click.Path())
@output_option()
@conf_option("Default: that of the dump.")
@click.option("--explain", is_flag=True, help="Also explain every job that waits.")
@plugin_option("Your own plugin or action that the policy may name. Repeatable.")
def replay(file: str, output: str, conf: str | None, explain: bool, plugins: Sequence[str]) -> None:
    """Run the cycle of a dump again, and compare the decisions.

    FILE is a dump of a scheduler: the input of one cycle and, if recorded, its decisions. The cycle runs again without
    a cluster. The same configuration gives the same decisions.
    """
    scenario = read_dumped(file, conf, 1, plugins)
    made = scenario.plan()
    changed = scenario.changed_decisions(made)
    comparison = {"compared": changed is not None, "differences": list(changed or ())}
    printout = plan_printout(scenario, made, made.waiting if explain else None, replay=comparison)

    def tables(wide: bool) -> None:
        printout.tables(wide)
        _echo_comparison(changed, len(changed or ()) if wide else _MAX_LISTED)

    replace(printout, tables=tables).echo(output)
    if changed:
        click.get_current_context().exit(DECISIONS_DIFFER)


def _echo_comparison(changed: Sequence[str] | None, limit: int) -> None:
    if changed is None:
        click.echo("The dump contains no decisions to compare.")
        return
    if not changed:
        click.echo("The decisions equal those of the dump.")
        return
    click.echo("Differences to the dump:")
    for line in islice(changed, limit):
        click.echo(f"  {escape_controls(line)}")
    if len(changed) > limit:
        click.echo(f"  and {len(changed) - limit} more with -o wide")
