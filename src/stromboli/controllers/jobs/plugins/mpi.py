"""MPI: the hosts of the workers for the master, and the port of SSH."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from stromboli.controllers.jobs.plugins.arguments import PluginFlag, PluginWithFlags
from stromboli.controllers.jobs.plugins.containers import add_variables, containers_of, open_port, variable
from stromboli.controllers.jobs.plugins.hosts import hosts_by_task, lists_are_short
from stromboli.controllers.jobs.plugins.roles import MASTER, WORKER, missing_task
from stromboli.workloads.document import WorkloadDocument
from stromboli.workloads.families.volcano.rules.findings import RuleFinding
from stromboli.workloads.families.volcano.tasks import VolcanoTask


class MpiPlugin(PluginWithFlags):
    name = "mpi"
    requires = ("ssh", "svc")
    flags = (MASTER, WORKER, PluginFlag("port", 22, "the port of SSH", is_port=True))

    def findings(self, job: WorkloadDocument) -> Iterator[RuleFinding]:
        yield from super().findings(job)
        for role in ("master", "worker"):
            yield from missing_task(self, job, role, f"The specified mpi {role} task was not found")
        workers = hosts_by_task(job).get(self.values["worker"])
        yield from lists_are_short(self.name, "MPI_HOST", [workers] if workers and not workers.host_name else [])

    def edit_pod(self, pod: dict[str, Any], job: WorkloadDocument, task: VolcanoTask, index: int) -> None:
        open_port(pod, "mpijob-port", self.values["port"])
        if task.name == self.values["master"]:
            hosts = hosts_by_task(job)[self.values["worker"]].hosts
            for container in containers_of(pod, with_init=True):
                add_variables(container, [variable("MPI_HOST", ",".join(hosts))])
