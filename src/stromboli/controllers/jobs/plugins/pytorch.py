"""PyTorch's distributed package: address and port of the master, the number of processes and the rank of each."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from stromboli.controllers.jobs.plugins.arguments import PluginFlag, PluginWithFlags
from stromboli.controllers.jobs.plugins.containers import add_variables, containers_of, open_port, variable
from stromboli.controllers.jobs.plugins.hosts import TaskHosts, hosts_by_task
from stromboli.controllers.jobs.plugins.roles import MASTER, WORKER, missing_task
from stromboli.workloads.document import WorkloadDocument
from stromboli.workloads.families.volcano.rules.findings import RuleFinding
from stromboli.workloads.families.volcano.tasks import VolcanoTask

_WAIT = (
    "end=$(($(date +%s) + TIMEOUT)); "
    'until nc -z -w 2 "$MASTER_ADDR" "$MASTER_PORT"; do '
    '[ "$(date +%s)" -lt "$end" ] || { echo "$MASTER_ADDR:$MASTER_PORT does not answer" >&2; exit 1; }; '
    "sleep 2; done"
)
#: Equal, so that a pod of the class Guaranteed remains one.
_AMOUNTS = {"cpu": "50m", "memory": "32Mi"}


class PytorchPlugin(PluginWithFlags):
    name = "pytorch"
    requires = ("svc",)
    flags = (
        MASTER,
        WORKER,
        PluginFlag("port", 23456, "the port of the master", is_port=True),
        PluginFlag("wait-master-enabled", False, "whether workers start after the port of the master answers"),
        PluginFlag("wait-master-timeout", 300, "seconds after which a worker that waits fails"),
        PluginFlag(
            "wait-master-image", "busybox:1.36.1", "the image of the container that waits; it needs `sh` and `nc`"
        ),
    )

    def findings(self, job: WorkloadDocument) -> Iterator[RuleFinding]:
        yield from super().findings(job)
        message = "pods get no environment variables, because there is no master task"
        yield from missing_task(self, job, "master", message, is_warning=True)

    def edit_pod(self, pod: dict[str, Any], job: WorkloadDocument, task: VolcanoTask, index: int) -> None:
        tasks = hosts_by_task(job)
        master, workers = tasks.get(self.values["master"]), tasks.get(self.values["worker"])
        if master is None:
            return
        address = [variable("MASTER_ADDR", master.host(0)), variable("MASTER_PORT", self.values["port"])]
        others = workers.replicas if workers and workers.name != master.name else 0
        size = [variable("WORLD_SIZE", master.replicas + others)]
        open_port(pod, "pytorchjob-port", self.values["port"])
        for container in containers_of(pod):
            add_variables(container, [*address, *size, *self._rank(master, task, index)])
        if self.values["wait-master-enabled"] and task.name == self.values["worker"] != master.name:
            spec = pod["spec"]
            spec["initContainers"] = [*(spec.get("initContainers") or ()), self._waiting(address)]

    def _rank(self, master: TaskHosts, task: VolcanoTask, index: int) -> list[dict[str, Any]]:
        if task.name == master.name:
            return [variable("RANK", index)]
        return [variable("RANK", master.replicas + index)] if task.name == self.values["worker"] else []

    def _waiting(self, address: list[dict[str, Any]]) -> dict[str, Any]:
        """Return the container that waits for the master."""
        return {
            "name": "wait-for-master",
            "image": self.values["wait-master-image"],
            "command": ["sh", "-c", _WAIT],
            "env": [*address, variable("TIMEOUT", self.values["wait-master-timeout"])],
            "resources": {"requests": dict(_AMOUNTS), "limits": dict(_AMOUNTS)},
        }
