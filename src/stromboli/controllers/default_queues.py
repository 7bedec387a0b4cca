"""The queues that always exist: the root, and the default one."""

from stromboli import kube
from stromboli.core.model.queues.queue import ROOT
from stromboli.kube.objects.meta import ObjectMeta
from stromboli.kube.objects.volcano import QueueSpec


def standard_queues(default: str = "default") -> tuple[kube.KubeQueue, ...]:
    return (
        kube.KubeQueue(metadata=ObjectMeta(name=ROOT, uid=ROOT), spec=QueueSpec(weight=1, reclaimable=False)),
        kube.KubeQueue(metadata=ObjectMeta(name=default, uid=default), spec=QueueSpec(weight=1, reclaimable=True)),
    )
