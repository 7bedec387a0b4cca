"""Accounts: of evictions, and of searches for a domain.

Of evictions: who went for whom and by which right, who could stay and why, and what stopped a claim.

They are written at the moment of the decision, as rights change with every eviction, and only in sessions that were
given a place to write them to.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from stromboli.core.model.reasons import Reason
from stromboli.core.topology.domain_search_records import DomainSearchRecords


@dataclass(frozen=True, slots=True)
class PluginApproval:
    """A plugin that was asked about a victim and let it go."""

    plugin: str
    #: By what right, in words; empty where the plugin had nothing against it.
    right: str = ""
    #: Whether it is the rule that singled the victim out.
    is_decisive: bool = False


@dataclass(frozen=True, slots=True)
class Objection:
    """What keeps some objects from being of use: a plugin by its name, or a rule of claims."""

    rule: str
    #: In words, as it was said of the first of them.
    why: str
    objects: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RejectedNode:
    """A node that was not chosen."""

    node: str
    why: str


@dataclass(frozen=True, slots=True)
class EvictionRecord:
    """Why one pod had to go."""

    pod: str
    job: str
    queue: str
    action: str
    node: str
    frees: Mapping[str, str]
    #: The job in whose favour it goes, if any, and its queue; the pod that gets the room, and where.
    preemptor: str = ""
    preemptor_queue: str = ""
    preemptor_pod: str = ""
    preemptor_node: str = ""
    allowed_by: tuple[PluginApproval, ...] = ()
    #: Whether its whole gang goes, as it cannot do without this pod.
    with_gang: bool = False
    #: Who could stay on the claimant's node.
    spared: tuple[Objection, ...] = ()
    considered: tuple[RejectedNode, ...] = ()
    #: What the action itself says about it.
    note: str = ""

    @property
    def decisive(self) -> PluginApproval | None:
        return next((consent for consent in self.allowed_by if consent.is_decisive), None)


@dataclass(frozen=True, slots=True)
class PreemptionFailure:
    """Why an action made no room for a job, and the first pod for which it could not."""

    action: str
    pod: str
    reason: Reason
    objections: tuple[Objection, ...] = ()


@dataclass(slots=True)
class DecisionRecords:
    """What a session writes down."""

    #: By the uid of the victim.
    evictions: dict[str, EvictionRecord] = field(default_factory=dict)
    #: By job.
    refusals: dict[str, list[PreemptionFailure]] = field(default_factory=dict)
    #: By job, its searches for a domain.
    searches: dict[str, DomainSearchRecords] = field(default_factory=dict)

    def refuse(self, job: str, refusal: PreemptionFailure) -> None:
        known = self.refusals.setdefault(job, [])
        if refusal not in known:
            known.append(refusal)
