"""The job that a name means: that of a PodGroup, of its owner, or of a pod."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from stromboli.core.model.jobs.job import Job
    from stromboli.kube import PodGroup
    from stromboli.planner.plan import SchedulingPlan
    from stromboli.planner.trials import OpenCluster


class UnknownJob(LookupError):
    """No job, or several jobs, have a name; the message proposes others."""


@dataclass(frozen=True, slots=True)
class JobNames:
    """What the jobs of a cluster are called."""

    jobs: Mapping[str, Job]
    groups: Mapping[str, PodGroup]
    #: The jobs of pods that no longer exist.
    lost_pods: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of_plan(cls, plan: SchedulingPlan) -> JobNames:
        jobs = {key: plan.session.jobs[key] for key in plan.groups}
        return cls(jobs, plan.pod_groups, {record.pod: record.job for record in plan.records})

    @classmethod
    def of_cluster(cls, cluster: OpenCluster) -> JobNames:
        return cls(cluster.session.jobs, cluster.pod_groups)

    def names_of(self, key: str) -> set[str]:
        """Return the names of a job: the key of a native group has a prefix, and a generated group has an owner."""
        from stromboli.workloads.groups import title_of

        spec, group = self.jobs[key].spec, self.groups.get(key)
        names = {spec.name, title_of(group) if group is not None else spec.name}
        return names | {f"{spec.namespace}/{name}" for name in names}

    def jobs_of_pods(self) -> dict[str, str]:
        found = {task.key: key for key, job in self.jobs.items() for task in job.tasks.values()}
        return {**self.lost_pods, **found}


def find_job(known: JobNames, name: str, namespace: str = "") -> str:
    """Return the key of a job by its key, its name, its owner's name, or that of a pod of it.

    A name without a namespace means a job in `namespace`, unless that is empty. Raises UnknownJob.
    """
    if name in known.jobs:
        return name
    pods = known.jobs_of_pods()
    if name in pods:
        return pods[name]
    matches = {key for key in known.jobs if name in known.names_of(key)}
    matches = matches or {job for pod, job in pods.items() if pod.partition("/")[2] == name}
    if namespace:
        matches = {key for key in matches if key.partition("/")[0] == namespace}
    if len(matches) == 1:
        return matches.pop()
    if matches:
        raise UnknownJob(f"several jobs are called {name}: {', '.join(sorted(matches))}; add the namespace")
    place = f" in namespace {namespace}" if namespace else ""
    raise UnknownJob(f"no job is called {name}{place}{_remedy(name, list(known.jobs))}")


def _remedy(name: str, known: list[str]) -> str:
    if not known:
        return ": there is no PodGroup and no pod to schedule"
    names = {key.partition("/")[2]: key for key in known}
    near = get_close_matches(name, known, n=3) or [names[n] for n in get_close_matches(name, names, n=3)]
    if near:
        return f"; did you mean {' or '.join(near)}?"
    more = f" and {len(known) - 5} more" if len(known) > 5 else ""
    return f"; there are {', '.join(known[:5])}{more}"
