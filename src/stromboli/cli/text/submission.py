"""The answers for jobs that are about to be submitted: whether they start, where, and whom they preempt."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import click

from stromboli.cli.text.plan import counted, format_nodes, inactive_workloads
from stromboli.cli.text.tables import echo_wrapped

if TYPE_CHECKING:
    from stromboli.planner.plan import GroupPlan, SchedulingPlan

#: Further jobs are only counted.
_MAX_JOBS = 20
_MAX_VICTIMS = 4


def echo_answers(plan: SchedulingPlan, inactive: Mapping[str, str], *, is_judged: bool) -> None:
    """Print a sentence per job; `inactive` are workloads without pods, with the reason."""
    for phrase in inactive_workloads(inactive):
        echo_wrapped(f"{phrase}.")
    if not plan.groups and not inactive:
        click.echo("The files contain no job." if is_judged else "The files contain no job that could be judged.")
    for place, (key, group) in enumerate(plan.groups.items()):
        if place == _MAX_JOBS:
            click.echo(f"and {counted(len(plan.groups) - _MAX_JOBS, 'more job')}")
            return
        echo_wrapped("; ".join(_answer(plan, key, group)) + ".")


def _answer(plan: SchedulingPlan, key: str, group: GroupPlan) -> Iterator[str]:
    pods = {task.key for task in plan.session.jobs[key].tasks.values()}
    binds = sum(pod in pods for pod in plan.binds)
    nominated: dict[str, int] = {}
    for pod, node in plan.pipelined.items():
        if pod in pods:
            nominated[node] = nominated.get(node, 0) + 1
    if not group.pods:
        yield f"{key} has no pods yet"
    elif group.waiting and nominated:
        yield f"{key} starts on {format_nodes(nominated)} once terminating pods are gone"
    elif group.waiting and group.has_started:
        yield f"{key} starts now with {group.ready} of {counted(group.pods, 'pod')} on {format_nodes(group.nodes)}"
        yield f"the others wait: {group.summary}"
    elif group.waiting:
        yield f"{key} waits: {group.summary or 'not considered in this cycle'}"
    else:
        yield f"{key} {'starts now' if binds else 'runs already'} on {format_nodes(group.nodes)}"
    victims = [record.pod for record in plan.records if record.preemptor == key]
    if victims:
        more = f" and {len(victims) - _MAX_VICTIMS} more" if len(victims) > _MAX_VICTIMS else ""
        yield f"it preempts {counted(len(victims), 'pod')}: {', '.join(victims[:_MAX_VICTIMS])}{more}"
