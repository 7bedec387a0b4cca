"""The maximum distance between the tasks of a job or a sub-job, in tiers of a tree."""

from __future__ import annotations

from typing import NamedTuple

from stromboli.core.model.jobs.job import Job, NetworkTopology, SubJob
from stromboli.core.model.topology.hypernodes import HyperNodeTree


class UnknownTier(ValueError):
    """A constraint names a tier that no domain has."""


class Reach(NamedTuple):
    """The tiers of the domains to search: from the first one that is tried to the highest allowed one."""

    first: int
    highest: int


class TopologyConstraints:
    """Interprets the network topology of jobs; None where there is none."""

    def __init__(self, tree: HyperNodeTree, network: str = "") -> None:
        """The tree is that of HyperNodes, or of the Topology that is named."""
        self._tree = tree
        self._network = network

    def of_job(self, job: Job) -> Reach | None:
        """Return the tiers that a job may span; a soft constraint allows the whole cluster. Raises UnknownTier."""
        return self._reach(job.spec.topology, self._tree.tiers[self._tree.top])

    def of_sub_job(self, job: Job, sub_job: SubJob) -> Reach | None:
        """Return the tiers that a sub-job may span; a soft constraint allows what its job allows."""
        topology = sub_job.policy.topology if sub_job.policy else None
        if topology is None:
            return None
        of_job = self.of_job(job)
        return self._reach(topology, self._tree.tiers[self._tree.top] if of_job is None else of_job.highest)

    def _reach(self, topology: NetworkTopology | None, widest: int) -> Reach | None:
        if topology is None:
            return None
        first = self._tier(topology.first_tier_name) if topology.first_tier_name else 0
        if not topology.hard:
            return Reach(first, widest)
        highest = self._tier(topology.highest_tier_name) if topology.highest_tier_name else topology.highest_tier
        if highest is None:
            return None
        if first > highest:
            raise UnknownTier(
                f"the preferred level {topology.first_tier_name!r} is wider than the required level "
                f"{topology.highest_tier_name!r} in Topology {self._network!r}; prefer one below it"
            )
        return Reach(first, highest)

    def _tier(self, name: str) -> int:
        tier = self._tree.tier_names.get(name)
        if tier is not None:
            return tier
        if self._network:
            levels = ", ".join(reversed(list(self._tree.tier_names)))
            raise UnknownTier(f"Topology {self._network!r} has no level {name!r}; there are: {levels}")
        known = ", ".join(sorted(self._tree.tier_names)) or "none"
        raise UnknownTier(f"no HyperNode has the tier name {name!r}; there are: {known}")

    def check(self, job: Job) -> None:
        """Raise UnknownTier if a tier name of a job is invalid."""
        self.of_job(job)
        for sub_job in job.sub_jobs.values():
            self.of_sub_job(job, sub_job)
