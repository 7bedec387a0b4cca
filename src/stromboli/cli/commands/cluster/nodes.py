"""`stromboli nodes`: what is free and used on each node, and what keeps it unused."""

from __future__ import annotations

from typing import Any

import click

from stromboli.cli.cluster_scenario import read_view, view_options
from stromboli.cli.completion import complete_nodes
from stromboli.cli.options.listing import ListingScope, selector_option
from stromboli.cli.options.selectors import parse_selector
from stromboli.cli.options.settings import output_option
from stromboli.cli.output import Failure

_EPILOG = """\b
Examples:
  stromboli nodes
  stromboli nodes -l pool=gpu -o wide
  stromboli nodes -o json | jq '.nodes[] | select(.obstacles != []) | .node'
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
@output_option()
@view_options
def nodes(names: tuple[str, ...], selector: str, output: str, **options: Any) -> None:
    """Show what is free on each node, and what keeps it unused.

    FREE is of what the node offers to pods. The last column names what keeps all pods away, such as a taint, or else
    why pods that wait are not placed on the node.
    """
    from stromboli.cli.text.cluster.nodes import nodes_printout
    from stromboli.planner.overview.node_list import listed_nodes

    scope = ListingScope(selector=parse_selector(selector, "-l") if selector else None)
    scenario = read_view(options)
    session = scenario.open().session
    found = listed_nodes(session)
    if unknown := sorted(set(names) - {node.name for node in found}):
        raise Failure(f"no node {', '.join(unknown)}")
    chosen = [node for node in found if (not names or node.name in names) and scope.includes("", node.labels)]
    nodes_printout(chosen, [*scenario.warnings, *map(scenario.located, session.warnings)]).echo(output)
