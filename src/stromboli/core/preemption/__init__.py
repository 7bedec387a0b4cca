"""Making room by eviction: whom to take, where, and at what cost. Shared by the actions that claim room for tasks.

The parts, from the outside in: `claiming` serves the tasks of one job on one statement, and `gangs` all of them at
once, with the `bundles` that can go whole; `ranking` finds the cheapest node for a kind of claimant; `choosing` finds
the cheapest lawful victims on one node; `units` knows what must go together; `pool` knows who stands where.
`comparing` says what cheap is, and `domains` where jobs may be that want their nodes close together.
"""

from stromboli.core.preemption.cost import BY_COST, Comparison, KubeComparison
from stromboli.core.preemption.gang_preemption import GangArguments, GangPreemption
from stromboli.core.preemption.job_preemption import Claims
from stromboli.core.preemption.rules import Terms
from stromboli.core.preemption.thrash_guard import ThrashGuard, ThrashGuardArguments

__all__ = [
    "BY_COST",
    "Claims",
    "Comparison",
    "GangArguments",
    "GangPreemption",
    "KubeComparison",
    "Terms",
    "ThrashGuard",
    "ThrashGuardArguments",
]
