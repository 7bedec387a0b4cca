"""Advice about waiting jobs: explanations and remedies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from stromboli.planner.explanation import Explanation, ahead_of, explain_job, lines_of
from stromboli.planner.job_context import job_contexts
from stromboli.planner.plan import SchedulingPlan
from stromboli.planner.remedies import Remedies, find_remedies
from stromboli.planner.trials import Trials


@dataclass(slots=True)
class Advice:
    explanation: Explanation
    remedies: Remedies = field(default_factory=Remedies)


def advise(plan: SchedulingPlan, trials: Trials, jobs: Sequence[str]) -> list[Advice]:
    """Explain these jobs and search remedies for those that wait.

    Everything is read from the plan's session before the first trial reuses its plugins.
    """
    plan = plan.whole or plan
    advice = {key: Advice(explain_job(plan, key)) for key in jobs}
    waiting = [key for key in jobs if advice[key].explanation.group.waiting]
    situations = job_contexts(plan, trials.objects, waiting, trials.scheduler_names)
    lines = lines_of(plan, plan.order) if waiting else {}
    for key, context in situations.items():
        advice[key].explanation.ahead = ahead_of(key, lines.get(context.job.queue, ()))
        advice[key].remedies = find_remedies(context, trials)
    return list(advice.values())
