"""A plan as text: groups, queues, evictions, and a summary."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING

import click

from stromboli.cli.text.tables import Table, echo_table, echo_wrapped

if TYPE_CHECKING:
    from stromboli.core.session.decision_records import EvictionRecord, PreemptionFailure
    from stromboli.planner.plan import GroupPlan, SchedulingPlan

#: Queues that always exist; shown when a job uses them.
_STANDARD_QUEUES = ("default", "root")
_MAX_NODES = 4
_MAX_INACTIVE = 20
_NOT_CONSIDERED = "not considered in this cycle"
_PHASE_COLOURS = {"Running": "green", "Completed": "green", "Inqueue": "yellow", "Pending": "yellow", "Unknown": "red"}


def echo_plan(plan: SchedulingPlan, *, wide: bool = False) -> None:
    if plan.groups:
        echo_table(_groups(plan, wide=wide), wide=wide)
        click.echo()
    echo_table(_queues(plan, wide=wide))
    click.echo()
    devices, networks = _devices(plan.devices), _networks(plan.groups)
    for table in (networks, devices, _evictions(plan.records, wide=wide), _refusals(plan.refusals, wide=wide)):
        if table.rows:
            echo_table(table)
            click.echo()


def echo_closing(plan: SchedulingPlan, inactive: Mapping[str, str], *, is_judged: bool) -> None:
    """Print the numbers of the plan; `inactive` are workloads without pods, with the reason."""
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
    has_pods = any(group.pods for group in plan.groups.values())
    if not waiting and (has_pods or not inactive):
        parts.append("every pod is scheduled" if has_pods else "there are no pods")
    parts += inactive_workloads(inactive)
    if not is_judged:
        parts.append("not every object could be judged")
    echo_wrapped("; ".join(parts) + ".")


def inactive_workloads(inactive: Mapping[str, str]) -> Iterator[str]:
    """Yield a phrase per workload without pods; further ones are counted."""
    for subject, reason in islice(inactive.items(), _MAX_INACTIVE):
        yield f"{subject} {reason} and has no pods"
    if len(inactive) > _MAX_INACTIVE:
        yield f"{counted(len(inactive) - _MAX_INACTIVE, 'more workload')} without pods"


def _groups(plan: SchedulingPlan, *, wide: bool) -> Table:
    table = Table(
        ("GROUP", "QUEUE", "PRIORITY", "PHASE", "READY", "MIN", "PODS", "NODES"),
        flexible=("NODES",),
        right=("PRIORITY", "READY", "MIN", "PODS"),
        wide=("PRIORITY",),
        colours=_PHASE_COLOURS,
        note_header="WHY IT WAITS",
    )
    for key, group in plan.groups.items():
        counts = (str(group.ready), str(group.min_member), str(group.pods))
        why = ("; ".join(group.reasons) if wide else group.summary) or _NOT_CONSIDERED if group.waiting else ""
        nodes = format_nodes(group.nodes, len(group.nodes) if wide else _MAX_NODES)
        priority = str(plan.session.jobs[key].priority)
        table.add(key, group.queue, priority, group.phase, *counts, nodes, note=why)
    return table


def _networks(groups: Mapping[str, GroupPlan]) -> Table:
    """The network domains of jobs with a network topology."""
    table = Table(("GROUP", "NETWORK DOMAIN"), flexible=("NETWORK DOMAIN",))
    for key, group in groups.items():
        for condition in group.conditions:
            if condition.type == "Scheduled" and condition.message:
                table.add(key, condition.message)
    return table


def _devices(devices: Mapping[str, Sequence[str]]) -> Table:
    """The devices of resource claims."""
    table = Table(("POD", "DEVICES"), flexible=("DEVICES",))
    for pod, names in devices.items():
        table.add(pod, ", ".join(names))
    return table


def _evictions(records: Iterable[EvictionRecord], *, wide: bool) -> Table:
    """The evicted pods; `-o wide` adds the protected pods and the other nodes."""
    from stromboli.planner.evictions import describe_consents, describe_protected

    table = Table(
        ("EVICTED POD", "NODE", "BY", "FREES", "PREEMPTOR"), flexible=("FREES",), note_header="WHY"
    )  # fmt: skip
    for record in records:
        preemptor = record.preemptor_pod or record.preemptor or "-"
        consents = describe_consents(record)
        parts = ("whole gang" if record.with_gang else "", f"allowed by {consents}" if consents else record.note)
        note = "; ".join(filter(None, (*parts, describe_protected(record) if wide else "")))
        table.add(record.pod, record.node, record.action, format_amounts(record.frees), preemptor, note=note)
    return table


def _refusals(refusals: Mapping[str, Sequence[PreemptionFailure]], *, wide: bool) -> Table:
    """The rules that prevented preemptions, one per line."""
    table = Table(("FAILED PREEMPTION", "BY", "RULE", "COUNT", "EXAMPLE"), flexible=("EXAMPLE",), right=("COUNT",))
    for refusal in (refusal for failures in refusals.values() for refusal in failures):
        for each in refusal.objections:
            example = f"{', '.join(each.objects if wide else each.objects[:1])}: {each.why}"
            table.add(refusal.pod, refusal.action, each.rule, str(len(each.objects)), example)
        if not refusal.objections:
            detail = refusal.reason.detail.removeprefix(f"{refusal.action}: ")
            table.add(refusal.pod, refusal.action, refusal.reason.code.value, "-", detail)
    return table


def format_nodes(nodes: Mapping[str, int], limit: int = _MAX_NODES) -> str:
    """`node-a ×3, node-b ×2 and 4 more nodes`, the fullest first."""
    if not nodes:
        return "-"
    fullest = sorted(nodes.items(), key=lambda entry: (-entry[1], entry[0]))
    listed = ", ".join(f"{name} ×{count}" for name, count in islice(fullest, limit))
    left = len(nodes) - limit
    return listed if left <= 0 else f"{listed} and {counted(left, 'more node')}"


def _queues(plan: SchedulingPlan, *, wide: bool) -> Table:
    used = {group.queue for group in plan.groups.values()}
    table = Table(("QUEUE", "ALLOCATED", "DESERVED", "SHARE"), flexible=("ALLOCATED", "DESERVED"), right=("SHARE",))
    for name, queue in plan.queues.items():
        if wide or name in used or name not in _STANDARD_QUEUES:
            allocated, deserved = format_amounts(queue.allocated), format_amounts(queue.deserved)
            table.add(name, allocated, deserved, f"{queue.share:.0%}")
    return table


def format_amounts(amounts: Mapping[str, str]) -> str:
    """`cpu 4, memory 8Gi`; pods are omitted, because every pod requests one."""
    return ", ".join(f"{name} {amount}" for name, amount in amounts.items() if name != "pods") or "-"


def counted(number: int, noun: str) -> str:
    return f"1 {noun}" if number == 1 else f"{number} {noun}s"
