"""Tasks that a framework gives a role: which arguments name them, and what is reported if they do not exist."""

from __future__ import annotations

from collections.abc import Iterator

from stromboli.controllers.jobs.plugins.arguments import PluginFlag, PluginWithFlags
from stromboli.workloads.document import WorkloadDocument
from stromboli.workloads.families.volcano.rules.findings import RuleFinding
from stromboli.workloads.families.volcano.tasks import name_of

MASTER = PluginFlag("master", "master", "the task of the master")
WORKER = PluginFlag("worker", "worker", "the task of the workers")


def task_names(job: WorkloadDocument) -> list[str]:
    return [name_of(job, place) for place in range(job.length("spec.tasks"))]


def missing_task(
    plugin: PluginWithFlags, job: WorkloadDocument, role: str, message: str, *, is_warning: bool = False
) -> Iterator[RuleFinding]:
    """Yield a finding if the task of a role does not exist."""
    name = plugin.values[role]
    if name not in task_names(job):
        remedy = f"add task {name}, or name another one: --{role}=TASK"
        yield RuleFinding(f"spec.plugins.{plugin.name}", f"{message}: {name}", remedy, is_warning)
