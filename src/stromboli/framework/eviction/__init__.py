"""Making room by eviction: whom to take, where, and at what cost. Shared by the actions that claim room for tasks.

The parts, from the outside in: `claiming` serves the tasks of one job on one statement; `ranking` finds the cheapest
node for a kind of claimant; `choosing` finds the cheapest lawful victims on one node; `units` knows what must go
together; `pool` knows who stands where.
"""

from stromboli.framework.eviction.claiming import Claims
from stromboli.framework.eviction.terms import Terms
from stromboli.framework.eviction.truce import THRASHING_WINDOW, Truce

__all__ = ["THRASHING_WINDOW", "Claims", "Terms", "Truce"]
