"""Options for the connection to a cluster and for logging, shared by several commands."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from stromboli.cli.output import Failure

if TYPE_CHECKING:
    from stromboli.kube.client.config.connection import Connection

Command = TypeVar("Command", bound=Callable[..., Any])

_CONNECTION = (
    click.option(
        "--kubeconfig", envvar="STROMBOLI_KUBECONFIG", metavar="FILE",
        help="The kubeconfig. Default: $KUBECONFIG, ~/.kube/config, or the service account of the pod.",
    ),
    click.option("--context", envvar="STROMBOLI_CONTEXT", metavar="NAME", help="The kubeconfig context."),
    click.option("--master", envvar="STROMBOLI_MASTER", metavar="URL", help="Override the address of the API server."),
)  # fmt: skip

_LOGS = (
    click.option(
        "--log-format", type=click.Choice(["text", "json"]), default="text", show_default=True,
        envvar="STROMBOLI_LOG_FORMAT", help="The log format.",
    ),
    click.option(
        "--log-level", type=click.Choice(["debug", "info", "warning", "error"]), default="info", show_default=True,
        envvar="STROMBOLI_LOG_LEVEL", help="The minimum log level.",
    ),
)  # fmt: skip


def connection_options(command: Command) -> Command:
    for option in reversed(_CONNECTION):
        command = option(command)
    return command


def log_options(command: Command) -> Command:
    for option in reversed(_LOGS):
        command = option(command)
    return command


def connector(kubeconfig: str | None, context: str | None, master: str | None) -> Callable[[], Connection]:
    """Return a factory of connections. An invalid configuration ends the command at once."""
    from stromboli.kube.client.config.connect import connect
    from stromboli.kube.client.config.connection import ConnectionProblem

    def make() -> Connection:
        return connect(kubeconfig, context, master)

    try:
        make()
    except ConnectionProblem as error:
        raise Failure(error) from error
    return make
