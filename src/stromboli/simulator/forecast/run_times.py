"""Estimates for the run times of pods: learned from earlier runs, declared, limited, or unknown."""

from __future__ import annotations

from collections.abc import Iterable
from math import inf

from stromboli import kube
from stromboli.cluster.objects.pods.run_times import declared_run_time_of, limit_of
from stromboli.cluster.objects.pods.templates import template_of
from stromboli.core.model.values.run_time_estimates import (
    SERVICE_RUN_TIME,
    UNKNOWN_RUN_TIME,
    RunTimeEstimate,
    declared_run_time,
    learned_run_time,
    limited_run_time,
)
from stromboli.history.run_times import LearnedRunTimes
from stromboli.workloads.groups import controlling_owner, job_key_of, title_of

#: Owners whose pods do not end by themselves.
_SERVICES = ("ReplicaSet", "StatefulSet", "DaemonSet", "Deployment", "ReplicationController")


class RunTimes:
    """Estimates by pod. Pods of one template in one job share theirs."""

    def __init__(self, objects: Iterable[kube.KubeObject], learned: LearnedRunTimes | None = None) -> None:
        self._groups = {entry.key: entry for entry in objects if isinstance(entry, kube.PodGroup)}
        self._learned = learned or LearnedRunTimes()
        self._known: dict[tuple[str, str, str | None, int | None], RunTimeEstimate] = {}

    def estimate(self, pod: kube.Pod) -> tuple[str, RunTimeEstimate]:
        """Return a name that pods with the same run share, and their estimate."""
        template, job = template_of(pod), job_key_of(pod) or pod.key
        declared = declared_run_time_of(pod)
        identity = (job, template, None if declared == inf else str(declared), pod.spec.active_deadline_seconds)
        known = self._known.get(identity)
        if known is None:
            known = self._known[identity] = self._estimate(pod, job, template, declared)
        return f"{job}/{template}", known

    def _estimate(self, pod: kube.Pod, job: str, template: str, declared: float) -> RunTimeEstimate:
        limit, owner = limit_of(pod), controlling_owner(pod)
        kind, name = self._owner_of(pod, job)
        runs = self._learned.runs_of(pod.metadata.namespace, kind, name, template)
        if runs:
            return learned_run_time(runs, limit)
        if declared < inf:
            return declared_run_time(declared, limit)
        if limit < inf:
            return limited_run_time(limit)
        return SERVICE_RUN_TIME if owner is not None and owner.kind in _SERVICES else UNKNOWN_RUN_TIME

    def _owner_of(self, pod: kube.Pod, job: str) -> tuple[str, str]:
        """Return kind and name of the job's owner, as the history records them."""
        group = self._groups.get(job)
        if group is None:
            owner = controlling_owner(pod)
            return (owner.kind or "", owner.name or "") if owner else ("Pod", pod.metadata.name)
        owners = group.metadata.owner_references or ()
        first = next((owner for owner in owners if owner.controller), owners[0] if owners else None)
        return (first.kind or "" if first else "", title_of(group))
