"""Options of the history: where it is, and its bounds."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from stromboli.cli.options.settings import DURATION, option_group, setting
from stromboli.cli.output import Failure

if TYPE_CHECKING:
    from collections.abc import Mapping

    from stromboli.history.databases.database import Database
    from stromboli.history.retention import HistoryBounds

_UNITS = {"": 0, "Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40}


class HistoryAddress(click.ParamType[str]):
    """A path, or the DSN of a PostgreSQL server; may be empty."""

    name = "address"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        from stromboli.history.databases.database import HistoryError
        from stromboli.history.databases.opening import check_address

        try:
            check_address(str(value))
        except HistoryError as error:
            self.fail(str(error), param, ctx)
        return str(value)


class SizeInBytes(click.ParamType[int]):
    """Bytes, with a binary suffix: `512Mi`, `1Gi`; 0 for no limit."""

    name = "size"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        found = re.fullmatch(r"(\d{1,9})(Ki|Mi|Gi|Ti|)", str(value))
        if found is None:
            self.fail(f"{value!r} is not a size such as 512Mi or 1Gi", param, ctx)
        return int(found[1]) << _UNITS[found[2]]


history_options = option_group(
    setting(
        "--history", type=HistoryAddress(), default="", metavar="ADDRESS",
        help="Record what happens to jobs: a file of SQLite, or postgresql://USER@HOST/NAME. Empty: nothing.",
    ),
    setting(
        "--history-max-age", type=DURATION, default="90d",
        help="Remove jobs from the history this long after their end; 0: never.",
    ),
    setting(
        "--history-max-size", type=SizeInBytes(), default="1Gi", metavar="SIZE",
        help="Remove the oldest jobs from the history beyond this size; 0: no limit.",
    ),
)  # fmt: skip


def bounds_of(arguments: Mapping[str, Any]) -> HistoryBounds:
    from stromboli.history.retention import HistoryBounds

    return HistoryBounds(arguments["history_max_age"], arguments["history_max_size"])


def history_option(about: str) -> Callable[[Any], Any]:
    """Define the option that names a history to read."""
    return click.option(
        "--history", "history_address", type=HistoryAddress(), default="", envvar="STROMBOLI_HISTORY",
        metavar="ADDRESS", help=about,
    )  # fmt: skip


def find_history(options: Mapping[str, Any]) -> str:
    """Return the address of a history: that of the option, else that of a local cluster; empty if there is none."""
    from stromboli.cli.local_kubeconfig import history_of_cluster
    from stromboli.kube.client.config.connection import ConnectionProblem

    if options["history_address"]:
        return str(options["history_address"])
    try:
        return history_of_cluster(options["kubeconfig"], options["context"])
    except ConnectionProblem as error:
        raise Failure(error) from error


@contextmanager
def open_history(address: str) -> Iterator[Database]:
    """Connect to a history. A failure, also during the work, ends the command."""
    from stromboli.history.databases.database import HistoryError
    from stromboli.history.databases.opening import open_for_reading

    try:
        database = open_for_reading(address)
        try:
            yield database
        finally:
            database.close()
    except HistoryError as error:
        raise Failure(error) from error
