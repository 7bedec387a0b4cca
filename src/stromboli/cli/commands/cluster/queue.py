"""`stromboli queue`: create, change, open, close and delete queues."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

import click

from stromboli.cli.changes.running import run_with_client
from stromboli.cli.completion import complete_queues
from stromboli.cli.options.connection import connection_options, connector
from stromboli.cli.options.pairs import AMOUNTS
from stromboli.cli.options.settings import option_group
from stromboli.cli.output import escape_controls

if TYPE_CHECKING:
    from stromboli.kube.client.client import Client

_EPILOG = """\b
Examples:
  stromboli queue create research --weight 3 --capability cpu=64,memory=256Gi
  stromboli queue create vision --parent research --deserved nvidia.com/gpu=8
  stromboli queue set research --weight 5 --capability ""
  stromboli queue close research
  stromboli queue open research
  stromboli queue delete vision

\b
Exit codes:
  0  done
  1  invalid input, an unknown queue, or the cluster is unreachable
  2  wrong usage
"""

_settings = option_group(
    click.option("--weight", type=click.IntRange(1), metavar="N", help="Its weight in the division of the cluster."),
    click.option("--parent", metavar="NAME", shell_complete=complete_queues, help="Its parent in the tree of queues."),
    click.option("--priority", type=int, metavar="N", help="Queues with a higher one are served first."),
    click.option("--reclaimable/--not-reclaimable", default=None, help="Whether others may take back what it borrows."),
    click.option("--capability", type=AMOUNTS, metavar="AMOUNTS", help="The most that it may use, such as cpu=64."),
    click.option("--deserved", type=AMOUNTS, metavar="AMOUNTS", help="Its share, for the plugin capacity."),
    click.option("--guarantee", type=AMOUNTS, metavar="AMOUNTS", help="What is reserved for it."),
)


@click.group(epilog=_EPILOG)
def queue() -> None:
    """Create, change, open, close and delete queues."""


@queue.command(epilog=_EPILOG)
@click.argument("name")
@_settings
@connection_options
def create(name: str, **options: Any) -> None:
    """Create a queue; by default with weight 1 and without limits."""
    from stromboli.cli.changes.queues import create_queue, queue_spec

    spec = queue_spec(options)
    _change(name, options, lambda client: create_queue(client, name, spec), "created")


@queue.command("set", epilog=_EPILOG)
@click.argument("name", shell_complete=complete_queues)
@_settings
@connection_options
def set_(name: str, **options: Any) -> None:
    """Change the settings of a queue.

    Amounts replace those of the queue as a whole; an empty text removes them.
    """
    from stromboli.cli.changes.queues import queue_spec, set_queue

    if not (spec := queue_spec(options)):
        raise click.UsageError("Name at least one setting, such as --weight.")
    _change(name, options, lambda client: set_queue(client, name, spec), "configured")


@queue.command("open", epilog=_EPILOG)
@click.argument("name", shell_complete=complete_queues)
@connection_options
def open_(name: str, **options: Any) -> None:
    """Open a closed queue: its jobs are admitted again."""
    from stromboli.cli.changes.queues import open_queue

    _change(name, options, lambda client: open_queue(client, name), "opened", "is open already")


@queue.command(epilog=_EPILOG)
@click.argument("name", shell_complete=complete_queues)
@connection_options
def close(name: str, **options: Any) -> None:
    """Close a queue: running jobs continue, and no further job is admitted.

    The queue is Closing while it has jobs, then Closed. Its children are closed with it.
    """
    from stromboli.cli.changes.queues import close_queue

    _change(name, options, lambda client: close_queue(client, name), "closed", "is closed already")


@queue.command(epilog=_EPILOG)
@click.argument("name", shell_complete=complete_queues)
@connection_options
def delete(name: str, **options: Any) -> None:
    """Delete a queue that has no jobs and no children."""
    from stromboli.cli.changes.queues import delete_queue

    _change(name, options, lambda client: delete_queue(client, name), "deleted")


def _change(
    name: str, options: dict[str, Any], work: Callable[[Client], Awaitable[bool | None]], done: str, else_: str = ""
) -> None:
    """Change a queue, and print the outcome; `else_` if nothing was to do."""
    has_changed = run_with_client(connector(options)(), work, "Queues")
    click.echo(escape_controls(f"queue.scheduling.volcano.sh/{name} {else_ if has_changed is False else done}"))
