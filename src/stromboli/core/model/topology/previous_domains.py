"""Previous domains: the domains in which jobs and sub-jobs are, or were when one of their tasks last had a node.

The previous domain of a job without nodes is kept as long as the domain exists and its tier is allowed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from stromboli.core.model.jobs.job import Job, NetworkTopology
from stromboli.core.model.tasks.task import Task
from stromboli.core.model.topology.hypernodes import HyperNodeTree


class TopologyConstraint(NamedTuple):
    """A job or a sub-job with a network topology constraint."""

    key: str
    topology: NetworkTopology
    tasks: Iterable[Task]


def topology_constraints(job: Job) -> Iterator[TopologyConstraint]:
    if job.spec.topology is not None:
        yield TopologyConstraint(job.key, job.spec.topology, job.tasks.values())
    for key, sub_job in job.sub_jobs.items():
        if sub_job.policy is not None and sub_job.policy.topology is not None:
            yield TopologyConstraint(key, sub_job.policy.topology, sub_job.tasks)


def why_lost(tree: HyperNodeTree, topology: NetworkTopology | None, name: str) -> str:
    """Describe why a domain can no longer be the previous domain; empty if it can."""
    place = tree.index.get(name)
    if place is None:
        return "no longer exists"
    if place == tree.top:
        return "is the whole cluster"
    if topology is not None and topology.hard:
        allowed = tree.tier_names.get(topology.highest_tier_name, topology.highest_tier)
        if allowed is not None and tree.tiers[place] > allowed:
            return f"is of tier {tree.tiers[place]}, and tiers above {allowed} are no longer allowed"
    return ""


def lost_domains(tree: HyperNodeTree, job: Job) -> dict[str, str]:
    """Return the previous domains of a job and its sub-jobs that are no longer valid, with the reason. A sub-job
    without tasks has no constraint to violate.
    """
    constraints = {constraint.key: constraint.topology for constraint in topology_constraints(job)}
    found = ((name, why_lost(tree, constraints.get(key), name)) for key, name in job.spec.previous_domains.items())
    return {name: why for name, why in found if why}
