"""Ray: the commands of head and workers, and a Service for the head."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from stromboli.controllers.jobs.plugins.arguments import PluginFlag, PluginWithFlags
from stromboli.controllers.jobs.plugins.containers import add_port, containers_of, has_port
from stromboli.controllers.jobs.plugins.hosts import hosts_by_task
from stromboli.controllers.jobs.plugins.plugin import PluginObject
from stromboli.controllers.jobs.plugins.roles import WORKER, missing_task
from stromboli.workloads.document import WorkloadDocument
from stromboli.workloads.families.volcano.rules.findings import RuleFinding
from stromboli.workloads.families.volcano.rules.names import MAX_LABEL
from stromboli.workloads.families.volcano.tasks import JOB_NAME, JOB_NAMESPACE, VolcanoTask
from stromboli.workloads.pod_documents import TASK_SPEC
from stromboli.workloads.templates import VOLCANO_JOB

_PORTS = {"gcs": "port", "dashboard": "dashboardPort", "client-server": "clientPort"}


class RayPlugin(PluginWithFlags):
    name = "ray"
    requires = ("svc",)
    flags = (
        PluginFlag("head", "head", "the task of the head"),
        PluginFlag("headContainer", "head", "its container that runs Ray"),
        WORKER,
        PluginFlag("workerContainer", "worker", "their container that runs Ray"),
        PluginFlag("port", 6379, "the port of the control store", is_port=True),
        PluginFlag("dashboardPort", 8265, "the port of the dashboard", is_port=True),
        PluginFlag("clientPort", 10001, "the port for clients", is_port=True, aliases=("clientServerPort",)),
    )

    def findings(self, job: WorkloadDocument) -> Iterator[RuleFinding]:
        yield from super().findings(job)
        yield from missing_task(self, job, "head", "the head task does not exist")
        name = job.text("metadata.name")
        if name and job.kind == VOLCANO_JOB and len(service := _service_name(name)) > MAX_LABEL:
            message = f"the name of the Service of plugin ray, {service}, is longer than {MAX_LABEL} characters"
            yield RuleFinding("metadata.name", message, "write a shorter name")

    def edit_pod(self, pod: dict[str, Any], job: WorkloadDocument, task: VolcanoTask, index: int) -> None:
        values = self.values
        for container in containers_of(pod):
            if (task.name, container.get("name")) == (values["head"], values["headContainer"]):
                self._start_head(container)
            elif (task.name, container.get("name")) == (values["worker"], values["workerContainer"]):
                head = hosts_by_task(job)[values["head"]].host(0)
                container["command"] = ["sh", "-c", f"ray start --block --address={head}:{values['port']}"]

    def _start_head(self, container: dict[str, Any]) -> None:
        values = self.values
        for name, flag in _PORTS.items():
            if not has_port(container, values[flag]):
                add_port(container, name, values[flag])
        ports = (
            f"--port={values['port']} --dashboard-port={values['dashboardPort']} "
            f"--ray-client-server-port={values['clientPort']}"
        )
        container["command"] = ["sh", "-c", f"ray start --head --block --dashboard-host=0.0.0.0 {ports}"]

    def objects(self, job: WorkloadDocument) -> Sequence[PluginObject]:
        return (PluginObject("v1", "Service", _service_name(job.name), lambda: {"spec": self._service(job)}),)

    def _service(self, job: WorkloadDocument) -> dict[str, Any]:
        """The ports are numbers: the template may have named them otherwise."""
        selector = {JOB_NAME: job.name, JOB_NAMESPACE: job.namespace, TASK_SPEC: self.values["head"]}
        ports = ((name, self.values[flag]) for name, flag in _PORTS.items())
        return {
            "selector": selector,
            "ports": [{"name": name, "port": port, "targetPort": port, "protocol": "TCP"} for name, port in ports],
        }


def _service_name(job: str) -> str:
    return f"{job}-head-svc"
