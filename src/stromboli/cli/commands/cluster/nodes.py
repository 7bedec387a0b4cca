"""`stromboli nodes`: what is free and used on each node, and what keeps it unused."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any

import click

from stromboli.cli.cluster_scenario import read_view, watched_view_options
from stromboli.cli.completion import complete_nodes
from stromboli.cli.options.listing import ListingScope, selector_option, selector_scope
from stromboli.cli.output import Failure
from stromboli.cli.watching import CLUSTER_SECONDS, reject_watch_of_files, watch_rows

if TYPE_CHECKING:
    from stromboli.planner.overview.node_list import NodeListEntry

_EPILOG = """\b
Examples:
  stromboli nodes
  stromboli nodes -l pool=gpu -o wide
  stromboli nodes -o json | jq '.nodes[] | select(.obstacles != []) | .node'
  stromboli nodes -l pool=gpu --watch
  stromboli nodes -f examples/cluster

\b
Exit codes:
  0  shown
  1  invalid input, an unknown node, or the cluster is unreachable
  2  wrong usage
"""


@click.command(epilog=_EPILOG)
@click.argument("names", nargs=-1, metavar="[NAME]...", shell_complete=complete_nodes)
@selector_option
@watched_view_options
def nodes(names: tuple[str, ...], selector: str, output: str, watch: bool, **options: Any) -> None:
    """Show what is free on each node, and what keeps it unused.

    FREE is of what the node offers to pods. The last column names what keeps all pods away, such as a taint, or else
    why pods that wait are not placed on the node.
    """
    from stromboli.cli.text.cluster.nodes import node_changes, nodes_printout

    scope = selector_scope(selector)
    if watch:
        reject_watch_of_files(options["paths"])
        watch_rows(lambda: _read(names, scope, options)[0], node_changes(output), CLUSTER_SECONDS)
    else:
        found, warnings = _read(names, scope, options)
        nodes_printout(found, warnings).echo(output)


def _read(
    names: Collection[str], scope: ListingScope, options: Mapping[str, Any]
) -> tuple[list[NodeListEntry], list[str]]:
    """Return the chosen nodes, with the warnings of the input."""
    from stromboli.planner.overview.node_list import listed_nodes

    scenario = read_view(options)
    session = scenario.open().session
    found = listed_nodes(session)
    if unknown := sorted(set(names) - {node.name for node in found}):
        raise Failure(f"no node {', '.join(unknown)}")
    chosen = [node for node in found if (not names or node.name in names) and scope.includes("", node.labels)]
    return chosen, [*scenario.warnings, *map(scenario.located, session.warnings)]
