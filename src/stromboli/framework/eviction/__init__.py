"""Making room by eviction: whom to take, where, and at what cost. Shared by the actions that claim room for tasks.

The parts, from the outside in: `claiming` serves the tasks of one job on one statement, and `gangs` all of them at
once, with the `bundles` that can go whole; `ranking` finds the cheapest node for a kind of claimant; `choosing` finds
the cheapest lawful victims on one node; `units` knows what must go together; `pool` knows who stands where.
`comparing` says what cheap is, and `domains` where jobs may be that want their nodes close together.
"""

from stromboli.framework.eviction.claiming import Claims
from stromboli.framework.eviction.comparing import BY_COST, Comparison, KubeComparison
from stromboli.framework.eviction.gangs import GANG_ARGUMENTS, GangClaims
from stromboli.framework.eviction.terms import Terms
from stromboli.framework.eviction.truce import THRASHING_WINDOW, Truce

__all__ = [
    "BY_COST",
    "GANG_ARGUMENTS",
    "THRASHING_WINDOW",
    "Claims",
    "Comparison",
    "GangClaims",
    "KubeComparison",
    "Terms",
    "Truce",
]
