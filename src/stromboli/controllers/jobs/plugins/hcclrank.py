"""The rank of a pod in Huawei's collective communication library (HCCL), as an annotation."""

from __future__ import annotations

from typing import Any

from stromboli.controllers.jobs.plugins.arguments import PluginWithFlags
from stromboli.controllers.jobs.plugins.containers import containers_of
from stromboli.controllers.jobs.plugins.hosts import hosts_by_task
from stromboli.controllers.jobs.plugins.roles import MASTER, WORKER
from stromboli.workloads.document import WorkloadDocument
from stromboli.workloads.families.volcano.tasks import VolcanoTask

RANK = "hccl/rankIndex"


class HcclRankPlugin(PluginWithFlags):
    name = "hcclrank"
    flags = (MASTER, WORKER)

    def edit_pod(self, pod: dict[str, Any], job: WorkloadDocument, task: VolcanoTask, index: int) -> None:
        """An annotation or environment variable `RANK` of the template comes first."""
        annotations = pod["metadata"]["annotations"]
        rank = annotations.get(RANK) or _variable_of(pod, "RANK") or self._rank(job, task, index)
        if rank:
            annotations[RANK] = rank

    def _rank(self, job: WorkloadDocument, task: VolcanoTask, index: int) -> str:
        if task.name == self.values["master"]:
            return str(index)
        if task.name != self.values["worker"]:
            return ""
        master = hosts_by_task(job).get(self.values["master"])
        return str(index + (master.replicas if master else 0))


def _variable_of(pod: dict[str, Any], name: str) -> str:
    entries = (entry for container in containers_of(pod) for entry in container.get("env") or ())
    return next((entry["value"] for entry in entries if entry.get("name") == name and entry.get("value")), "")
