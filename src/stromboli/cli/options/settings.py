"""Options of processes, which can also be given by the environment."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click


def setting(*names: str, **keywords: Any) -> Callable[[Any], Any]:
    """An option that the environment may give as well: --schedule-period as STROMBOLI_SCHEDULE_PERIOD."""
    long = next(name for name in names if name.startswith("--")).split("/")[0]
    variable = "STROMBOLI_" + long.removeprefix("--").replace("-", "_").upper()
    return click.option(*names, envvar=variable, show_default=True, **keywords)


def switch(name: str, *, default: bool = False, help: str) -> Callable[[Any], Any]:  # noqa: A002 - as click calls it
    """A setting that is on or off, written as Volcano's flags are: --leader-elect, --leader-elect=false."""
    return setting(name, type=click.BOOL, is_flag=False, flag_value=True, default=default, metavar="[=BOOL]", help=help)
