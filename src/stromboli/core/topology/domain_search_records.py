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
    evaluations: list[DomainEvaluation] = field(default_factory=list)
    chosen: Domain | None = None
    score: float = 0.0
    #: The number of placed tasks.
    placed: int = 0
    #: Domains, by name, that come after those of their tier in which the nodes of this shard are sufficient.
    deprioritized: set[str] = field(default_factory=set)
    #: Searches of its sub-jobs, in the chosen domain.
    parts: list[DomainSearchRecord] = field(default_factory=list)

    @property
    def supports_domains(self) -> bool:
        """Report whether the search was about domains of a tree."""
        return not any(domain.place is None for evaluation in self.evaluations for domain in evaluation.domains)

    def take(self, domain: Domain, score: float, parts: Iterable[DomainSearchRecord] = ()) -> None:
        self.chosen, self.score, self.parts = domain, score, list(parts)


class DomainSearchRecords:
    """The searches of a job, or of its sub-jobs.

    Searches of single tasks that join others in their domain are counted; of failed searches only the last one is kept.
    """

    def __init__(self) -> None:
        self._known: dict[tuple[str, str], DomainSearchRecord] = {}

    def __iter__(self) -> Iterator[DomainSearchRecord]:
        return iter(self._known.values())

    def add(self, record: DomainSearchRecord) -> None:
        key = record.sub_job, record.chosen.name if record.chosen else ""
        same = self._known.get(key)
        if same is None or record.chosen is None:
            self._known[key] = record
        else:
            same.placed += record.placed


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


def highest_allowed(record: DomainSearchRecord) -> int | None:
    """Return the highest tier that a hard constraint allows; None if unspecified."""
    topology, tree = record.topology, record.tree
    if topology is None or not topology.hard:
        return None
    return tree.tier_names.get(topology.highest_tier_name) if topology.highest_tier_name else topology.highest_tier


def outcomes(record: DomainSearchRecord) -> Iterator[DomainOutcome]:
    """Yield the outcomes of all domains inside the searched one, low tiers first."""
    tree, evaluations = (
        record.tree,
        {domain.name: evaluation for evaluation in record.evaluations for domain in evaluation.domains},
    )
    root = tree.top if record.root.place is None else record.root.place
    for place in tree.within(root):
        if not len(tree.rows(place)):
            continue
        evaluation = evaluations.get(tree.name(place))
        if evaluation is not None:
            yield _evaluated(record, place, evaluation)
        elif _asks_for_domains(record):
            yield _not_evaluated(record, place)


def _asks_for_domains(record: DomainSearchRecord) -> bool:
    """A hard constraint without a tier restricts nothing."""
    return record.topology is not None and (not record.topology.hard or highest_allowed(record) is not None)


def _evaluated(record: DomainSearchRecord, place: int, evaluation: DomainEvaluation) -> DomainOutcome:
    tree = record.tree
    name, tier, holds = tree.name(place), tree.tiers[place], evaluation.holds(place)
    chosen, score = record.chosen, evaluation.scores.get(name)
    if chosen is not None and chosen.name == name:
        return DomainOutcome(name, tier, DomainVerdict.CHOSEN, f"chosen, score {record.score:.1f}", holds, record.score)
    if holds is not None and holds < record.needed:
        most = f"at most {holds}" if holds else "none"
        return DomainOutcome(name, tier, DomainVerdict.NO_CAPACITY, f"holds {most} of {_pods(record.needed)}", holds)
    if name in evaluation.failed:
        return DomainOutcome(
            name, tier, DomainVerdict.FAILED, f"tried without success{_failure(evaluation.failed[name])}", holds
        )
    return DomainOutcome(name, tier, DomainVerdict.WORSE, _worse(record, evaluation, score, holds), holds, score)


def _worse(record: DomainSearchRecord, evaluation: DomainEvaluation, score: float | None, holds: int | None) -> str:
    if record.chosen is None or score is None:
        return "not compared"
    if score == record.score and (holds or 0) < (evaluation.holds(record.chosen.place) or 0):
        return f"score {score:.1f}, the same as {record.chosen.name}, which holds more of the pods"
    if score == record.score:
        return f"score {score:.1f}, the same as {record.chosen.name}, which comes first by name"
    return f"score {score:.1f}, less than {record.score:.1f} of {record.chosen.name}"


