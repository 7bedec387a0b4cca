"""`stromboli fairshare`: what queues and users have used for their weights, and what follows from it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import click

from stromboli.cli.cluster_scenario import read_view, view_options
from stromboli.cli.completion import complete_queues
from stromboli.cli.options.history import find_history, history_option, open_history
from stromboli.cli.options.settings import output_option
from stromboli.cli.output import Failure, warn

_EPILOG = """\b
Examples:
  stromboli fairshare
  stromboli fairshare --queue research -o wide
  stromboli fairshare --conf scheduler.conf --history history.db
  stromboli fairshare -o json | jq '.shares[] | {queue, user, factor}'
  stromboli fairshare -o csv > shares.csv
  stromboli fairshare -o parquet > shares.parquet

\b
Exit codes:
  0  shown
  1  invalid input, no history, no plugin fairshare, or no cluster
  2  wrong usage
"""


@click.command(epilog=_EPILOG)
@click.option("--queue", default="", metavar="NAME", shell_complete=complete_queues, help="Only this queue.")
@history_option(
    "The file or PostgreSQL server of the history. Default: the history of stromboli up, if the kubeconfig is that of "
    "its cluster."
)
@view_options
@output_option("table", "csv", "parquet")
def fairshare(queue: str, output: str, **options: Any) -> None:
    """Show what queues and users have used for their weights, and what follows from it.

    USAGE is the decayed fraction of the cluster, EFFECTIVE the share that the plugin fairshare makes of the weight, and
    FACTOR the number by which it orders siblings: the smallest first. Users are listed if they share their queue.
    """
    from stromboli.cli.text.cluster.fairshare import columns_of, fairshare_printout
    from stromboli.cli.text.column_files import echo_parquet
    from stromboli.history.usage.runs import load_usage

    scenario = read_view(options)
    address = find_history(options)
    if not address:
        raise Failure("the kubeconfig names no history, as that of stromboli up does; name one with --history")
    with open_history(address) as database:
        session = replace(scenario, past_usage=load_usage(database)).open().session
    if session.fair_shares is None:
        raise Failure("the policy does not list the plugin fairshare; add it, or name another policy with --conf")
    shares = session.fair_shares(True)
    if queue:
        chosen = [share for share in shares.entries if share.queue == queue]
        if not chosen:
            known = dict.fromkeys(share.queue for share in shares.entries)
            raise Failure(f"no queue {queue}; there are {', '.join(known)}")
        shares = replace(shares, entries=chosen)
    warnings = dict.fromkeys([*scenario.warnings, *map(scenario.located, session.warnings)])
    if output == "parquet":
        warn(warnings)
        echo_parquet(columns_of(shares.entries), "shares")
    else:
        fairshare_printout(shares, list(warnings)).echo(output)
