"""The rules for Commands: which actions apply to which objects."""

from __future__ import annotations

from collections.abc import Iterator

from stromboli.kube.objects.volcano import GROUP as SCHEDULING_GROUP
from stromboli.kube.objects.volcano_jobs import BATCH_GROUP
from stromboli.workloads.document import WorkloadDocument
from stromboli.workloads.families.volcano.rules.findings import Rule, RuleFinding, findings_by
from stromboli.workloads.templates import Kind

QUEUE: Kind = (SCHEDULING_GROUP, "Queue")
_ACTIONS: dict[Kind, tuple[str, ...]] = {
    (BATCH_GROUP, "Job"): ("AbortJob", "CompleteJob", "RestartJob", "ResumeJob", "TerminateJob"),
    QUEUE: ("CloseQueue", "OpenQueue"),
}


def command_findings(command: WorkloadDocument) -> list[RuleFinding]:
    """Return what is wrong with a Command."""
    return findings_by(COMMAND_RULES, command)


def target_of(command: WorkloadDocument) -> Kind:
    """Return the group and kind of the object that a Command is for."""
    return command.text("target.apiVersion").rpartition("/")[0], command.text("target.kind")


def target_is_identified(command: WorkloadDocument) -> Iterator[RuleFinding]:
    for name in ("name", "uid"):
        if not command.text(f"target.{name}"):
            yield RuleFinding(f"target.{name}", "is missing", f"write the {name} of the object")


def action_applies_to_target(command: WorkloadDocument) -> Iterator[RuleFinding]:
    kind, action = target_of(command), command.text("action")
    if kind not in _ACTIONS:
        message = f"{kind[1] or 'nothing'} of {kind[0] or 'no group'} has no commands"
        yield RuleFinding("target.kind", message, "name a Job of batch.volcano.sh or a Queue of scheduling.volcano.sh")
    elif action not in _ACTIONS[kind]:
        message = f"{action!r} is not an action for a {kind[1]}" if action else "is missing"
        yield RuleFinding("action", message, f"use one of {', '.join(_ACTIONS[kind])}")


COMMAND_RULES: tuple[Rule, ...] = (target_is_identified, action_applies_to_target)
