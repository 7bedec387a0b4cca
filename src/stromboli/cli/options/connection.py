"""Which cluster a command talks to, and how a process tells about itself: options that several commands share."""

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
        help="Where the cluster is and who you are. Without it: $KUBECONFIG, ~/.kube/config, or the pod's own account.",
    ),
    click.option("--context", envvar="STROMBOLI_CONTEXT", metavar="NAME", help="The context of the kubeconfig to use."),
    click.option("--master", envvar="STROMBOLI_MASTER", metavar="URL", help="The API server's address, if another."),
)  # fmt: skip

_LOGS = (
    click.option(
        "--log-format", type=click.Choice(["text", "json"]), default="text", show_default=True,
        envvar="STROMBOLI_LOG_FORMAT", help="Lines for people or for programs.",
    ),
    click.option(
        "--log-level", type=click.Choice(["debug", "info", "warning", "error"]), default="info", show_default=True,
        envvar="STROMBOLI_LOG_LEVEL", help="The least important lines that are written.",
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
    """Makes connections. That it can be done at all is found out at once; whatever is wrong ends the command."""
    from stromboli.kube.client.config.connect import connect
    from stromboli.kube.client.config.connection import ConnectionProblem

    def make() -> Connection:
        return connect(kubeconfig, context, master)

    try:
        make()
    except ConnectionProblem as error:
        raise Failure(error) from error
    return make
