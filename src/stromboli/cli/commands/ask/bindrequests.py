"""`stromboli bindrequests`: the bind requests of a cluster with their progress."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from stromboli.cli.options.connection import connection_options, connector, request_errors
from stromboli.cli.options.settings import output_option, reject_options
from stromboli.cli.output import Failure

if TYPE_CHECKING:
    from stromboli.cli.text.bindrequests import Chosen
    from stromboli.kube.client.config.connection import Connection

_PHASES = ("Pending", "Binding", "Succeeded", "Unwinding", "Failed")

_EPILOG = """\b
Examples:
  stromboli bindrequests
  stromboli bindrequests -n team-a --pods
  stromboli bindrequests --node node-7 --phase Pending --phase Binding
  stromboli bindrequests --watch
  stromboli bindrequests -o json | jq '.items[].status'

\b
Exit codes:
  0  shown, also when there are none
  1  invalid input, an unknown name, or the cluster is unreachable
  2  wrong usage
"""


@click.command(epilog=_EPILOG)
@click.argument("names", nargs=-1, metavar="[NAME]...")
@click.option("-n", "--namespace", default="", metavar="NAME", help="One namespace; default: all.")
@click.option("-l", "--selector", default="", metavar="SELECTOR", help="Only those with matching labels.")
@click.option("--pod-group", default="", metavar="NAME", help="Only those of one pod group.")
@click.option("--node", default="", metavar="NAME", help="Only those with a pod for this node.")
@click.option("--phase", "phases", multiple=True, type=click.Choice(_PHASES), help="Only those in a phase. Repeatable.")
@click.option("--pods", "shows_pods", is_flag=True, help="A line for each pod, with its node and outcome.")
@output_option()
@click.option("-w", "--watch", is_flag=True, help="Keep running and show every change.")
@connection_options
def bindrequests(
    names: Sequence[str],
    namespace: str,
    selector: str,
    pod_group: str,
    node: str,
    phases: Sequence[str],
    shows_pods: bool,
    output: str,
    watch: bool,
    **connection: str | None,
) -> None:
    """Show bind requests: decisions that a binder executes.

    In request mode the scheduler writes one object for all pods that start together, with their nodes. The command is
    read-only.
    """
    from stromboli.cli.text.bindrequests import Chosen

    if output not in ("table", "wide"):
        reject_options(("shows_pods",), f"with -o {output}, which has the requests")
    chosen = Chosen(namespace, selector, frozenset(names), pod_group, node, frozenset(phases), shows_pods)
    asyncio.run((_watch if watch else _list)(connector(connection)(), chosen, output))


async def _list(connection: Connection, chosen: Chosen, output: str) -> None:
    from stromboli.cli.text.bindrequests import requests_printout
    from stromboli.kube.client.client import Client
    from stromboli.kube.objects.catalogue import BIND_REQUESTS

    with request_errors(connection, "BindRequests"):
        async with Client(connection) as client:
            listing = await client.list(BIND_REQUESTS, namespace=chosen.namespace, label_selector=chosen.selector)
    requests_printout(filter(chosen.includes, listing.items), chosen).echo(output)
    if unknown := chosen.names - {request.metadata.name for request in listing.items}:
        where = f"in namespace {chosen.namespace}" if chosen.namespace else "in any namespace"
        raise Failure(f"no bind request {', '.join(sorted(unknown))} {where}")


async def _watch(connection: Connection, chosen: Chosen, output: str) -> None:
    """Watch until a signal. An error of the first list ends the command; later errors are retried."""
    from stromboli.cli.text.bindrequests import BindRequestPrinter
    from stromboli.kube.client.client import Client
    from stromboli.kube.objects.catalogue import BIND_REQUESTS
    from stromboli.kube.watch.reflector import Reflector
    from stromboli.observability.signals import stopped_by_signal

    async with Client(connection) as client:
        with request_errors(connection, "BindRequests"):
            await client.request("GET", BIND_REQUESTS.path(namespace=chosen.namespace), params={"limit": "1"})
        reflector: Reflector[Any] = Reflector(
            client, BIND_REQUESTS, BindRequestPrinter(chosen, output),
            namespace=chosen.namespace, label_selector=chosen.selector,
        )  # fmt: skip
        watching = asyncio.ensure_future(reflector.run())
        with stopped_by_signal(watching.cancel):
            await asyncio.gather(watching, return_exceptions=True)
