"""Label selectors of options."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from stromboli.core.model.tasks.selectors import LabelSelector


def parse_selector(text: str, option: str, *, empty_is_absent: bool = False) -> LabelSelector:
    """Parse the value of an option. With `empty_is_absent`, `KEY=` selects objects without the label."""
    from stromboli.core.model.tasks.selector_text import read_selector

    try:
        return read_selector(text, empty_is_absent=empty_is_absent)
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint=option) from error
