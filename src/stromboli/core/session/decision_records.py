"""Records of decisions: evictions and domain searches.

For evictions: which pod was evicted for which job and why it was allowed, which pods were protected and why, and what
stopped a preemption.

Records are written at the time of the decision, as justifications change with every eviction, and only in sessions that
collect them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from stromboli.core.model.reasons import Reason
from stromboli.core.topology.domain_search_records import DomainSearchRecords


@dataclass(frozen=True, slots=True)
class PluginApproval:
    """A plugin that evaluated a victim and allowed its eviction."""

    plugin: str
    #: The justification; empty if the plugin had no objection.
    right: str = ""
    #: Whether this plugin selected the victim.
    is_decisive: bool = False


@dataclass(frozen=True, slots=True)
class RuleObjection:
    """The rule that makes some objects unusable: a plugin by its name, or a preemption rule."""

    rule: str
    #: The message for the first of them.
    why: str
    objects: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RejectedNode:
    """A node that was not chosen."""

    node: str
    why: str


@dataclass(frozen=True, slots=True)
class EvictionRecord:
    """Why one pod was evicted."""

    pod: str
    job: str
    queue: str
    action: str
    node: str
    frees: Mapping[str, str]
    #: The preempting job, if any, and its queue; the pod that gets the capacity, and its node.
    preemptor: str = ""
    preemptor_queue: str = ""
    preemptor_pod: str = ""
    preemptor_node: str = ""
    allowed_by: tuple[PluginApproval, ...] = ()
    #: Whether its whole gang is evicted because it cannot run without this pod.
    with_gang: bool = False
    #: Protected pods on the preemptor's node.
    protected: tuple[RuleObjection, ...] = ()
    considered: tuple[RejectedNode, ...] = ()
    #: Description by the action itself.
    note: str = ""

    @property
    def decisive(self) -> PluginApproval | None:
        return next((consent for consent in self.allowed_by if consent.is_decisive), None)


@dataclass(frozen=True, slots=True)
class PreemptionFailure:
    """Why an action could not preempt for a job, and the first pod for which it could not."""

    action: str
    pod: str
    reason: Reason
    objections: tuple[RuleObjection, ...] = ()


@dataclass(slots=True)
class DecisionRecords:
    """The records of a session."""

    #: By victim uid.
    evictions: dict[str, EvictionRecord] = field(default_factory=dict)
    #: By job.
    refusals: dict[str, list[PreemptionFailure]] = field(default_factory=dict)
    #: Domain searches by job.
    searches: dict[str, DomainSearchRecords] = field(default_factory=dict)

    def refuse(self, job: str, refusal: PreemptionFailure) -> None:
        known = self.refusals.setdefault(job, [])
        if refusal not in known:
            known.append(refusal)
