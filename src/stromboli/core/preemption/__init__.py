"""Preemption: which pods to evict, on which nodes, and at what cost. Shared by the actions that evict for a preemptor.

The modules, from the outside in: `job_preemption` serves the tasks of one job on one statement, and `gang_preemption`
all of them at once, with the `whole_gangs` that can be evicted; `node_ranking` finds the cheapest node for a kind of
preemptor; `selection` finds the cheapest allowed victims on one node; `units` groups tasks that must be evicted
together; `candidates` lists evictable tasks by node. `cost` compares plans, by their `lost_work` where configured, and
`domains` ranks the domains of jobs with a network topology. `history` keeps jobs from evicting each other in turns.
"""

from stromboli.core.preemption.cost import BY_COST, CostComparison, KubeCostComparison
from stromboli.core.preemption.gang_preemption import GangArguments, GangPreemption
from stromboli.core.preemption.history.rate_limits import PreemptionRateArguments, PreemptionRates
from stromboli.core.preemption.history.thrash_guard import ThrashGuard, ThrashGuardArguments
from stromboli.core.preemption.job_preemption import Preemption
from stromboli.core.preemption.rules import (
    ON_NODE,
    PreemptionRules,
    VictimOrderArguments,
    reclaim_refusal,
    replaceable,
)

__all__ = [
    "BY_COST",
    "ON_NODE",
    "CostComparison",
    "GangArguments",
    "GangPreemption",
    "KubeCostComparison",
    "Preemption",
    "PreemptionRateArguments",
    "PreemptionRates",
    "PreemptionRules",
    "ThrashGuard",
    "ThrashGuardArguments",
    "VictimOrderArguments",
    "reclaim_refusal",
    "replaceable",
]
