"""How close together a job or a sub-job must sit, in tiers of the tree at hand."""

from __future__ import annotations

from stromboli.model.hypernodes import HyperNodeTree
from stromboli.model.job import Job, NetworkTopology, SubJob


class UnknownTier(ValueError):
    """A tier is named that no domain has."""


class Wishes:
    """What topologies mean: the highest tier that one domain for all may have; None when nothing is asked for."""

    def __init__(self, tree: HyperNodeTree) -> None:
        self._tree = tree

    def of_job(self, job: Job) -> int | None:
        """A soft wish allows the whole cluster, tier by tier. Raises UnknownTier."""
        topology = job.spec.topology
        if topology is None:
            return None
        return self._allowed(topology) if topology.hard else self._tree.tiers[self._tree.top]

    def of_sub_job(self, job: Job, sub_job: SubJob) -> int | None:
        """A soft wish allows what the job allows."""
        topology = sub_job.policy.topology if sub_job.policy else None
        if topology is None:
            return None
        if topology.hard:
            return self._allowed(topology)
        of_job = self.of_job(job)
        return self._tree.tiers[self._tree.top] if of_job is None else of_job

    def _allowed(self, topology: NetworkTopology) -> int | None:
        if not topology.highest_tier_name:
            return topology.highest_tier
        tier = self._tree.tier_names.get(topology.highest_tier_name)
        if tier is None:
            known = ", ".join(sorted(self._tree.tier_names)) or "none"
            raise UnknownTier(f"no HyperNode has the tier name {topology.highest_tier_name!r}; there are: {known}")
        return tier

    def unknown_tier(self, job: Job) -> str:
        """What is wrong with the names of tiers in a job; empty when nothing is."""
        try:
            self.of_job(job)
            for sub_job in job.sub_jobs.values():
                self.of_sub_job(job, sub_job)
        except UnknownTier as error:
            return str(error)
        return ""
