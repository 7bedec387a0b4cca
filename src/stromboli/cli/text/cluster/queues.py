"""Queues in every output format: a tree."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from stromboli.cli.output import Printout
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
    """Return the named queues, or all; the table shows the root only where it is named, or with `-o wide`."""
    chosen = [queue for queue in queues if not names or queue.name in names]

    def tables(wide: bool) -> None:
        echo_table(queues_table([queue for queue in chosen if wide or names or queue.name != ROOT]), wide=wide)

    return Printout(
        tables=tables,
        data=lambda: {"queues": [queue.as_plain() for queue in chosen], "warnings": list(warnings)},
        names=lambda: (f"queue.scheduling.volcano.sh/{queue.name}" for queue in chosen),
        warnings=warnings,
    )
