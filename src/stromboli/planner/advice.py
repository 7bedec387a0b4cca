"""What to tell about jobs that wait: the explanation of each, and what would help."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from stromboli.planner.explanation import Explanation, ahead_of, explain_job, lines_of
from stromboli.planner.job_context import job_contexts
from stromboli.planner.plan import Plan
from stromboli.planner.remedies import Remedies, find_remedies
from stromboli.planner.trials import Trials


@dataclass(slots=True)
class Advice:
    explanation: Explanation
    remedies: Remedies = field(default_factory=Remedies)


def advise(plan: Plan, trials: Trials, jobs: Sequence[str]) -> list[Advice]:
    """Explain these jobs and search what would help those that wait.

    Everything is read from the plan's session before the first trial takes its plugins over.
    """
    advice = {key: Advice(explain_job(plan, key)) for key in jobs}
    waiting = [key for key in jobs if advice[key].explanation.group.waiting]
    situations = job_contexts(plan, trials.objects, waiting, trials.scheduler_names)
    lines = lines_of(plan, trials.order_of_jobs()) if waiting else {}
    for key, situation in situations.items():
        advice[key].explanation.ahead = ahead_of(key, lines.get(situation.job.queue, ()))
        advice[key].remedies = find_remedies(situation, trials)
    return list(advice.values())
