"""The host names of the pods of a Job: `<host name>.<subdomain>`, which the headless Service of plugin svc serves.

They are read from fields of the Job, without its other parts: every pod may need those of all others.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from stromboli.workloads.document import WorkloadDocument
from stromboli.workloads.families.volcano.rules.findings import RuleFinding
from stromboli.workloads.families.volcano.tasks import name_of, pod_name

#: Linux starts no process with a longer variable.
MAX_VARIABLE = 128 * 1024


class TaskHosts(NamedTuple):
    """A task and the hosts of its pods."""

    name: str
    replicas: int
    job: str
    subdomain: str
    #: The host name that the template sets for all pods; empty for none.
    host_name: str

    def short_name(self, index: int) -> str:
        return self.host_name or pod_name(self.job, self.name, index)

    def host(self, index: int) -> str:
        return f"{self.short_name(index)}.{self.subdomain}"

    @property
    def hosts(self) -> list[str]:
        """The hosts of all pods; one if the template sets their name."""
        return [self.host(index) for index in range(min(self.replicas, 1) if self.host_name else self.replicas)]

    @property
    def max_text_size(self) -> int:
        """The size that a list of the hosts has at most."""
        return self.replicas * (len(self.host(max(self.replicas - 1, 0))) + 1)


def lists_are_short(plugin: str, variable: str, tasks: Iterable[TaskHosts]) -> Iterator[RuleFinding]:
    """Check that a variable can list a host for each pod of these tasks: no container with a longer one would start."""
    size = sum(task.replicas * (len(task.host(0)) + 1) for task in tasks)
    if size > MAX_VARIABLE:
        message = f"the hosts in {variable} have {size} characters, and Linux starts no process with more than"
        yield RuleFinding(f"spec.plugins.{plugin}", f"{message} {MAX_VARIABLE}", "write fewer replicas")


def hosts_by_task(job: WorkloadDocument) -> dict[str, TaskHosts]:
    """Return the tasks of a Job by name."""
    found = (_task_hosts(job, place) for place in range(job.length("spec.tasks")))
    return {task.name: task for task in found}


def _task_hosts(job: WorkloadDocument, place: int) -> TaskHosts:
    path = f"spec.tasks[{place}]"
    return TaskHosts(
        name=name_of(job, place),
        replicas=job.count(f"{path}.replicas", 0),
        job=job.name,
        subdomain=job.text(f"{path}.template.spec.subdomain") or job.name,
        host_name=job.text(f"{path}.template.spec.hostname"),
    )