def _not_evaluated(record: DomainSearchRecord, place: int) -> DomainOutcome:
    tree, allowed = record.tree, highest_allowed(record)
    name, tier = tree.name(place), tree.tiers[place]
    if allowed is not None and tier > allowed:
        return DomainOutcome(name, tier, DomainVerdict.NOT_ALLOWED, f"tier {tier} is not allowed")
    if record.topology is not None and tier < tree.tier_names.get(record.topology.first_tier_name, 0):
        return DomainOutcome(
            name, tier, DomainVerdict.SKIPPED, f"closer than {record.topology.first_tier_name}, which is preferred"
        )
    if record.chosen is not None and tier > record.chosen.tier:
        return DomainOutcome(name, tier, DomainVerdict.LOWER_CHOSEN, "a closer one was found")
    if record.chosen is not None and name in record.deprioritized:
        return DomainOutcome(name, tier, DomainVerdict.SKIPPED, "it needs nodes of other shards")
    return DomainOutcome(name, tier, DomainVerdict.SKIPPED, _skip_reason(record))


def _skip_reason(record: DomainSearchRecord) -> str:
    if record.chosen is not None and record.chosen.kept:
        return f"the job keeps its previous domain {record.chosen.name}"
    if record.has_sub_jobs:
        return "the job has pods elsewhere"
    return "its total is below the job's minResources" if record.has_minimum else "not offered by any plugin"


def _failure(failure: TaskRefusal | DomainSearchRecord | None) -> str:
    if failure is None:
        return ""
    if isinstance(failure, TaskRefusal):
        return f": {failure.task}: {failure.nodes or failure.reason.detail}"
    return f": {failure_description(failure)}"


# -- summary ------------------------------------------------------------------------------------------------------


def failure_description(record: DomainSearchRecord) -> str:
    """Describe why no domain fits, with counts."""
    tree, whose = record.tree, _subject(record)
    parts = [description for evaluation in record.evaluations for description in _describe_evaluation(evaluation, tree)]
    allowed = highest_allowed(record)
    if not parts:
        parts.append(_none_on_offer(record))
    if allowed is not None and allowed < tree.tiers[tree.top - 1]:
        parts.append(f"tiers above {allowed} are not allowed")
    together = "1 more pod" if record.has_sub_jobs and record.needed == 1 else f"the {_pods(record.needed)} it needs"
    return f"{whose}no domain fits {together}: {'; '.join(parts)}"


def short_failure(record: DomainSearchRecord) -> str:
    """Describe why no domain fits in few words, with the largest number of pods that a domain holds."""
    holds = [evaluation.holds(domain.place) for evaluation in record.evaluations for domain in evaluation.domains]
    most = max((each for each in holds if each is not None), default=None)
    part = "" if most is None or most >= record.needed else f", at most {most}"
    return f"{_subject(record)}no domain holds {_pods(record.needed)} together{part}"


def _none_on_offer(record: DomainSearchRecord) -> str:
    if not record.tree:
        return "no node is in any domain"
    if record.has_sub_jobs:
        return "its pods are further apart already"
    if (allowed := highest_allowed(record)) is not None and allowed < record.tree.tiers[0]:
        return f"the lowest tier is {record.tree.tiers[0]}"
    return "each total is below the job's minResources" if record.has_minimum else "no domain is offered by any plugin"


def _describe_evaluation(evaluation: DomainEvaluation, tree: HyperNodeTree) -> Iterator[str]:
    tried = [domain for domain in evaluation.domains if domain.name in evaluation.failed]
    small = [domain for domain in evaluation.domains if domain.name not in evaluation.failed]
    if small:
        most = max(evaluation.holds(domain.place) or 0 for domain in small)
        verb = "holds" if len(small) == 1 else "hold"
        yield f"{_domains(small, tree)} {verb} {f'{most} of them at most' if most else 'none'}"
    if tried:
        why = next((each for each in evaluation.failed.values() if isinstance(each, DomainSearchRecord)), None)
        verb = "was" if len(tried) == 1 else "were"
        yield f"{_domains(tried, tree)} {verb} tried without success{_failure(why)}"


def where(record: DomainSearchRecord) -> str:
    """Describe where a search ended, and how far it had to widen."""
    if record.chosen is None:
        return failure_description(record)
    tree = record.tree
    place = tree.top if record.chosen.place is None else record.chosen.place
    name = WHOLE_CLUSTER if place == tree.top else f"{record.chosen.name} (tier {record.chosen.tier})"
    found = f"{_subject(record)}{_pods(record.placed)} placed in {name}, score {record.score:.1f}"
    if record.chosen.kept:
        found += ", its previous or nominated domain"
    passed = [
        evaluation
        for evaluation in record.evaluations
        if evaluation.domains and evaluation.domains[0].tier < record.chosen.tier
    ]
    yielded = "; ".join(_yielded(record, evaluation) for evaluation in passed)
    return f"{found}; {yielded}" if yielded else found


def _yielded(record: DomainSearchRecord, evaluation: DomainEvaluation) -> str:
    kind = _kind(evaluation.domains[0].tier, record.tree)
    return f"no {kind} fits" if evaluation.failed else f"no {kind} had capacity for {_pods(record.needed)}"


def _subject(record: DomainSearchRecord) -> str:
    return f"sub-group {record.sub_job}: " if record.sub_job else ""


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
