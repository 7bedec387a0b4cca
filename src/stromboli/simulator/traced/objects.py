"""A job of a trace as a PodGroup and its pods.

The scheduler sees the estimate of the run time and the interval between checkpoints as annotations of pods.
"""

from __future__ import annotations

import re
from functools import lru_cache
from math import inf

from stromboli import kube
from stromboli.core.model.devices.gpu_fractions import FRACTION
from stromboli.kube.objects.meta import ObjectMeta, Resources
from stromboli.kube.objects.timestamps import CHECKPOINT_INTERVAL, RUN_TIME
from stromboli.simulator.traced.jobs import NAMESPACE, ActiveJob
from stromboli.simulator.traced.nodes import GPU, GPU_MODEL
from stromboli.traces.trace import TraceJob
from stromboli.workloads.groups import GROUP_NAME
from stromboli.workloads.queues import DEFAULT_QUEUE
from stromboli.workloads.users import USER

BY_QUEUE, BY_USER, BY_GROUP, ONE_QUEUE = QUEUES = ("queue", "user", "group", "one")
_INVALID = re.compile(r"[^a-z0-9]+")
_MAX_NAME = 50


@lru_cache(maxsize=4096)
def object_name(text: str) -> str:
    """Return a valid name of an object; empty if nothing is left."""
    return _INVALID.sub("-", text.lower()).strip("-")[:_MAX_NAME].strip("-")


def queue_of(job: TraceJob, by: str) -> str:
    """Return the queue of a job by a property of it, or the one queue of all."""
    return (by != ONE_QUEUE and object_name(getattr(job, by))) or DEFAULT_QUEUE


def queue_object(name: str) -> kube.KubeObject:
    return kube.KubeQueue(metadata=ObjectMeta(name=name, uid=f"queue/{name}"), spec=kube.QueueSpec(weight=1))


class TracedJobObjects:
    """Makes objects. Jobs of one shape share the containers of their pods."""

    def __init__(self, scheduler_name: str) -> None:
        self._scheduler_name = scheduler_name
        self._specs: dict[tuple[object, ...], kube.PodSpec] = {}

    def group(self, active: ActiveJob) -> kube.PodGroup:
        name, number, job = active.name, active.number, active.job
        return kube.PodGroup(
            metadata=ObjectMeta(name=name, namespace=NAMESPACE, uid=f"g{number}", labels=labels_of(job)),
            spec=kube.PodGroupSpec(min_member=job.pods, queue=active.queue),
        )

    def pods(self, active: ActiveJob) -> list[kube.Pod]:
        """Return the pods of the present attempt. They run until they are finished by the simulation."""
        notes, spec, job = {GROUP_NAME: active.name}, self._spec(active.job), active.job
        if active.remaining_estimate is not None:
            notes[RUN_TIME] = f"{active.remaining_estimate:.3f}s"
        if active.interval < inf:
            notes[CHECKPOINT_INTERVAL] = f"{active.interval:.3f}s"
        if job.gpu % 1000:
            notes[FRACTION] = f"{job.gpu / 1000:g}"
        labels = labels_of(job)
        return [
            kube.Pod(metadata=ObjectMeta(pod_name(active, index), NAMESPACE, pod_uid(active, index), labels, notes),
                     spec=spec)
            for index in range(job.pods)
        ]  # fmt: skip

    def _spec(self, job: TraceJob) -> kube.PodSpec:
        shape = (job.cpu, job.memory, job.gpu, job.gpu_models)
        spec = self._specs.get(shape)
        if spec is None:
            spec = self._specs[shape] = _pod_spec(job, self._scheduler_name)
        return spec


def pod_name(active: ActiveJob, index: int) -> str:
    return f"job-{active.number}-{index}"


def pod_uid(active: ActiveJob, index: int, attempt: int | None = None) -> str:
    """Return the uid of a pod, by default of the present attempt."""
    return f"p{active.number}.{active.attempt if attempt is None else attempt}.{index}"


def labels_of(job: TraceJob) -> dict[str, str] | None:
    return {USER: object_name(job.user)} if job.user else None


def _pod_spec(job: TraceJob, scheduler_name: str) -> kube.PodSpec:
    requests: Resources = {}
    if job.cpu:
        requests["cpu"] = f"{job.cpu}m"
    if job.memory:
        requests["memory"] = str(job.memory)
    resources = kube.ResourceRequirements(requests=requests)
    if job.gpu and not job.gpu % 1000:
        requests[GPU] = str(job.gpu // 1000)
        resources.limits = {GPU: requests[GPU]}
    affinity = None
    if job.gpu_models:
        models = kube.KubeRequirement(key=GPU_MODEL, operator="In", values=list(job.gpu_models))
        term = kube.NodeSelectorTerm(match_expressions=[models])
        required = kube.NodeSelector(node_selector_terms=[term])
        affinity = kube.Affinity(node_affinity=kube.KubeNodeAffinity(required=required))
    return kube.PodSpec(
        scheduler_name=scheduler_name, containers=[kube.Container(name="main", resources=resources)], affinity=affinity
    )
