"""Owners of pods whose annotations apply to the group of their pods: built-in kinds, of which only metadata is read."""

from typing import Any, ClassVar

from stromboli.kube.objects.meta import TopLevel
from stromboli.kube.objects.resources import Resource


class _ReplicaSetOwner(TopLevel):
    kind_name: ClassVar[str] = "ReplicaSet"
    group: ClassVar[str] = "apps"
    namespaced: ClassVar[bool] = True


class _StatefulSetOwner(_ReplicaSetOwner):
    kind_name: ClassVar[str] = "StatefulSet"


class _DaemonSetOwner(_ReplicaSetOwner):
    kind_name: ClassVar[str] = "DaemonSet"


class _JobOwner(_ReplicaSetOwner):
    kind_name: ClassVar[str] = "Job"
    group: ClassVar[str] = "batch"


POD_OWNERS: tuple[Resource[Any], ...] = (
    Resource(_ReplicaSetOwner, "v1", "replicasets"),
    Resource(_StatefulSetOwner, "v1", "statefulsets"),
    Resource(_DaemonSetOwner, "v1", "daemonsets"),
    Resource(_JobOwner, "v1", "jobs"),
)
