"""The network-topology-aware plugin: domains for jobs with a network topology, and scores of nodes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from stromboli.core.config.arguments import Argument
from stromboli.core.config.plugin import Domain, Plugin
from stromboli.core.model.jobs.job import Job, SubJob
from stromboli.core.model.ledger.ledger import Ledger
from stromboli.core.model.nodes.amounts import Rows
from stromboli.core.model.nodes.table import Mask, Vector
from stromboli.core.model.reasons import Code, Reason
from stromboli.core.model.tasks.task import Task
from stromboli.core.model.tasks.task_class import TaskClass
from stromboli.core.model.topology.hypernodes import HyperNodeTree
from stromboli.core.plugins.network_topology_aware.class_scorer import ClassScorer
from stromboli.core.plugins.network_topology_aware.constraints import TopologyConstraints, UnknownTier
from stromboli.core.plugins.network_topology_aware.gradients import Gradients
from stromboli.core.plugins.network_topology_aware.packing import (
    DomainAmounts,
    DomainPacking,
    PackingArguments,
    sum_of,
    weights_of,
)
from stromboli.core.plugins.network_topology_aware.previous_domains import PreviousDomainFirst
from stromboli.core.plugins.network_topology_aware.site_packing import SitePacking, SitePackings, SitePackingScorer
from stromboli.core.search.node_rules import Locality, NodeScorer
from stromboli.core.session.session import Session
from stromboli.core.topology.domain_group import DomainGroup, DomainScores
from stromboli.core.topology.previous_domains import enclosing_domain

if TYPE_CHECKING:
    from stromboli.core.session.session import Session

#: The score of each node for a task, between 0 and 1; None for no score.
DistanceScore = Callable[[Task], Vector | None]


class DomainDistance(ClassScorer):
    """Scores nodes by an opinion on the current task."""

    locality = Locality.CLUSTER

    def __init__(self, top: float, opinion: DistanceScore) -> None:
        self._top = top
        self._opinion = opinion

    def scores(self, task_class: TaskClass, rows: Rows, ledger: Ledger, candidates: Mask | None) -> Vector:
        task = self.current_task
        opinion = self._opinion(task) if task is not None else None
        return np.zeros(len(rows)) if opinion is None else opinion * self._top


def near_previous_domain(tree: HyperNodeTree, own_domain: int, members: Vector, candidates: int) -> Vector:
    """Return 1 for nodes in the domain of the job, less with the tier of the smallest domain around both. The best
    nodes get more for job members in their closest domain.
    """
    lowest, highest = min(tree.tiers), tree.tiers[tree.top]
    by_domain = np.ones(tree.top + 1)
    for place in range(tree.top + 1):
        if place != own_domain and highest > lowest:
            by_domain[place] = (highest - tree.tiers[tree.common((place, own_domain))]) / (highest - lowest)
    scores: Vector = by_domain[tree.lowest]
    best = scores == scores.max(initial=0.0)
    return np.where(best, scores + members[tree.lowest] / max(candidates, 1), scores)


class Network:
    """One tree of domains, with the state of a cycle."""

    def __init__(self, tree: HyperNodeTree, session: Session, weights: Mapping[str, int], name: str = "") -> None:
        self.tree = tree
        self.constraints = TopologyConstraints(tree, name)
        amounts = DomainAmounts(tree, session.ledger)
        self.gradients = Gradients(tree, amounts)
        self.staying = PreviousDomainFirst(tree, session.ledger, self.gradients, session.nodes.index)
        self.packing = DomainPacking(tree, session.ledger, session.axis, weights, amounts)


class Networks:
    """The networks by topology name, each created when a job first uses it."""

    def __init__(self, session: Session, weights: Mapping[str, int]) -> None:
        self._session = session
        self._weights = weights
        self._topologies = session.snapshot.topologies
        self.of_hyper_nodes = Network(session.snapshot.hyper_nodes, session, weights)
        self._by_name: dict[str, Network] = {"": self.of_hyper_nodes}

    def __bool__(self) -> bool:
        """Report whether any domain is known beyond the cluster itself."""
        return bool(self.of_hyper_nodes.tree) or any(self._topologies.values())

    def of_job(self, job: Job) -> Network:
        """Return the network that the constraints of a job refer to. Raises UnknownTier."""
        name = job.spec.network
        known = self._by_name.get(name)
        if known is None:
            known = self._by_name[name] = Network(self._tree(name), self._session, self._weights, name)
        return known

    def _tree(self, name: str) -> HyperNodeTree:
        tree = self._topologies.get(name)
        if tree is None:
            known = ", ".join(sorted(self._topologies)) or "none"
            raise UnknownTier(f"there is no valid Topology {name!r}; there are: {known}")
        return tree


_HIGHEST = 100.0


class NetworkTopologyArguments(PackingArguments):
    weight: int = Argument("weight", 1, "Weight of the scores of domains and nodes; 0 switches them off.", minimum=0)
    normal_pods: bool = Argument("hypernode.binpack.normal-pod.enable", True, "Also pack pods without a topology.")
    normal_pods_fading: float = Argument(
        "hypernode.binpack.normal-pod.fading", 0.8, "The factor of a tier for them, after the one below it.", minimum=0
    )
    max_domains: int = Argument(
        "hypernode.gradient.evict.max-hypernodes",
        8,
        "Domains to look at for evictions.",
        ignored="the argument maxDomains of the actions that evict sets it",
    )


class NetworkTopologyAware(Plugin):
    name = "network-topology-aware"
    arguments = NetworkTopologyArguments()

    def __init__(self, arguments: NetworkTopologyArguments, hierarchy: bool = False) -> None:
        super().__init__(arguments, hierarchy)
        self._top = _HIGHEST * arguments.weight
        self._weights = weights_of(arguments)
        self._near = DomainDistance(self._top, self._score_near_members)
        self._normal = SitePackingScorer(self._is_packed_by_site, self._pack_by_site)
        wanted = [self._near, *([self._normal] if arguments.normal_pods else [])]
        self._scorers: Sequence[NodeScorer] = wanted if self._top else ()

    def open(self, session: Session) -> None:
        self._session = session
        self._networks = Networks(session, self._weights)
        tiers = self._networks.of_hyper_nodes.tree.sites.tiers
        weights = [self.arguments.normal_pods_fading ** (tier - 1) for tier in tiers]
        #: By tier, for jobs without a topology; empty if they get no score.
        self._tier_weights: Sequence[float] = weights if any(weights) else ()
        #: Made when the first of them is placed.
        self._site_packings: SitePackings | None = None
        self._own_domains: dict[str, int | None] = {}
        near, normal = self._classes() if self._networks and self._scorers else (set(), set())
        self._near.open(session, near)
        self._normal.open(session, normal if self._networks.of_hyper_nodes.tree else set())

    def _classes(self) -> tuple[set[int], set[int]]:
        """Return the classes of tasks that should be near their job, and of those without a topology constraint."""
        near: set[int] = set()
        normal: set[int] = set()
        for key in self._session.snapshot.waiting:
            job = self._session.jobs[key]
            constraints = job.spec.topology or any(policy.topology for policy in job.spec.policies)
            if not job.pending_count or (constraints and not job.ready_count):
                continue
            classes = near if constraints else normal
            classes.update(task_class.number for task_class in job.classes)
        return near, normal

    def node_scorers(self) -> Sequence[NodeScorer]:
        return self._scorers

    def job_valid(self, job: Job) -> Reason | None:
        try:
            self._networks.of_job(job).constraints.check(job)
        except UnknownTier as error:
            return Reason(Code.UNKNOWN_TIER, str(error))
        return None

    # -- domains ------------------------------------------------------------------------------------------------

    def hyper_node_gradient_for_job(self, job: Job, root: Domain) -> Sequence[Sequence[Domain]] | None:
        network = self._networks.of_job(job)
        reach = network.constraints.of_job(job)
        if reach is None:
            return None
        tasks, last = job.tasks.values(), job.spec.previous_domains.get(job.key, "")
        return network.staying.groups(root, reach, tasks, last, job.spec.min_resources)

    def hyper_node_gradient_for_sub_job(self, sub_job: SubJob, root: Domain) -> Sequence[Sequence[Domain]] | None:
        job = self._session.jobs[sub_job.job]
        network = self._networks.of_job(job)
        reach = network.constraints.of_sub_job(job, sub_job)
        if reach is None:
            return None
        return network.staying.groups(root, reach, sub_job.tasks, job.spec.previous_domains.get(sub_job.key, ""))

    def hyper_node_order(self, sub_job: Job | SubJob, domains: Sequence[Domain]) -> Mapping[str, float]:
        """Prefer the domains that are fullest with the waiting tasks; among these, those with most placed tasks."""
        job = sub_job if isinstance(sub_job, Job) else self._session.jobs[sub_job.job]
        network = self._networks.of_job(job)
        tasks = list(sub_job.tasks.values()) if isinstance(sub_job, Job) else sub_job.tasks
        waiting = [task for task in tasks if self._session.ledger.is_pending(task)]
        scores = network.packing.scores(sum_of(waiting))
        places = domains.places if isinstance(domains, DomainGroup) else network.gradients.places_of(domains)
        points = scores[places]
        if len(waiting) < len(tasks):
            members = self._members_on_nodes(tasks)
            best = points.max(initial=0.0)
            for number, place in enumerate(places.tolist()):
                if points[number] == best:
                    points[number] += float(members[network.tree.rows(place)].sum()) / len(tasks)
        return DomainScores(domains, points * self._top)

    def _members_on_nodes(self, tasks: Sequence[Task]) -> Vector:
        """Return how many of these tasks are on each node."""
        rows = [row for task in tasks if (row := self._session.ledger.row_of(task)) >= 0]
        return np.bincount(rows, minlength=len(self._session.nodes)).astype(np.float64)

    # -- nodes --------------------------------------------------------------------------------------------------

    def _score_near_members(self, task: Task) -> Vector | None:
        """Score nodes by their distance to the domain of the job at the start of the cycle."""
        job = self._session.jobs[task.job]
        network = self._networks.of_job(job)
        if job.key not in self._own_domains:
            self._own_domains[job.key] = enclosing_domain(network.tree, self._session.ledger, job.tasks.values())
        own_domain = self._own_domains[job.key]
        if own_domain is None or not (job.spec.topology or any(policy.topology for policy in job.spec.policies)):
            return None
        members = job.sub_jobs[task.sub_job].tasks if task.sub_job in job.sub_jobs else list(job.tasks.values())
        by_domain = np.zeros(network.tree.top + 1)
        np.add.at(by_domain, network.tree.lowest, self._members_on_nodes(members))
        return near_previous_domain(network.tree, own_domain, by_domain, len(members))

    def _is_packed_by_site(self, task: Task) -> bool:
        spec = self._session.jobs[task.job].spec
        return bool(self._tier_weights) and not (spec.topology or spec.policies)

    def _pack_by_site(self, task_class: TaskClass) -> SitePacking:
        """Score sites for jobs without a topology: prefer fuller domains; lower tiers weigh more."""
        if self._site_packings is None:
            network = self._networks.of_hyper_nodes
            self._site_packings = SitePackings(
                network.tree, self._session.ledger, network.packing.weights, self._tier_weights, self._top
            )
        return self._site_packings.of(task_class.request)
