"""The index of a pod in its task, as environment variables."""

from __future__ import annotations

from typing import Any

from stromboli.controllers.jobs.plugins.arguments import PluginWithFlags
from stromboli.controllers.jobs.plugins.containers import add_variables, containers_of, variable
from stromboli.workloads.document import WorkloadDocument
from stromboli.workloads.families.volcano.tasks import VolcanoTask


class EnvironmentPlugin(PluginWithFlags):
    name = "env"

    def edit_pod(self, pod: dict[str, Any], job: WorkloadDocument, task: VolcanoTask, index: int) -> None:
        for container in containers_of(pod, with_init=True):
            add_variables(container, (variable(name, index) for name in ("VK_TASK_INDEX", "VC_TASK_INDEX")))
