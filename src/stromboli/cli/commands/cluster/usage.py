"""`stromboli usage`: what queues, users, namespaces and jobs have used."""

from __future__ import annotations

from typing import Any

import click

from stromboli.cli.completion import complete_queues
from stromboli.cli.options.connection import kubeconfig_options
from stromboli.cli.options.history import find_history, history_option, open_history
from stromboli.cli.options.prices import PriceFile, PriceList
from stromboli.cli.options.settings import output_option, shown_option
from stromboli.cli.options.times import SINCE, clock_unless, moment_of, now_option
from stromboli.cli.output import Failure

#: As in `reports.DIMENSIONS`, which is imported only when the command runs.
_DIMENSIONS = ("queue", "user", "namespace", "job")

_EPILOG = """\b
Examples:
  stromboli usage --since 30d --by queue,user
  stromboli usage --since 2026-03-01T00:00:00Z --until 2026-04-01T00:00:00Z
  stromboli usage --by namespace --prices prices.yaml
  stromboli usage --by job --queue research -o csv > usage.csv
  stromboli usage --by queue -o json | jq '.usage[] | {queue, podSeconds}'

\b
Exit codes:
  0  shown, also when nothing was used
  1  invalid input, or no history
  2  wrong usage
"""


class _By(click.ParamType[tuple[str, ...]]):
    name = "list"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, ...]:
        if isinstance(value, tuple):
            return value
        names = tuple(dict.fromkeys(name.strip() for name in value.split(",")))
        if unknown := [name for name in names if name not in _DIMENSIONS]:
            self.fail(f"{unknown[0]!r} is not one of {', '.join(_DIMENSIONS)}", param, ctx)
        return names


@click.command(epilog=_EPILOG)
@shown_option(
    "--since", type=SINCE, default="30d", metavar="TIME",
    help="The beginning of the period: a duration before now (30d, 12h), a time, or 0 for everything.",
)  # fmt: skip
@click.option("--until", type=SINCE, metavar="TIME", help="Its end, likewise. Default: now.")
@shown_option(
    "--by", type=_By(), default="queue", metavar="LIST", help=f"Sum up by these: {', '.join(_DIMENSIONS)}."
)  # fmt: skip
@click.option("--queue", default="", metavar="NAME", shell_complete=complete_queues, help="Only this queue.")
@click.option("--user", default="", metavar="NAME", help="Only this user.")
@click.option("-n", "--namespace", default="", metavar="NAME", help="Only this namespace.")
@click.option(
    "--prices", type=PriceFile(), metavar="FILE",
    help="Add what it costs: a YAML file with a currency, and prices per unit and hour by resource.",
)  # fmt: skip
@history_option(
    "The file or PostgreSQL server of the history. Default: the history of stromboli up, if the kubeconfig is that of "
    "its cluster."
)
@kubeconfig_options
@now_option("The present time, for durations. Default: the clock.")
@output_option("table", "csv", "parquet")
def usage(by: tuple[str, ...], prices: PriceList | None, output: str, now: float | None, **options: Any) -> None:
    """Show what queues, users, namespaces and jobs have used, and its price.

    A pod uses what it requests, from its start to its end. Hours are those of processors, of GiB of memory, and of
    devices; --prices adds their price.
    """
    from stromboli.cli.text.cluster.usage import UsageReport
    from stromboli.cli.text.column_files import echo_parquet
    from stromboli.history.usage.reports import usage_of

    address = find_history(options)
    if not address:
        raise Failure("the kubeconfig names no history, as that of stromboli up does; name one with --history")
    moment = clock_unless(now)
    since = moment_of(options["since"], moment)
    until = moment if options["until"] is None else moment_of(options["until"], moment)
    if since >= until:
        raise click.UsageError("--since must be before --until.")
    only = {name: options[name] for name in ("queue", "user", "namespace") if options[name]}
    with open_history(address) as database:
        report = UsageReport(
            usage_of(database, since, until, by, only), by, since=since, until=until, prices=prices
        )  # fmt: skip
    if output == "parquet":
        echo_parquet(report.columns(), "usage")
    else:
        report.printout().echo(output)
