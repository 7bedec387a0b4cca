"""`stromboli queues`: the tree of queues, with what they deserve and use."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any

import click

from stromboli.cli.answers.asking import asking_options, asking_scheduler
from stromboli.cli.cluster_scenario import objects_of, read_view, watched_view_options
from stromboli.cli.completion import complete_queues
from stromboli.cli.options.listing import ListingScope, selector_option, selector_scope
from stromboli.cli.output import Failure
from stromboli.cli.past_usage import past_usage_option, with_past_usage
from stromboli.cli.watching import CLUSTER_SECONDS, reject_watch_of_files, watch_rows

if TYPE_CHECKING:
    from stromboli.planner.overview.queue_list import QueueEntry

_EPILOG = """\b
Examples:
  stromboli queues
  stromboli queues research production -o wide
  stromboli queues -l department=physics
  stromboli queues -o json | jq '.queues[] | select(.borrowed != {}) | .queue'
  stromboli queues research --watch
  stromboli queues -f examples/cluster

\b
Exit codes:
  0  shown
  1  invalid input, an unknown queue, or the cluster is unreachable
  2  wrong usage
"""


@click.command(epilog=_EPILOG)
@click.argument("names", nargs=-1, metavar="[NAME]...", shell_complete=complete_queues)
@selector_option
@watched_view_options
@past_usage_option()
@asking_options
def queues(names: tuple[str, ...], selector: str, output: str, watch: bool, **options: Any) -> None:
    """Show the tree of queues: deserved, used, borrowed, waiting jobs.

    DESERVED is the share of the queue by the policy, and BORROWED what it uses beyond that and may lose to other
    queues. SHARE is the used part of what it deserves, for the resource of which most is used.
    """
    from stromboli.cli.text.cluster.queues import queue_changes, queues_printout
    from stromboli.visibility.questions import Question

    scope = selector_scope(selector)
    if watch:
        reject_watch_of_files(options["paths"])
        watch_rows(lambda: _read(names, scope, options)[0], queue_changes(output), CLUSTER_SECONDS)
    else:
        with asking_scheduler(Question("queues", "", output=output), options):
            found, warnings = _read(names, scope, options)
            queues_printout(found, names, warnings).echo(output)


def _read(
    names: Collection[str], scope: ListingScope, options: Mapping[str, Any]
) -> tuple[list[QueueEntry], list[str]]:
    """Return the chosen queues, or all, with the warnings of the input."""
    from stromboli.kube import KubeQueue
    from stromboli.planner.overview.queue_list import listed_queues

    scenario = with_past_usage(read_view(options), options)
    session = scenario.open().session
    found = listed_queues(session)
    if unknown := sorted(set(names) - {queue.name for queue in found}):
        raise Failure(f"no queue {', '.join(unknown)}; there are {', '.join(queue.name for queue in found)}")
    objects = (entry for entry in objects_of(scenario) if isinstance(entry, KubeQueue))
    labels = {queue.metadata.name: queue.metadata.labels or {} for queue in objects}
    chosen = [
        queue
        for queue in found
        if (not names or queue.name in names) and scope.includes("", labels.get(queue.name, {}))
    ]
    return chosen, [*scenario.warnings, *map(scenario.located, session.warnings)]
