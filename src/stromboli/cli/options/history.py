"""Options of the history: where it is, and its bounds."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import click

from stromboli.cli.local_kubeconfig import state_folder
from stromboli.cli.options.settings import DURATION, option_group, setting
from stromboli.cli.output import Failure

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

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
    setting(
        "--history-user-label", default="stromboli.dev/user", metavar="KEY",
        help="The label of pods and PodGroups with the user of a job.",
    ),
)  # fmt: skip


def bounds_of(arguments: Mapping[str, Any]) -> HistoryBounds:
    from stromboli.history.retention import HistoryBounds

    return HistoryBounds(arguments["history_max_age"], arguments["history_max_size"])


def local_history() -> Path:
    """Return the file in which `stromboli up` records."""
    return state_folder() / "history.db"


def open_history(address: str) -> Database:
    """Connect to a history, by default that of `stromboli up`. A failure ends the command."""
    from stromboli.history.databases.database import HistoryError
    from stromboli.history.databases.opening import open_for_reading

    try:
        return open_for_reading(address or str(local_history()))
    except HistoryError as error:
        remedy = "" if address else "; name a history with --history, or start stromboli up"
        raise Failure(f"{error}{remedy}") from error
