"""Lists that a command prints again as they change, by reading their source repeatedly."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, TypeVar

import click

from stromboli.cli.options.settings import reject_options
from stromboli.cli.output import warn

if TYPE_CHECKING:
    from stromboli.cli.text.changes import ChangedRows

T = TypeVar("T")

#: Seconds between reads of a cluster, and of a history.
CLUSTER_SECONDS = 2.0
HISTORY_SECONDS = 1.0


def reject_watch_of_files(paths: Iterable[str]) -> None:
    """End a command that would watch manifests."""
    if any(paths):
        reject_options(("watch",), "with -f, which is read once")


def watch_rows(read: Callable[[], Iterable[T]], changes: ChangedRows[T], seconds: float) -> None:
    """Print what changes until the command is interrupted. An error of the first read ends the command; a later one is
    reported, and the read repeated.
    """
    changes.show(read())
    problem = ""
    try:
        while True:
            pause(seconds)
            try:
                changes.show(read())
                problem = ""
            except click.ClickException as error:
                if error.format_message() != problem:
                    warn([problem := error.format_message()])
    except KeyboardInterrupt:
        return


def pause(seconds: float) -> None:
    """Wait between two reads."""
    time.sleep(seconds)
