"""Changes to the priority of a job."""

from __future__ import annotations

from collections.abc import Iterator

from stromboli.planner.candidates.candidate import RemedyCandidate, edit
from stromboli.planner.changes import ObjectChange
from stromboli.planner.job_context import JobContext


def higher_priority(context: JobContext) -> Iterator[RemedyCandidate]:
    """Raise the priority class, the lowest one above the job's own first."""
    group = context.group
    higher = sorted(
        (entry.value or 0, entry.key) for entry in context.priority_classes if (entry.value or 0) > context.job.priority
    )
    if group is None or not higher:
        return

    def make(size: int) -> ObjectChange:
        value, name = higher[size - 1]
        raised = edit(group, ("spec", "priorityClassName"), group.spec.priority_class_name, name)
        return ObjectChange(
            "raise-priority", f"give PodGroup {group.key} the priority class {name} ({value})", (raised,)
        )

    yield RemedyCandidate("raise-priority", len(higher), make)
