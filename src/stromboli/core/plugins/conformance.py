"""conformance: never evict pods that the cluster itself depends on."""

from collections.abc import Sequence

from stromboli.core.config.plugin import EvictionContext, Plugin, Victims
from stromboli.core.model.tasks.task import Task

_CRITICAL_CLASSES = ("system-cluster-critical", "system-node-critical")
_SYSTEM_NAMESPACE = "kube-system"


def _may_go(task: Task) -> bool:
    return task.namespace != _SYSTEM_NAMESPACE and task.priority_class not in _CRITICAL_CLASSES


class Conformance(Plugin):
    name = "conformance"
    guards_victims = True

    def preemptable(self, preemptor: Task, candidates: Sequence[Task]) -> Victims:
        return [task for task in candidates if _may_go(task)]

    def reclaimable(self, preemptor: Task, candidates: Sequence[Task]) -> Victims:
        return [task for task in candidates if _may_go(task)]

    def evictable(self, context: EvictionContext, candidates: Sequence[Task]) -> Victims:
        return [task for task in candidates if _may_go(task)]

    def veto(self, preemptor: Task, victim: Task) -> str:
        if victim.namespace == _SYSTEM_NAMESPACE:
            return f"namespace {_SYSTEM_NAMESPACE} keeps the cluster alive"
        return f"priority class {victim.priority_class} keeps the cluster alive"
