"""An explanation with its remedies, as text."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from sys import maxsize
from textwrap import wrap
from typing import TYPE_CHECKING

import click

from stromboli.cli.output import escape_controls
from stromboli.cli.text.plan import counted, format_amounts, format_nodes
from stromboli.cli.text.tables import Table, aligned, bold, line_width
from stromboli.planner.domain_searches import search_in_lines
from stromboli.planner.evictions import describe_consents
from stromboli.planner.explanation import EVICTED

if TYPE_CHECKING:
    from stromboli.core.session.decision_records import EvictionRecord, PreemptionFailure, RuleObjection
    from stromboli.planner.advice import Advice
    from stromboli.planner.class_explanation import ClassExplanation, NodeRefusal
    from stromboli.planner.explanation import Explanation, JobAhead, QueueShareReport
    from stromboli.planner.plan import GroupPlan
    from stromboli.planner.remedies import Remedies


@dataclass(frozen=True, slots=True)
class _Limits:
    """The maximum numbers of listed names, jobs and evictions."""

    names: int = 4
    ahead: int = 8
    evictions: int = 20


_NO_LIMITS = _Limits(maxsize, maxsize, maxsize)


def echo_advice(advice: Advice, *, wide: bool = False) -> None:
    explanation, limits = advice.explanation, _NO_LIMITS if wide else _Limits()
    for number, sentence in enumerate(_headline(explanation, limits)):
        for line in wrap(escape_controls(sentence), line_width()):
            click.echo(line if number else bold(line))
    echo_sections(advice, wide=wide)


def echo_sections(advice: Advice, *, wide: bool = False) -> None:
    """Print the sections below the headline."""
    explanation, limits = advice.explanation, _NO_LIMITS if wide else _Limits()
    _echo_section("Preempted by", _evictions(explanation.lost, _loss, limits))
    _echo_section("Preempts", _evictions(explanation.gained, _gain, limits))
    _echo_section("Network domains", (line for each in explanation.searches for line in search_in_lines(each)))
    if not explanation.group.waiting:
        return
    _echo_section("Why", _findings(explanation))
    _echo_section("Why preemption failed", _refusals(explanation.refused, limits))
    _echo_section("Waiting pods", _classes(explanation.classes, limits))
    _echo_section(_queue_title(explanation.queue), _amounts(explanation.queue))
    _echo_section("Jobs ahead in the same queue", _ahead(explanation.ahead, limits))
    goal = "place all its pods" if explanation.group.has_started else "let it start"
    _echo_section(f"The smallest change that would {goal}", _remedies(explanation.group, advice.remedies))


def _echo_section(title: str, lines: Iterator[str]) -> None:
    """Print a section; long lines are wrapped with a hanging indent."""
    content = [escape_controls(line) for line in lines]
    if content:
        click.echo(f"\n  {bold(escape_controls(title))}")
    for line in content:
        further = " " * (len(line) - len(line.lstrip()) + 2)
        for part in wrap(line, max(line_width() - 4, 20), subsequent_indent=further):
            click.echo(f"    {part}")


def _headline(explanation: Explanation, limits: _Limits) -> Iterator[str]:
    group, job = explanation.group, explanation.job
    if group.phase == EVICTED:
        yield f"{job} was evicted: {counted(len(explanation.lost), 'pod')}."
    elif not group.waiting:
        places = f"on {format_nodes(group.nodes, limits.names)}" if group.nodes else "without a pod on a node"
        yield f"{job} does not wait: it is {group.phase} {places}."
    elif group.has_started:
        left = group.pods - group.ready
        yield f"{job} runs with {group.ready} of {counted(group.pods, 'pod')}; {left} more wait: {_summary(group)}."
    else:
        yield f"{job} waits: {_summary(group)}."
        if group.min_member > 1:
            ready = f"{group.ready} of {counted(group.pods, 'pod')} {'is' if group.ready == 1 else 'are'} scheduled"
            yield f"{ready}, and {group.min_member} must start together."


def _summary(group: GroupPlan) -> str:
    return group.summary.rstrip(".") or "not considered in this cycle"


def _findings(explanation: Explanation) -> Iterator[str]:
    if not explanation.findings:
        yield "It was not considered in this cycle."
    for finding in explanation.findings:
        facts = finding.facts
        yield f"{finding.code.value} ({facts.remedy.value}): {'; '.join(finding.messages)}"
        yield f"  {facts.meaning} {facts.advice}"
        yield f"  May change when: {'; '.join(event.value for event in facts.retry_events)}."


def _evictions(
    records: Sequence[EvictionRecord], describe: Callable[[EvictionRecord], str], limits: _Limits
) -> Iterator[str]:
    """Describe evictions: victim, deciding rule, protected pods, and why other nodes were not chosen."""
    for record in records[: limits.evictions]:
        yield f"{record.action}: {describe(record)}"
        if record.with_gang:
            yield "  its whole gang is evicted, because it needs this pod"
        if record.allowed_by:
            yield f"  allowed by {describe_consents(record)}"
        if record.note:
            yield f"  {record.note}"
        yield from (f"  protected: {_objection(each, limits)}" for each in record.protected)
        yield from (f"  not on {other.node}: {other.why}" for other in record.considered)
    if len(records) > limits.evictions:
        yield f"and {counted(len(records) - limits.evictions, 'more pod')}"


def _loss(record: EvictionRecord) -> str:
    placement = f"; {record.preemptor_pod} is nominated to {record.preemptor_node}" if record.preemptor_pod else ""
    preemptor = f" for {record.preemptor}" if record.preemptor else ""
    return f"{record.pod} is evicted from {record.node}{preemptor}; frees {format_amounts(record.frees)}{placement}"


def _gain(record: EvictionRecord) -> str:
    place = f" for {record.preemptor_pod} on {record.preemptor_node}" if record.preemptor_pod else ""
    return f"{record.pod} is evicted from {record.node}{place}; frees {format_amounts(record.frees)}"


def _refusals(refusals: Sequence[PreemptionFailure], limits: _Limits) -> Iterator[str]:
    for refusal in refusals:
        yield f"{refusal.action} for {refusal.pod}: {refusal.reason.code.value}"
        yield from (f"  {_objection(each, limits)}" for each in refusal.objections)
        if not refusal.objections:
            yield f"  {refusal.reason.detail.removeprefix(f'{refusal.action}: ')}"


def _objection(objection: RuleObjection, limits: _Limits) -> str:
    return f"{len(objection.objects)} ({objection.rule}): {_names(objection.objects, limits)}: {objection.why}"


def _classes(classes: Sequence[ClassExplanation], limits: _Limits) -> Iterator[str]:
    for entry in classes:
        role = f" of role {entry.role}" if entry.role else ""
        each = ", each" if len(entry.pods) > 1 else ""
        yield f"{counted(len(entry.pods), 'pod')}{role}{each} requesting {format_amounts(entry.request)}"
        yield f"  {_names(entry.pods, limits)}"
        yield from (f"  {line}" for line in _attempt(entry))
        yield from (f"    {_refusal(refusal, limits)}" for refusal in entry.refusals)


def _attempt(entry: ClassExplanation) -> Iterator[str]:
    if entry.gated:
        yield f"{entry.gated} blocked by scheduling gates"
    if entry.placed:
        yield f"{entry.placed} could be placed, but more must start together"
    if entry.reason:
        yield f"not placed because {entry.reason}"
    if entry.found_no_node:
        yield f"{'the next one' if entry.placed else 'one'} could run on {entry.open_nodes} of {entry.nodes} nodes:"
    else:
        yield f"{entry.open_nodes} of {entry.nodes} nodes are feasible at the end of the cycle" + (
            ":" if entry.refusals else ""
        )


def _refusal(refusal: NodeRefusal, limits: _Limits) -> str:
    text = f"{len(refusal.nodes)} {refusal.reason}: {_names(refusal.nodes, limits)}"
    if refusal.largest_free is None:
        return text
    resource, amount, node = refusal.largest_free
    return f"{text} (largest free: {resource} {amount} on {node})"


def _names(names: Sequence[str], limits: _Limits) -> str:
    shown = ", ".join(names[: limits.names])
    left = len(names) - limits.names
    return shown if left <= 0 else f"{shown} and {left} more"


def _queue_title(queue: QueueShareReport) -> str:
    if not queue.exists:
        return f"Queue {queue.name}: does not exist"
    admitted = "is admitted" if queue.admitted else "is not admitted yet"
    weight = "" if queue.by_weight is False else f", weight {queue.weight}"
    return f"Queue {queue.name} ({queue.state}{weight}); the job {admitted}"


def _amounts(queue: QueueShareReport) -> Iterator[str]:
    table = Table(
        ("RESOURCE", "REQUESTED", "ALLOCATED", "DESERVED", "CAPABILITY"),
        right=("REQUESTED", "ALLOCATED", "DESERVED", "CAPABILITY"),
    )
    for amount in queue.amounts:
        unlimited = amount.capability or "no limit"
        table.add(amount.resource, amount.requested, amount.allocated, amount.deserved or "-", unlimited)
    if table.rows:
        yield from aligned(table)
    elif not queue.exists:
        yield "Jobs of a queue that does not exist are never scheduled."


def _ahead(ahead: Sequence[JobAhead], limits: _Limits) -> Iterator[str]:
    table = Table(("JOB", "PRIORITY", "IN THIS CYCLE"), right=("PRIORITY",))
    for entry in ahead[: limits.ahead]:
        outcome = [f"{counted(entry.bound, 'pod')} placed"] if entry.bound else []
        outcome += ["waits"] if entry.waiting else []
        table.add(entry.job, str(entry.priority), ", ".join(outcome))
    if table.rows:
        yield from aligned(table)
    if len(ahead) > limits.ahead:
        yield f"and {counted(len(ahead) - limits.ahead, 'more job')}"


def _remedies(group: GroupPlan, remedies: Remedies) -> Iterator[str]:
    if remedies.starts_by_itself:
        yield "none: it starts once the terminating pods are gone"
    elif remedies.smallest is not None:
        yield remedies.smallest.description
    elif not group.pods:
        yield f"its pods: none exists, and {group.min_member} must start together"
    elif remedies.stopped_early and not remedies.trials:
        yield "not searched because of the size of this plan: use `stromboli explain` for this job"
    elif remedies.stopped_early:
        yield f"none found in {counted(remedies.trials, 'trial')}; the search stopped early"
    else:
        yield f"no small change found in {counted(remedies.trials, 'trial')}"
    yield from (f"or {change.description}" for change in remedies.alternatives)
    if remedies.smallest is not None and remedies.stopped_early:
        yield f"the search stopped after {counted(remedies.trials, 'trial')}; a smaller change may exist"
