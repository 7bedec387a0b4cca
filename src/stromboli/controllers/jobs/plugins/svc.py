"""Host names for the pods of a Job: a headless Service, a ConfigMap with the hosts of every task, and a NetworkPolicy.

The ConfigMap follows the replicas of the tasks; the files under `/etc/volcano` follow it, environment variables do not.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from stromboli.controllers.jobs.plugins.arguments import PluginFlag, PluginWithFlags
from stromboli.controllers.jobs.plugins.containers import add_variables, add_volume, containers_of
from stromboli.controllers.jobs.plugins.hosts import MAX_VARIABLE, TaskHosts, hosts_by_task
from stromboli.controllers.jobs.plugins.plugin import PluginObject
from stromboli.workloads.document import WorkloadDocument
from stromboli.workloads.families.volcano.rules.findings import RuleFinding
from stromboli.workloads.families.volcano.rules.names import service_problem
from stromboli.workloads.families.volcano.tasks import JOB_NAME, JOB_NAMESPACE, VolcanoTask
from stromboli.workloads.templates import VOLCANO_JOB

MOUNT_PATH = "/etc/volcano"
_STRATEGIES = ("allow", "allow-related", "allow-stateless", "drop", "reject")
_STRATEGY = "ovn.kubernetes.io/network_policy_strategy"
#: Some DNS servers disregard Services without ports.
_PLACEHOLDER = {"name": "placeholder-volcano", "port": 1, "protocol": "TCP", "targetPort": 1}


class ServicePlugin(PluginWithFlags):
    name = "svc"
    flags = (
        PluginFlag(
            "publish-not-ready-addresses", False, "whether the host names of pods that are not ready are resolved"
        ),
        PluginFlag("disable-network-policy", False, "whether pods outside the Job may connect to its pods"),
        PluginFlag("network-policy-strategy", "", "what OVN does with the connections that the NetworkPolicy selects"),
    )

    def __init__(self, arguments: Sequence[str]) -> None:
        super().__init__(arguments)
        strategy = self.values["network-policy-strategy"]
        if strategy and strategy not in _STRATEGIES:
            remedy = f"write one of {', '.join(_STRATEGIES)}"
            raise self.invalid("network-policy-strategy", strategy, "is not a strategy of OVN", remedy)

    def findings(self, job: WorkloadDocument) -> Iterator[RuleFinding]:
        yield from super().findings(job)
        name = job.text("metadata.name")
        if name and job.kind == VOLCANO_JOB and (problem := service_problem(name)):
            yield RuleFinding(
                "metadata.name", f"{problem}, which plugin svc creates", "begin it with a letter, no dots"
            )
        for task in hosts_by_task(job).values():
            if not _is_short(task):
                message = (
                    f"the {task.replicas} hosts are too long for a variable: VC_{_key(task).upper()}_HOSTS is not set"
                )
                remedy = f"read them from {MOUNT_PATH}/{_key(task)}.host"
                yield RuleFinding(f"spec.plugins.{self.name}", f"task {task.name}: {message}", remedy, is_warning=True)

    def edit_pod(self, pod: dict[str, Any], job: WorkloadDocument, task: VolcanoTask, index: int) -> None:
        spec, config_map = pod["spec"], _config_map_name(job)
        spec["hostname"] = spec.get("hostname") or pod["metadata"]["name"]
        spec["subdomain"] = spec.get("subdomain") or job.name
        variables = [
            {"name": name, "valueFrom": {"configMapKeyRef": {"name": config_map, "key": name}}}
            for each in hosts_by_task(job).values()
            for name in _variables(each)
        ]
        for container in containers_of(pod, with_init=True):
            add_variables(container, variables)
        add_volume(pod, {"name": config_map, "configMap": {"name": config_map}}, MOUNT_PATH)

    def objects(self, job: WorkloadDocument) -> Sequence[PluginObject]:
        hosts = PluginObject("v1", "ConfigMap", _config_map_name(job), lambda: {"data": _hosts(job)}, True)
        service = PluginObject("v1", "Service", job.name, lambda: {"spec": self._service(job)})
        policy = PluginObject("networking.k8s.io/v1", "NetworkPolicy", job.name, lambda: self._network_policy(job))
        return (hosts, service) if self.values["disable-network-policy"] else (hosts, service, policy)

    def _service(self, job: WorkloadDocument) -> dict[str, Any]:
        return {
            "clusterIP": "None",
            "selector": _pods_of(job),
            "ports": [_PLACEHOLDER],
            "publishNotReadyAddresses": self.values["publish-not-ready-addresses"],
        }

    def _network_policy(self, job: WorkloadDocument) -> dict[str, Any]:
        """Only the pods of the Job may connect to each other."""
        pods, strategy = {"matchLabels": _pods_of(job)}, self.values["network-policy-strategy"]
        spec = {"podSelector": pods, "ingress": [{"from": [{"podSelector": pods}]}], "policyTypes": ["Ingress"]}
        return {"metadata": {"annotations": {_STRATEGY: strategy} if strategy else {}}, "spec": spec}


def _config_map_name(job: WorkloadDocument) -> str:
    return f"{job.name}-svc"


def _hosts(job: WorkloadDocument) -> dict[str, str]:
    data = {}
    for task in hosts_by_task(job).values():
        hosts, key = task.hosts, _key(task)
        data[f"{key}.host"] = "\n".join(hosts)
        data[f"VC_{key.upper()}_HOSTS"] = ",".join(hosts)
        data[f"VC_{key.upper()}_NUM"] = str(len(hosts))
        if not _is_short(task):
            del data[f"VC_{key.upper()}_HOSTS"]
    return data


def _variables(task: TaskHosts) -> list[str]:
    names = [f"VC_{_key(task).upper()}_HOSTS"] if _is_short(task) else []
    return [*names, f"VC_{_key(task).upper()}_NUM"]


def _is_short(task: TaskHosts) -> bool:
    return task.max_text_size + len(task.name) + len("VC__HOSTS=") < MAX_VARIABLE


def _key(task: TaskHosts) -> str:
    return task.name.replace("-", "_")


def _pods_of(job: WorkloadDocument) -> dict[str, str]:
    return {JOB_NAME: job.name, JOB_NAMESPACE: job.namespace}
