"""Fair shares of queues and users in every output format."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

from stromboli.cli.output import Printout
from stromboli.cli.text.column_files import csv_text
from stromboli.cli.text.tables import Table, echo_table
from stromboli.core.model.resources.resources import is_bytes, short_name
from stromboli.core.model.usage.fair_shares import FairShare, FairShares

_NUMBERS = ("WEIGHT", "NORMAL", "USAGE", "EFFECTIVE", "FACTOR")


def fairshare_printout(shares: FairShares, warnings: Sequence[str]) -> Printout:
    entries = shares.entries
    return Printout(
        tables=lambda wide: _echo_table(shares, wide=wide),
        data=lambda: {
            "resource": shares.resource,
            "shares": [_document(share) for share in entries],
            "warnings": list(warnings),
        },
        names=lambda: (
            f"queue.scheduling.volcano.sh/{share.queue}" + ("" if share.user is None else f"/{share.user or '-'}")
            for share in entries
        ),
        warnings=warnings,
        further={"csv": lambda: csv_text(columns_of(entries))},
    )


def _echo_table(shares: FairShares, *, wide: bool) -> None:
    resources = list(dict.fromkeys(name for share in shares.entries for name in share.used))
    hours = [f"{_unit(name, short_name(name))} HOURS".upper() for name in resources]
    numbers = (*_NUMBERS, *hours)
    table = Table(("QUEUE", "USER", *numbers), right=numbers, wide=hours)
    for share in shares.entries:
        effective = share.effective.get(shares.resource)
        table.add(
            f"{'  ' * share.depth}{share.queue}", "" if share.user is None else share.user or "-", f"{share.weight:g}",
            f"{share.normal_weight:.3f}", f"{share.usage:.4f}", "" if effective is None else f"{effective:.3f}",
            f"{share.factor:.4f}", *(f"{_hours(share, name):.2f}" for name in resources),
        )  # fmt: skip
    echo_table(table, wide=wide)
    if shares.resource:
        click.echo(f"effective shares are those of {short_name(shares.resource)}, of which most is used")


def _document(share: FairShare) -> dict[str, Any]:
    user = {} if share.user is None else {"user": share.user}
    return {
        "queue": share.queue,
        **user,
        "weight": share.weight,
        "normalWeight": share.normal_weight,
        "usage": share.usage,
        "resourceSeconds": dict(share.used),
        "effectiveShares": dict(share.effective),
        "factor": share.factor,
    }


def columns_of(entries: Sequence[FairShare]) -> dict[str, list[Any]]:
    """Return the shares by column, for tables of other programs."""
    columns: dict[str, list[Any]] = {
        "queue": [share.queue for share in entries],
        "user": [share.user or "" for share in entries],
        "is_user": [share.user is not None for share in entries],
        "weight": [share.weight for share in entries],
        "normal_weight": [share.normal_weight for share in entries],
        "usage": [share.usage for share in entries],
        "factor": [share.factor for share in entries],
    }
    for name in dict.fromkeys(name for share in entries for name in share.used):
        columns[f"{_unit(name, name, '_')}_hours"] = [_hours(share, name) for share in entries]
        columns[f"{name}_effective_share"] = [share.effective.get(name) for share in entries]
    return columns


def _unit(resource: str, name: str, space: str = " ") -> str:
    return f"{name}{space}gib" if is_bytes(resource) else name


def _hours(share: FairShare, resource: str) -> float:
    return share.used.get(resource, 0.0) / (3600 * (2**30 if is_bytes(resource) else 1))
