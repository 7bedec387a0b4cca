"""Queues in every output format: a tree."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from stromboli.cli.output import Printout
from stromboli.cli.text.changes import ChangedRows, RowFormat
from stromboli.cli.text.plan import format_amounts
from stromboli.cli.text.tables import Table, echo_table
from stromboli.core.model.queues.queue import ROOT
from stromboli.planner.overview.queue_list import QueueEntry

_WIDE = ("GUARANTEE", "CAPABILITY", "PRIORITY", "RECLAIMABLE", "STATE", "RUNNING")
_HEADER = ("QUEUE", "WEIGHT", "ALLOCATED", "DESERVED", "BORROWED", *_WIDE, "SHARE", "WAITING")
_COLOURS = {"Open": "green", "Closing": "yellow", "Closed": "red", "Unknown": "red"}


def queues_table(queues: Sequence[QueueEntry]) -> Table:
    table = Table(
        _HEADER, wide=_WIDE, right=("WEIGHT", "PRIORITY", "RUNNING", "SHARE", "WAITING"),
        flexible=("ALLOCATED", "DESERVED", "BORROWED", "GUARANTEE", "CAPABILITY"), colours=_COLOURS,
    )  # fmt: skip
    for queue in queues:
        amounts = map(format_amounts, (queue.allocated, queue.deserved, queue.borrowed, queue.guarantee))
        table.add(
            f"{'  ' * queue.depth}{_title(queue)}", str(queue.weight), *amounts,
            format_amounts(queue.capability) if queue.capability else "no limit", str(queue.priority),
            "yes" if queue.reclaimable else "no", queue.state, str(queue.running), f"{queue.share:.0%}",
            str(queue.waiting),
        )  # fmt: skip
    return table


def _title(queue: QueueEntry) -> str:
    return queue.name if queue.state == "Open" else f"{queue.name} ({queue.state})"


def queues_printout(queues: Sequence[QueueEntry], names: Collection[str], warnings: Sequence[str]) -> Printout:
    """Return the queues; the table shows the root only where it is named, or with `-o wide`."""

    def tables(wide: bool) -> None:
        echo_table(queues_table([queue for queue in queues if wide or names or queue.name != ROOT]), wide=wide)

    return Printout(
        tables=tables,
        data=lambda: {"queues": [queue.as_plain() for queue in queues], "warnings": list(warnings)},
        names=lambda: map(_name, queues),
        warnings=warnings,
    )


def _name(queue: QueueEntry) -> str:
    return f"queue.scheduling.volcano.sh/{queue.name}"


def queue_changes(output: str) -> ChangedRows[QueueEntry]:
    """Print the queues that change."""
    form = RowFormat[QueueEntry](
        key=lambda queue: queue.name,
        table=lambda queue: queues_table([queue]),
        plain=lambda queue: queue.as_plain(),
        name=_name,
        deleted=lambda queue: replace(queue, state="Deleted"),
    )
    return ChangedRows(form, output)
