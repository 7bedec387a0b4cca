"""`stromboli budget`: show and set budgets of queues."""

from __future__ import annotations

from math import isfinite
from typing import TYPE_CHECKING, Any

import click

from stromboli.cli.changes.running import run_with_client
from stromboli.cli.completion import complete_queues
from stromboli.cli.options.connection import connection_options, connector
from stromboli.cli.options.history import find_history, history_option, open_history
from stromboli.cli.options.settings import option_group, output_option, shown_option
from stromboli.cli.options.times import clock_unless, now_option
from stromboli.cli.output import Failure, escape_controls

if TYPE_CHECKING:
    from collections.abc import Sequence

    from stromboli.core.model.usage.budgets import BudgetState
    from stromboli.kube.client.client import Client
    from stromboli.kube.objects.volcano import KubeQueue

#: As in `core.model.usage.budgets`, which is imported only when the command runs.
_PERIODS, _OVER = ("day", "week", "month"), ("block", "preemptible")

#: The longest name of a resource.
_MAX_RESOURCE = 256

_EPILOG = """\b
Examples:
  stromboli budget show
  stromboli budget set research --resource nvidia.com/gpu --hours 1000
  stromboli budget set research --hours 50 --user '*' --over preemptible
  stromboli budget set root --hours 200 --namespace team-a --carry-over 100
  stromboli budget unset research --resource nvidia.com/gpu

\b
Exit codes:
  0  done
  1  invalid input, an unknown queue, or the cluster is unreachable
  2  wrong usage
"""


class BudgetHours(click.FloatRange):
    """A number of hours, as a budget has it."""

    def __init__(self) -> None:
        super().__init__(min=0, max=1e12)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        found = super().convert(value, param, ctx)
        return found if isfinite(found) else self.fail(f"{value!r} is not a number of hours", param, ctx)


class ResourceName(click.ParamType[str]):
    name = "resource"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        text = str(value)
        if not 0 < len(text) <= _MAX_RESOURCE or text.split() != [text]:
            self.fail(f"{text[:64]!r} is not the name of a resource such as nvidia.com/gpu", param, ctx)
        return text


_scope = option_group(
    shown_option("--resource", type=ResourceName(), default="nvidia.com/gpu", metavar="NAME", help="The resource."),
    click.option("--user", default="", metavar="NAME", help="Only usage of this user; * for each user by itself."),
    click.option(
        "-n", "--namespace", default="", metavar="NAME", help="Only usage of this namespace; * for each by itself."
    ),
)  # fmt: skip


@click.group(epilog=_EPILOG)
def budget() -> None:
    """Show and set budgets of queues.

    A budget is a number of hours of a resource that a queue with its descendants, a user or a namespace may use in a
    calendar period. The plugin budget enforces it.
    """


@budget.command(epilog=_EPILOG)
@click.argument("names", nargs=-1, metavar="[QUEUE]...", shell_complete=complete_queues)
@history_option(
    "The file or PostgreSQL server of the history. Default: the history of stromboli up, if the kubeconfig is that of "
    "its cluster."
)
@connection_options
@now_option("The present time. Default: the clock.")
@output_option()
def show(names: tuple[str, ...], now: float | None, output: str, **options: Any) -> None:
    """Show budgets, and what is used of them in this period."""
    from stromboli.cli.changes.budgets import own_budgets
    from stromboli.cli.text.cluster.budget import budgets_printout
    from stromboli.history.usage.budgets import budget_states

    queues = run_with_client(connector(options)(), _list_queues, "Queues")
    if unknown := sorted(set(names) - {queue.metadata.name for queue in queues}):
        raise Failure(f"no queue {', '.join(unknown)}; there are {', '.join(queue.metadata.name for queue in queues)}")
    address = find_history(options)
    if not address:
        raise Failure("the kubeconfig names no history, as that of stromboli up does; name one with --history")
    moment, warnings = clock_unless(now), list[str]()
    states: list[BudgetState] = []
    with open_history(address) as database:
        for queue in queues:
            name = queue.metadata.name
            try:
                budgets = own_budgets(queue) if not names or name in names else []
            except Failure as error:
                warnings.append(error.message)
                continue
            for each in budgets:
                states += budget_states(database, name, _family(queue, queues), each, moment)
    budgets_printout(states, warnings).echo(output)


@budget.command("set", epilog=_EPILOG)
@click.argument("queue", shell_complete=complete_queues)
@_scope
@click.option("--hours", type=BudgetHours(), required=True, metavar="N", help="Its hours in a period.")
@shown_option("--period", type=click.Choice(_PERIODS), default="month", help="The period, by the calendar in UTC.")
@shown_option(
    "--carry-over", type=BudgetHours(), default=0.0, metavar="N",
    help="The most unused hours of the last period that are added.",
)  # fmt: skip
@shown_option(
    "--grace", type=BudgetHours(), default=0.0, metavar="N",
    help="Hours beyond the budget without a consequence.",
)  # fmt: skip
@shown_option(
    "--over", type=click.Choice(_OVER), default="block",
    help="What happens to jobs beyond it: they wait, or are served last and may be preempted.",
)  # fmt: skip
@click.option(
    "--warn-at", type=click.IntRange(1, 1000), multiple=True, metavar="PERCENT",
    help="When the queue gets an event. Repeatable. Default: 80 and 100.",
)  # fmt: skip
@connection_options
def set_(queue: str, **options: Any) -> None:
    """Set a budget, or replace the one for the same resource, user and namespace."""
    from stromboli.cli.changes.budgets import set_budget
    from stromboli.core.model.usage.budgets import WARN_AT, Budget

    wanted = Budget(
        options["resource"], options["hours"], options["period"], options["user"], options["namespace"],
        carry_over=options["carry_over"], grace=options["grace"], over=options["over"],
        warn_at=tuple(sorted(options["warn_at"])) or WARN_AT,
    )  # fmt: skip
    run_with_client(connector(options)(), lambda client: set_budget(client, queue, wanted), "Queues")
    click.echo(escape_controls(f"queue.scheduling.volcano.sh/{queue}: budget for {wanted.scope} set"))


@budget.command(epilog=_EPILOG)
@click.argument("queue", shell_complete=complete_queues)
@_scope
@connection_options
def unset(queue: str, resource: str, user: str, namespace: str, **options: Any) -> None:
    """Remove a budget."""
    from stromboli.cli.changes.budgets import remove_budget
    from stromboli.core.model.usage.budgets import Budget

    scope = Budget(resource, 0.0, user=user, namespace=namespace).scope
    if not run_with_client(connector(options)(), lambda client: remove_budget(client, queue, scope), "Queues"):
        raise Failure(f"queue {queue} has no budget for {scope}")
    click.echo(escape_controls(f"queue.scheduling.volcano.sh/{queue}: budget for {scope} removed"))


async def _list_queues(client: Client) -> list[KubeQueue]:
    from stromboli.kube.objects.catalogue import QUEUES

    return sorted((await client.list(QUEUES)).items, key=lambda queue: queue.metadata.name)


def _family(queue: KubeQueue, queues: Sequence[KubeQueue]) -> set[str]:
    """Return the names of a queue and its descendants; all queues are below the root."""
    from stromboli.core.model.queues.queue import ROOT

    if queue.metadata.name == ROOT:
        return {each.metadata.name for each in queues}
    family = {queue.metadata.name}
    while more := {q.metadata.name for q in queues if q.spec.parent in family} - family:
        family |= more
    return family
