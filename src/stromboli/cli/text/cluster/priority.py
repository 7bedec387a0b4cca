"""The order of a queue in every output format."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

from stromboli.cli.output import Printout, job_name
from stromboli.cli.text.ages import age_of
from stromboli.cli.text.tables import Table, bold, echo_table
from stromboli.planner.overview.queue_order import QueueOrder, plain_key

#: Jobs that are listed without `-o wide`.
_MAX_JOBS = 50
_SUBJECT = "*"


def priority_printout(order: QueueOrder, subject: str, now: float, warnings: Sequence[str]) -> Printout:
    """Return the order of the queue of a job; the table marks the job."""

    def tables(wide: bool) -> None:
        echo_table(_jobs(order, subject, now, len(order.jobs) if wide else _MAX_JOBS), wide=wide)
        if len(order.queues) > 1 and order.queue_plugins:
            click.echo(f"\n{bold('Queues with waiting jobs, in the order in which they are served')}")
            echo_table(_queues(order), wide=wide)

    return Printout(
        tables=tables,
        data=lambda: {"job": subject, **order.as_plain(), "warnings": list(warnings)},
        names=lambda: (job_name(each.subject.key) for each in order.jobs),
        warnings=warnings,
    )


def _jobs(order: QueueOrder, subject: str, now: float, limit: int) -> Table:
    titles = [name.upper() for name in order.job_plugins]
    table = Table(("POSITION", "JOB", *titles, "AGE", "CREATED"), right=("POSITION", *titles, "AGE"), wide=("CREATED",))
    for each in order.jobs:
        is_subject = each.subject.key == subject
        if each.place <= limit or is_subject:
            created = each.subject.spec.created
            mark = _SUBJECT if is_subject else ""
            keys = (format_key(each.keys[name]) for name in order.job_plugins)
            table.add(f"{mark}{each.place}", each.name, *keys, age_of(created, now), _created(created))
    return table


def _created(seconds: float) -> str:
    from stromboli.kube.objects.timestamps import stamp

    return stamp(seconds) if seconds else "-"


def _queues(order: QueueOrder) -> Table:
    titles = [name.upper() for name in order.queue_plugins]
    table = Table(("POSITION", "QUEUE", *titles), right=("POSITION", *titles))
    for each in order.queues:
        mark = _SUBJECT if each.subject == order.queue else ""
        keys = (format_key(each.keys[name]) for name in order.queue_plugins)
        table.add(f"{mark}{each.place}", each.name, *keys)
    return table


def format_key(key: Any) -> str:
    """Return a sort key in few characters; its parts are compared one after the other."""
    plain = plain_key(key)
    if isinstance(plain, list):
        return ", ".join(map(format_key, plain))
    return f"{plain:.4g}" if isinstance(plain, float) else str(plain)
