"""Manifests with the pods, PodGroups and claims of their workloads."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TextIO

from stromboli.kube.manifests.manifests import DEFAULT_NAMESPACE, Manifests, read_manifests
from stromboli.workloads.expander import ClusterBeside, Expanders, FindCluster
from stromboli.workloads.expansion import PlannedPlugins
from stromboli.workloads.families.volcano.changes import JobChanges
from stromboli.workloads.registry import WorkloadFamily
from stromboli.workloads.templates import Kind


def read_with_workloads(
    paths: Sequence[str],
    stdin: TextIO | None = None,
    *,
    scheduler_names: Sequence[str],
    described: Mapping[Kind, WorkloadFamily] | None = None,
    beside: FindCluster = lambda objects: ClusterBeside(),
    now: float | None = None,
    job_plugins: PlannedPlugins = lambda job: JobChanges(),
    namespace_for: Callable[[Sequence[object]], str] = lambda items: DEFAULT_NAMESPACE,
) -> Manifests:
    """Read manifests as `read_manifests` does, and expand their workloads. `described` are further kinds, and `beside`
    returns the cluster to which the manifests are submitted, `now` is the current time, and `job_plugins` returns the
    changes of the plugins of a Volcano Job.
    """
    return read_manifests(paths, stdin, Expanders(scheduler_names, described, beside, now, job_plugins), namespace_for)
