"""A plan for people: groups, queues, evictions, and one closing sentence."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING

import click

from stromboli.cli.text.tables import Table, echo_table

if TYPE_CHECKING:
    from stromboli.core.session.decision_records import EvictionRecord, PreemptionFailure
    from stromboli.planner.plan import GroupPlan, Plan

#: Queues that exist everywhere; shown when somebody uses them.
_STANDARD_QUEUES = ("default", "root")
_MAX_NODES = 4
_PHASE_COLOURS = {
    "Running": "green",
    "Completed": "green",
    "Inqueue": "yellow",
    "Pending": "yellow",
    "Unknown": "red",
}


def echo_plan(plan: Plan) -> None:
    if plan.groups:
        echo_table(_groups(plan.groups))
        click.echo()
    echo_table(_queues(plan))
    click.echo()
    devices, networks = _devices(plan.devices), _networks(plan.groups)
    for table in (networks, devices, _evictions(plan.accounts), _refusals(plan.refusals)):
        if table.rows:
            echo_table(table)
            click.echo()


def echo_closing(plan: Plan) -> None:
    click.echo(_closing(plan))


def _groups(groups: Mapping[str, GroupPlan]) -> Table:
    table = Table(
        ("GROUP", "QUEUE", "PHASE", "READY", "MIN", "PODS", "NODES"),
        flexible=("NODES",),
        right=("READY", "MIN", "PODS"),
        colours=_PHASE_COLOURS,
        note_header="WHY IT WAITS",
    )
    for key, group in groups.items():
        counts = (str(group.ready), str(group.min_member), str(group.pods))
        table.add(key, group.queue, group.phase, *counts, format_nodes(group.nodes), note=_why(group))
    return table


def _networks(groups: Mapping[str, GroupPlan]) -> Table:
    """How far apart those are that want to be close together."""
    table = Table(("GROUP", "WHERE IN THE NETWORK"), flexible=("WHERE IN THE NETWORK",))
    for key, group in groups.items():
        for condition in group.conditions:
            if condition.type == "Scheduled" and condition.message:
                table.add(key, condition.message)
    return table


def _devices(devices: Mapping[str, Sequence[str]]) -> Table:
    """What the claims of pods got with them."""
    table = Table(("POD", "CLAIMED DEVICES"), flexible=("CLAIMED DEVICES",))
    for pod, given in devices.items():
        table.add(pod, ", ".join(given))
    return table


def _evictions(accounts: Iterable[EvictionRecord]) -> Table:
    from stromboli.planner.evictions import describe_consents, describe_protected

    table = Table(
        ("EVICTED POD", "NODE", "BY", "FREES", "IN FAVOUR OF", "ALLOWED BY"),
        flexible=("FREES", "ALLOWED BY"),
        note_header="WHO STAYS, AND WHY",
    )
    for account in accounts:
        favour = account.preemptor_pod or account.preemptor or "-"
        allowed = describe_consents(account) or account.note or "-"
        where = (account.pod, account.node, account.action, format_amounts(account.frees), favour)
        gang = "its gang goes whole; " if account.with_gang else ""
        table.add(*where, f"{gang}{allowed}", note=describe_protected(account))
    return table


def _refusals(refusals: Mapping[str, Sequence[PreemptionFailure]]) -> Table:
    """What stopped claims: a line for every rule."""
    table = Table(
        ("REFUSED CLAIM", "BY", "RULE", "KEEPS", "FOR EXAMPLE"), flexible=("FOR EXAMPLE",), right=("KEEPS",)
    )  # fmt: skip
    for refusal in (refusal for told in refusals.values() for refusal in told):
        for each in refusal.objections:
            example = f"{each.objects[0]}: {each.why}"
            table.add(refusal.pod, refusal.action, each.rule, str(len(each.objects)), example)
        if not refusal.objections:
            detail = refusal.reason.detail.removeprefix(f"{refusal.action}: ")
            table.add(refusal.pod, refusal.action, refusal.reason.code.value, "-", detail)
    return table


def _why(group: GroupPlan) -> str:
    if not group.waiting:
        return ""
    return "; ".join(group.reasons) or "not served in this cycle"


def format_nodes(nodes: Mapping[str, int]) -> str:
    """`node-a ×3, node-b ×2 and 4 more nodes`, the fullest first."""
    if not nodes:
        return "-"
    fullest = sorted(nodes.items(), key=lambda entry: (-entry[1], entry[0]))
    words = ", ".join(f"{name} ×{count}" for name, count in islice(fullest, _MAX_NODES))
    left = len(nodes) - _MAX_NODES
    return words if left <= 0 else f"{words} and {counted(left, 'more node')}"


def _queues(plan: Plan) -> Table:
    used = {group.queue for group in plan.groups.values()}
    table = Table(
        ("QUEUE", "ALLOCATED", "DESERVED", "SHARE"), flexible=("ALLOCATED", "DESERVED"), right=("SHARE",)
    )  # fmt: skip
    for name, queue in plan.queues.items():
        if name in used or name not in _STANDARD_QUEUES:
            allocated, deserved = format_amounts(queue.allocated), format_amounts(queue.deserved)
            table.add(name, allocated, deserved, f"{queue.share:.0%}")
    return table


def format_amounts(amounts: Mapping[str, str]) -> str:
    """`cpu 4, memory 8Gi`; pods are left out, everybody asks for one."""
    return ", ".join(f"{name} {amount}" for name, amount in amounts.items() if name != "pods") or "-"


def _closing(plan: Plan) -> str:
    cycles = counted(len(plan.cycles), "cycle")
    parts = [f"{counted(len(plan.binds), 'pod')} bound in {cycles}"]
    if plan.evictions:
        parts.append(f"{counted(len(plan.evictions), 'pod')} evicted")
    waiting = [group for group in plan.groups.values() if group.waiting]
    stuck = sum(1 for group in waiting if not group.has_started)
    if stuck:
        parts.append(f"{counted(stuck, 'job')} {'waits' if stuck == 1 else 'wait'}")
    if partly := len(waiting) - stuck:
        parts.append(f"{counted(partly, 'job')} {'runs' if partly == 1 else 'run'} with some pods waiting")
    if not waiting:
        parts.append("every job has what it asked for" if plan.groups else "there are no jobs")
    return "; ".join(parts) + "."


def counted(number: int, noun: str) -> str:
    return f"1 {noun}" if number == 1 else f"{number} {noun}s"
