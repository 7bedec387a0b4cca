"""Changes to how important a job is."""

from __future__ import annotations

from collections.abc import Iterator

from stromboli.planner.candidates.candidate import Candidate, edit
from stromboli.planner.changes import Change
from stromboli.planner.job_context import JobContext


def higher_priority(situation: JobContext) -> Iterator[Candidate]:
    """A priority class above the job's own, the lowest of them first."""
    group = situation.group
    higher = sorted(
        (entry.value or 0, entry.key)
        for entry in situation.priority_classes
        if (entry.value or 0) > situation.job.priority
    )
    if group is None or not higher:
        return

    def make(size: int) -> Change:
        value, name = higher[size - 1]
        raised = edit(group, ("spec", "priorityClassName"), group.spec.priority_class_name, name)
        return Change("raise-priority", f"give PodGroup {group.key} the priority class {name} ({value})", (raised,))

    yield Candidate("raise-priority", len(higher), make)
