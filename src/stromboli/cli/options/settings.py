"""Options of processes, which can also be set by environment variables."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click


def setting(*names: str, **keywords: Any) -> Callable[[Any], Any]:
    """Define an option with an environment variable: --schedule-period as STROMBOLI_SCHEDULE_PERIOD."""
    long = next(name for name in names if name.startswith("--")).split("/")[0]
    variable = "STROMBOLI_" + long.removeprefix("--").replace("-", "_").upper()
    return click.option(*names, envvar=variable, show_default=True, **keywords)


def switch(name: str, *, default: bool = False, help: str) -> Callable[[Any], Any]:  # noqa: A002 - as click calls it
    """Define a boolean option in the format of Volcano's flags: --leader-elect, --leader-elect=false."""
    return setting(name, type=click.BOOL, is_flag=False, flag_value=True, default=default, metavar="[=BOOL]", help=help)
