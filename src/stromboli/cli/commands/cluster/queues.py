"""`stromboli queues`: the tree of queues, with what they deserve and use."""

from __future__ import annotations

from typing import Any

import click

from stromboli.cli.cluster_scenario import read_view, view_options
from stromboli.cli.completion import complete_queues
from stromboli.cli.options.settings import output_option
from stromboli.cli.output import Failure

_EPILOG = """\b
Examples:
  stromboli queues
  stromboli queues research production -o wide
  stromboli queues -o json | jq '.queues[] | select(.borrowed != {}) | .queue'
  stromboli queues -f examples/cluster

\b
Exit codes:
  0  shown
  1  invalid input, an unknown queue, or the cluster is unreachable
  2  wrong usage
"""


@click.command(epilog=_EPILOG)
@click.argument("names", nargs=-1, metavar="[NAME]...", shell_complete=complete_queues)
@output_option()
@view_options
def queues(names: tuple[str, ...], output: str, **options: Any) -> None:
    """Show the tree of queues: deserved, used, borrowed, waiting jobs.

    DESERVED is the share of the queue by the policy, and BORROWED what it uses beyond that and may lose to other
    queues. SHARE is the used part of what it deserves, for the resource of which most is used.
    """
    from stromboli.cli.text.cluster.queues import queues_printout
    from stromboli.planner.overview.queue_list import listed_queues

    scenario = read_view(options)
    session = scenario.open().session
    found = listed_queues(session)
    if unknown := sorted(set(names) - {queue.name for queue in found}):
        raise Failure(f"no queue {', '.join(unknown)}; there are {', '.join(queue.name for queue in found)}")
    queues_printout(found, names, [*scenario.warnings, *map(scenario.located, session.warnings)]).echo(output)
