"""The defaults that Volcano's webhook writes into new Jobs."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

MAX_RETRY = 3
_ABSENT = (None, "")
#: Returns the plugins that others require.
RequiredPlugins = Callable[[Iterable[str]], Iterable[str]]


def fill_in_spec(spec: dict[str, Any], required: RequiredPlugins, *, queue: str = "", scheduler: str = "") -> None:
    """Write the defaults into the spec of a Job. Values of wrong types are left as they are: rules report them.

    A `maxRetry` of 0 is a value of its own, unlike in Volcano, which cannot distinguish it from none.
    """
    if spec.get("queue") in _ABSENT and queue:
        spec["queue"] = queue
    if spec.get("schedulerName") in _ABSENT and scheduler:
        spec["schedulerName"] = scheduler
    if spec.get("maxRetry") is None:
        spec["maxRetry"] = MAX_RETRY
    tasks = spec.get("tasks")
    tasks = tasks if isinstance(tasks, list) and all(isinstance(each, dict) for each in tasks) else []
    for place, task in enumerate(tasks):
        _fill_in_task(task, place)
    if spec.get("minAvailable") in (None, 0) and (total := sum(_count(task.get("minAvailable")) for task in tasks)):
        spec["minAvailable"] = total
    plugins = spec.get("plugins")
    if isinstance(plugins, dict):
        for name in required(plugins):
            plugins.setdefault(name, [])


def _fill_in_task(task: dict[str, Any], place: int) -> None:
    if task.get("name") in _ABSENT:
        task["name"] = f"default{place}"
    if task.get("minAvailable") is None:
        policy = task.get("partitionPolicy")
        partitions = policy if isinstance(policy, dict) else {}
        size, minimum = _count(partitions.get("partitionSize")), _count(partitions.get("minPartitions"))
        task["minAvailable"] = size * minimum or _count(task.get("replicas"))
    if task.get("maxRetry") is None:
        task["maxRetry"] = MAX_RETRY
    template = task.get("template")
    pod = template.get("spec") if isinstance(template, dict) else None
    if isinstance(pod, dict) and pod.get("hostNetwork") is True and not pod.get("dnsPolicy"):
        pod["dnsPolicy"] = "ClusterFirstWithHostNet"


def _count(value: object) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else 0
