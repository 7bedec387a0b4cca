"""A command that changes something in a cluster: its options, its connection, and what it prints."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, TypeVar

import click

from stromboli.cli.completion import complete_namespaces
from stromboli.cli.options.connection import connection_options, connector, request_errors
from stromboli.cli.options.settings import option_group
from stromboli.cli.output import escape_controls

if TYPE_CHECKING:
    from stromboli.cli.changes.workloads import JobWorkload
    from stromboli.kube.client.client import Client
    from stromboli.kube.client.config.connection import Connection

T = TypeVar("T")

own_namespace_option = click.option(
    "-n",
    "--namespace",
    default="",
    metavar="NAME",
    shell_complete=complete_namespaces,
    help="The namespace. Default: that of the kubeconfig context.",
)
#: The options of `change_job`.
changing_options = option_group(own_namespace_option, connection_options)


def run_with_client(connection: Connection, work: Callable[[Client], Awaitable[T]], kinds: str) -> T:
    """Run the work with a client. A failed request ends the command with a message."""

    async def run() -> T:
        from stromboli.kube.client.client import Client

        with request_errors(connection, kinds):
            async with Client(connection) as client:
                return await work(client)

    return asyncio.run(run())


def change_job(
    name: str,
    options: Mapping[str, str | None],
    change: Callable[[Client, JobWorkload], Awaitable[list[str]]],
) -> None:
    """Change the job of this name, and print what was done, a line for each object, as kubectl does.

    The name may have its namespace: `team-a/train`.
    """
    connection = connector(options)()
    namespace, _, plain = name.rpartition("/")
    namespace = namespace or options["namespace"] or connection.namespace

    async def work(client: Client) -> list[str]:
        from stromboli.cli.changes.workloads import find_workload

        return await change(client, await find_workload(client, plain, namespace))

    for changed in run_with_client(connection, work, "PodGroups"):
        click.echo(escape_controls(changed))
