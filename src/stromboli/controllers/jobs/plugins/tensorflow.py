"""TensorFlow's cluster: the hosts of each role, and the role and index of a pod, as `TF_CONFIG`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from stromboli.controllers.jobs.plugins.arguments import PluginFlag, PluginWithFlags
from stromboli.controllers.jobs.plugins.containers import add_variables, containers_of, variable
from stromboli.controllers.jobs.plugins.hosts import TaskHosts, hosts_by_task, lists_are_short
from stromboli.controllers.jobs.plugins.roles import WORKER
from stromboli.workloads.document import WorkloadDocument
from stromboli.workloads.families.volcano.rules.findings import RuleFinding
from stromboli.workloads.families.volcano.tasks import VolcanoTask

#: In the order of Volcano's value.
_ROLES = ("ps", "worker", "chief", "evaluator")


class TensorflowPlugin(PluginWithFlags):
    name = "tensorflow"
    requires = ("svc",)
    flags = (
        PluginFlag("ps", "ps", "the task of the parameter servers"),
        WORKER,
        PluginFlag("chief", "chief", "the task of the chief"),
        PluginFlag("evaluator", "evaluator", "the task of the evaluator"),
        PluginFlag("port", 2222, "the port of all pods", is_port=True),
    )

    def findings(self, job: WorkloadDocument) -> Iterator[RuleFinding]:
        yield from super().findings(job)
        tasks, names = hosts_by_task(job), {self.values[each] for each in _ROLES}
        yield from lists_are_short(self.name, "TF_CONFIG", [tasks[name] for name in names if name in tasks])

    def edit_pod(self, pod: dict[str, Any], job: WorkloadDocument, task: VolcanoTask, index: int) -> None:
        tasks = hosts_by_task(job)
        if sum(each.replicas for each in tasks.values()) == len(tasks) == 1:
            return  # A single pod needs no cluster.
        role = next((each for each in _ROLES if self.values[each] == task.name), task.name)
        named = {each: tasks.get(self.values[each]) for each in _ROLES}
        cluster = {each: self._addresses(found) for each, found in named.items() if found and found.replicas}
        value = {"cluster": cluster, "task": {"type": role, "index": index}}
        for container in containers_of(pod):
            add_variables(container, [variable("TF_CONFIG", json.dumps(value, separators=(",", ":")))])

    def _addresses(self, task: TaskHosts) -> list[str]:
        return [f"{task.host(index)}:{self.values['port']}" for index in range(task.replicas)]
