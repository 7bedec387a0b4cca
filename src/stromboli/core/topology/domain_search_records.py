"""Records of domain searches: which domains were considered, the outcome of each, and the chosen one.

A search needs most of this anyway, so recording is nearly free. Messages are built, and records kept beyond the search,
only on demand.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from stromboli.core.config.plugin import Domain
from stromboli.core.model.jobs.job import NetworkTopology
from stromboli.core.model.nodes.amounts import Amount
from stromboli.core.model.topology.hypernodes import HyperNodeTree
from stromboli.core.session.refusals import TaskRefusal

WHOLE_CLUSTER = "the whole cluster"


class DomainVerdict(StrEnum):
    """The outcome for a domain."""

    CHOSEN = "Chosen"
    WORSE = "WorseScore"
    FAILED = "PlacementFailed"
    NO_CAPACITY = "InsufficientCapacity"
    LOWER_CHOSEN = "LowerTierChosen"
    NOT_ALLOWED = "TierNotAllowed"
    SKIPPED = "Skipped"


@dataclass(slots=True)
class DomainEvaluation:
    """The evaluation of a group of domains of one tier."""

    domains: Sequence[Domain]
    #: Maximum number of the tasks in each domain of the tree, by index; None outside a tree.
    capacity: Amount | None
    #: Domains that may hold as many as are needed.
    fitting: Sequence[Domain]
    #: Whether more tasks wait than are needed, so that the number of tasks in a domain matters.
    is_elastic: bool = False
    #: Scores by name, of the last comparison.
    scores: Mapping[str, float] = field(default_factory=dict)
    #: Failures by name of the tried domain: a task that found no node, or a sub-job that found no domain.
    failed: dict[str, TaskRefusal | DomainSearchRecord | None] = field(default_factory=dict)

    def holds(self, place: int | None) -> int | None:
        return None if self.capacity is None or place is None else int(self.capacity[place])


@dataclass(slots=True)
class DomainSearchRecord:
    """One search, for a job or for a sub-job."""

    tree: HyperNodeTree
    #: The sub-job; empty for the job itself.
    sub_job: str
    topology: NetworkTopology | None
    #: How many tasks must be placed, and whether other tasks of the sub-job are placed already.
    needed: int
    has_sub_jobs: bool
    #: The domain to search in.
    root: Domain
    #: Whether domains with less capacity than the job's minResources were skipped.
    has_minimum: bool = False
    looks: list[DomainEvaluation] = field(default_factory=list)
    taken: Domain | None = None
    score: float = 0.0
    #: How many tasks were placed.
    placed: int = 0
    #: Domains, by name, that come after those of their tier in which the nodes of this shard are sufficient.
    deprioritized: set[str] = field(default_factory=set)
    #: Searches of its sub-jobs, in the chosen domain.
    parts: list[DomainSearchRecord] = field(default_factory=list)

    @property
    def supports_domains(self) -> bool:
        """Whether the search was about domains of a tree."""
        return not any(domain.place is None for look in self.looks for domain in look.domains)

    def take(self, domain: Domain, score: float, parts: Iterable[DomainSearchRecord] = ()) -> None:
        self.taken, self.score, self.parts = domain, score, list(parts)


class DomainSearchRecords:
    """The searches of a job, or of its sub-jobs.

    Searches of single tasks that join others in their domain are counted; of failed searches only the last one is kept.
    """

    def __init__(self) -> None:
        self._known: dict[tuple[str, str], DomainSearchRecord] = {}

    def __iter__(self) -> Iterator[DomainSearchRecord]:
        return iter(self._known.values())

    def add(self, account: DomainSearchRecord) -> None:
        key = account.sub_job, account.taken.name if account.taken else ""
        same = self._known.get(key)
        if same is None or account.taken is None:
            self._known[key] = account
        else:
            same.placed += account.placed


@dataclass(frozen=True, slots=True)
class DomainOutcome:
    """The outcome for one domain, with its explanation."""

    domain: str
    tier: int
    verdict: DomainVerdict
    why: str
    #: Maximum number of the tasks in it, if evaluated.
    holds: int | None = None
    score: float | None = None


def highest_allowed(account: DomainSearchRecord) -> int | None:
    """Return the highest tier that a hard constraint allows; None if unspecified."""
    topology, tree = account.topology, account.tree
    if topology is None or not topology.hard:
        return None
    return tree.tier_names.get(topology.highest_tier_name) if topology.highest_tier_name else topology.highest_tier


def outcomes(account: DomainSearchRecord) -> Iterator[DomainOutcome]:
    """Yield the outcomes of all domains inside the searched one, low tiers first."""
    tree, looks = account.tree, {domain.name: look for look in account.looks for domain in look.domains}
    root = tree.top if account.root.place is None else account.root.place
    for place in tree.within(root):
        if not len(tree.rows(place)):
            continue
        look = looks.get(tree.name(place))
        if look is not None:
            yield _looked_at(account, place, look)
        elif _asks_for_domains(account):
            yield _not_looked_at(account, place)


def _asks_for_domains(account: DomainSearchRecord) -> bool:
    """A hard constraint without a tier restricts nothing."""
    return account.topology is not None and (not account.topology.hard or highest_allowed(account) is not None)


def _looked_at(account: DomainSearchRecord, place: int, look: DomainEvaluation) -> DomainOutcome:
    tree = account.tree
    name, tier, holds = tree.name(place), tree.tiers[place], look.holds(place)
    taken, score = account.taken, look.scores.get(name)
    if taken is not None and taken.name == name:
        return DomainOutcome(
            name, tier, DomainVerdict.CHOSEN, f"chosen, score {account.score:.1f}", holds, account.score
        )
    if holds is not None and holds < account.needed:
        most = f"at most {holds}" if holds else "none"
        return DomainOutcome(name, tier, DomainVerdict.NO_CAPACITY, f"holds {most} of {_pods(account.needed)}", holds)
    if name in look.failed:
        return DomainOutcome(
            name, tier, DomainVerdict.FAILED, f"tried without success{_failure(look.failed[name])}", holds
        )
    return DomainOutcome(name, tier, DomainVerdict.WORSE, _worse(account, look, score, holds), holds, score)


def _worse(account: DomainSearchRecord, look: DomainEvaluation, score: float | None, holds: int | None) -> str:
    if account.taken is None or score is None:
        return "not compared"
    if score == account.score and (holds or 0) < (look.holds(account.taken.place) or 0):
        return f"score {score:.1f}, the same as {account.taken.name}, which holds more of the pods"
    if score == account.score:
        return f"score {score:.1f}, the same as {account.taken.name}, which comes first by name"
    return f"score {score:.1f}, less than {account.score:.1f} of {account.taken.name}"


def _not_looked_at(account: DomainSearchRecord, place: int) -> DomainOutcome:
    tree, allowed = account.tree, highest_allowed(account)
    name, tier = tree.name(place), tree.tiers[place]
    if allowed is not None and tier > allowed:
        return DomainOutcome(name, tier, DomainVerdict.NOT_ALLOWED, f"tier {tier} is not allowed")
    if account.topology is not None and tier < tree.tier_names.get(account.topology.first_tier_name, 0):
        return DomainOutcome(
            name, tier, DomainVerdict.SKIPPED, f"closer than {account.topology.first_tier_name}, which is preferred"
        )
    if account.taken is not None and tier > account.taken.tier:
        return DomainOutcome(name, tier, DomainVerdict.LOWER_CHOSEN, "a closer one was found")
    if account.taken is not None and name in account.deprioritized:
        return DomainOutcome(name, tier, DomainVerdict.SKIPPED, "it needs nodes of other shards")
    return DomainOutcome(name, tier, DomainVerdict.SKIPPED, _left_out(account))


def _left_out(account: DomainSearchRecord) -> str:
    if account.taken is not None and account.taken.kept:
        return f"the job keeps its previous domain {account.taken.name}"
    if account.has_sub_jobs:
        return "the job has pods elsewhere"
    return "its total is below the job's minResources" if account.has_minimum else "not offered by any plugin"


def _failure(failure: TaskRefusal | DomainSearchRecord | None) -> str:
    if failure is None:
        return ""
    if isinstance(failure, TaskRefusal):
        return f": {failure.task}: {failure.nodes or failure.reason.detail}"
    return f": {failure_description(failure)}"


# -- in one sentence ----------------------------------------------------------------------------------------------


def failure_description(account: DomainSearchRecord) -> str:
    """Describe why no domain fits, with counts."""
    tree, whose = account.tree, _whose(account)
    parts = [words for look in account.looks for words in _look_in_words(look, tree)]
    allowed = highest_allowed(account)
    if not parts:
        parts.append(_none_on_offer(account))
    if allowed is not None and allowed < tree.tiers[tree.top - 1]:
        parts.append(f"tiers above {allowed} are not allowed")
    together = "1 more pod" if account.has_sub_jobs and account.needed == 1 else f"the {_pods(account.needed)} it needs"
    return f"{whose}no domain fits {together}: {'; '.join(parts)}"


def _none_on_offer(account: DomainSearchRecord) -> str:
    if not account.tree:
        return "no node is in any domain"
    if account.has_sub_jobs:
        return "its pods are further apart already"
    if (allowed := highest_allowed(account)) is not None and allowed < account.tree.tiers[0]:
        return f"the lowest tier is {account.tree.tiers[0]}"
    return "each total is below the job's minResources" if account.has_minimum else "no domain is offered by any plugin"


def _look_in_words(look: DomainEvaluation, tree: HyperNodeTree) -> Iterator[str]:
    tried = [domain for domain in look.domains if domain.name in look.failed]
    small = [domain for domain in look.domains if domain.name not in look.failed]
    if small:
        most = max(look.holds(domain.place) or 0 for domain in small)
        verb = "holds" if len(small) == 1 else "hold"
        yield f"{_domains(small, tree)} {verb} {f'{most} of them at most' if most else 'none'}"
    if tried:
        why = next((each for each in look.failed.values() if isinstance(each, DomainSearchRecord)), None)
        verb = "was" if len(tried) == 1 else "were"
        yield f"{_domains(tried, tree)} {verb} tried without success{_failure(why)}"


def where(account: DomainSearchRecord) -> str:
    """Describe where a search ended, and how far it had to widen."""
    if account.taken is None:
        return failure_description(account)
    tree = account.tree
    place = tree.top if account.taken.place is None else account.taken.place
    name = WHOLE_CLUSTER if place == tree.top else f"{account.taken.name} (tier {account.taken.tier})"
    found = f"{_whose(account)}{_pods(account.placed)} placed in {name}, score {account.score:.1f}"
    if account.taken.kept:
        found += ", its previous or nominated domain"
    passed = [look for look in account.looks if look.domains and look.domains[0].tier < account.taken.tier]
    yielded = "; ".join(_yielded(account, look) for look in passed)
    return f"{found}; {yielded}" if yielded else found


def _yielded(account: DomainSearchRecord, look: DomainEvaluation) -> str:
    kind = _kind(look.domains[0].tier, account.tree)
    return f"no {kind} fits" if look.failed else f"no {kind} had capacity for {_pods(account.needed)}"


def _whose(account: DomainSearchRecord) -> str:
    return f"sub-group {account.sub_job}: " if account.sub_job else ""


def _kind(tier: int, tree: HyperNodeTree) -> str:
    """Return the tier name such as `rack`, or `domain of tier 1` without a name."""
    return next((name for name, number in tree.tier_names.items() if number == tier), f"domain of tier {tier}")


def _domains(domains: Sequence[Domain], tree: HyperNodeTree) -> str:
    first = domains[0]
    if len(domains) > 1:
        return f"the {len(domains)} domains of tier {first.tier}"
    return WHOLE_CLUSTER if first.place in (None, tree.top) else f"{first.name} (tier {first.tier})"


def _pods(number: int) -> str:
    return f"{number} pod" if number == 1 else f"{number} pods"
