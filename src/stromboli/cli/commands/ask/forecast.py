"""`stromboli forecast`: when waiting jobs are expected to start."""

from __future__ import annotations

import time
from typing import Any

import click

from stromboli.cli.completion import complete_jobs
from stromboli.cli.forecasting import forecast_of, learned_option
from stromboli.cli.options.settings import DURATION, output_option
from stromboli.cli.options.times import now_option
from stromboli.cli.output import Failure
from stromboli.cli.past_usage import with_past_usage
from stromboli.cli.scenario import WAITING, forecast_options, read_scenario

_EPILOG = """\b
Examples:
  stromboli forecast -n research --history history.db
  stromboli forecast -f examples/forecast --now 2026-03-02T09:30:00Z
  stromboli forecast -f examples/forecast research/sweep --timeout 20s -o json

\b
On pods, without earlier runs in the history:
  scheduling.stromboli.dev/run-time: 1h30m     or spec.activeDeadlineSeconds

\b
Exit codes:
  0  the latest start of every waiting job is known, or no job waits
  1  invalid input, or no such job waits
  2  wrong usage
  3  a job waits for an unknown time
"""


@click.command(epilog=_EPILOG)
@click.argument("job", default="", shell_complete=complete_jobs)
@forecast_options
@now_option("The present time, such as 2026-01-01T12:00:00Z. Default: the clock.")
@learned_option
@click.option("--timeout", type=DURATION, metavar="DURATION", help="Stop after this time, with what is known then.")
@output_option()
def forecast(
    job: str, now: float | None, history_address: str, timeout: float | None, output: str, **options: Any
) -> None:
    """Show when waiting jobs are expected to start, as a range that holds in 80 % of cases.

    The cluster is simulated forward with the run times of earlier runs, or declared ones. Jobs that are submitted later
    are not foreseen. Files without nodes are added to the cluster of the kubeconfig. Nothing is written.
    """
    from stromboli.cli.text.forecast import forecast_printout

    scenario = read_scenario(cycles=1, now=now, **options)
    scenario = with_past_usage(scenario, {**options, "history_address": history_address})
    chosen = scenario.selection.of(scenario.plan()) if scenario.is_live else None
    found = forecast_of(scenario, history_address, chosen, timeout)
    if job:
        found = {key: each for key, each in found.items() if job in (key, key.partition("/")[2])}
        if not found:
            raise Failure(f"no job {job} waits; the waiting jobs are listed without a name")
    moment = scenario.dump.now if scenario.dump else time.time() if scenario.now is None else scenario.now
    forecast_printout(found, moment, scenario.warnings).echo(output)
    if not scenario.is_judged or not all(each.is_known for each in found.values()):
        click.get_current_context().exit(WAITING)
