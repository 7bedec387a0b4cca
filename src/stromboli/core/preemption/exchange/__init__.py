"""Exchange: a cheaper set of victims for a complete plan.

A plan is made task by task, so victims that serve several tasks at once are found late or not at all. `problem` states
the whole plan in numbers, `search` finds cheaper sets for it, and `plan_exchange` tries them on the statement, where
all rules apply. The work is bounded by a number of steps.
"""

from stromboli.core.preemption.exchange.plan_exchange import PlanExchange

__all__ = ["PlanExchange"]
