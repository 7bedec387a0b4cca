"""Usage and budgets of the queues that a person may read."""

from __future__ import annotations

import contextlib
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence

from stromboli.console.documents.usage import BudgetUsage, QueueHours, QueueUsages
from stromboli.console.views.history import UsageFacts
from stromboli.console.views.view import PersonView
from stromboli.core.model.queues.queue import ROOT
from stromboli.core.model.resources.resources import unit_hour
from stromboli.core.model.usage.budgets import BUDGETS, Budget, BudgetState, budgets_of
from stromboli.planner.overview.queue_list import QueueEntry


def families_of(queues: Sequence[QueueEntry]) -> Mapping[str, Collection[str]]:
    """Return each queue with its descendants, by name; all are those of the root."""
    families: dict[str, set[str]] = {entry.name: {entry.name} for entry in queues}
    for entry in reversed(queues):  # children come after their parents
        if entry.parent in families:
            families[entry.parent] |= families[entry.name]
    return {**families, ROOT: set(families)}


def budgets_in(view: PersonView) -> Mapping[str, Sequence[Budget]]:
    """Return the budgets of all queues. Invalid ones have no effect: the scheduler warns about them."""
    found: dict[str, Sequence[Budget]] = {}
    for name, queue in view.frame.session.queues.items() if view.frame.session else ():
        with contextlib.suppress(ValueError):
            found[name] = budgets_of(queue.annotations.get(BUDGETS) or "[]")
    return {name: budgets for name, budgets in found.items() if budgets}


def queue_usages(view: PersonView, facts: UsageFacts) -> QueueUsages:
    """Return the usage of the queues that may be named. Those who may read all jobs see budgets of users, and those who
    may read the jobs of a namespace see its budgets.
    """
    families = families_of(view.frame.queues)
    named = [state for state in facts.budgets if state.queue in view.queues]
    shown = [state for state in named if _may_read(view, state)]
    queues = [entry.name for entry in view.frame.queues if entry.name in view.queues]
    return QueueUsages(
        instance=view.instance, since=facts.since, until=facts.until,
        queues=[_usage(name, families[name], facts) for name in queues],
        budgets=[_budget(state) for state in shown], hidden_budgets=len(named) - len(shown),
    )  # fmt: skip


def _may_read(view: PersonView, state: BudgetState) -> bool:
    if view.rights.may_read_all:
        return True
    return not state.budget.user and (not state.holder.namespace or view.rights.may_read(state.holder.namespace))


def _usage(queue: str, family: Collection[str], facts: UsageFacts) -> QueueHours:
    hours: defaultdict[str, float] = defaultdict(float)
    for name in family & facts.own.keys():
        for resource, seconds in facts.own[name].resource_seconds.items():
            hours[resource] += float(seconds / unit_hour(resource))
    return QueueHours(queue=queue, hours=dict(sorted(hours.items())))


def _budget(state: BudgetState) -> BudgetUsage:
    budget = state.budget
    return BudgetUsage(
        queue=state.queue, resource=budget.resource, period=budget.period, since=state.since,
        user=state.subject if budget.user and not state.holder.user else state.holder.user,
        namespace=state.holder.namespace, used=state.used, limit=state.limit, grace=budget.grace, over=budget.over,
        state=state.state,
    )  # fmt: skip
