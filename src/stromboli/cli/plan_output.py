"""The output of `plan`, `explain` and `replay`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from stromboli.cli.output import Printout, job_name

if TYPE_CHECKING:
    from stromboli.cli.scenario import Scenario
    from stromboli.planner.advice import Advice
    from stromboli.planner.plan import SchedulingPlan
    from stromboli.simulator.forecast.expected_starts import StartRange


def plan_printout(
    scenario: Scenario,
    plan: SchedulingPlan,
    explained: Sequence[str] | None,
    starts: Mapping[str, StartRange] | None = None,
    **more: object,
) -> Printout:
    """Return the plan, with explanations of these jobs and their expected starts unless they are None; `more` is
    further data.
    """

    def tables(wide: bool) -> None:
        from stromboli.cli.text.advice import echo_advice
        from stromboli.cli.text.forecast import forecast_table
        from stromboli.cli.text.plan import echo_closing, echo_plan
        from stromboli.cli.text.submission import echo_answers
        from stromboli.cli.text.tables import echo_table

        echo_plan(plan, wide=wide)
        if starts:
            echo_table(forecast_table(starts, plan.session.now), wide=wide)
            click.echo()
        for advice in _advise(scenario, plan, explained) if explained else ():
            echo_advice(advice, wide=wide)
            click.echo()
        if scenario.has_submission:
            echo_answers(plan, scenario.inactive, is_judged=scenario.is_judged)
        else:
            echo_closing(plan, scenario.inactive, is_judged=scenario.is_judged)

    def data() -> dict[str, Any]:
        from stromboli.planner.report import advice_as_plain, report_of

        report = {**report_of(plan, scenario.warnings), "unjudged": list(scenario.unjudged), **more}
        report["inactive"] = dict(scenario.inactive)
        if starts is not None:
            report["expectedStarts"] = {key: each.as_plain() for key, each in starts.items()}
        if explained is not None:
            advice = _advise(scenario, plan, explained)
            report["explanations"] = {entry.explanation.job: advice_as_plain(entry) for entry in advice}
        return report

    return Printout(tables, data, lambda: map(job_name, plan.groups), [*scenario.warnings, *plan.warnings])


def _advise(scenario: Scenario, plan: SchedulingPlan, jobs: Sequence[str]) -> list[Advice]:
    """A plan of a cluster is wanted soon; `stromboli explain` searches longer."""
    return scenario.advise(plan, jobs, is_brief=scenario.is_live)


def explanation_printout(scenario: Scenario, plan: SchedulingPlan, key: str) -> Printout:
    """Return the explanation of one job of the plan."""
    warnings = [*scenario.warnings, *plan.warnings]

    def tables(wide: bool) -> None:
        from stromboli.cli.text.advice import echo_advice

        echo_advice(scenario.advise(plan, [key])[0], wide=wide)

    def data() -> dict[str, Any]:
        from stromboli.planner.report import advice_as_plain

        return {**advice_as_plain(scenario.advise(plan, [key])[0]), "warnings": warnings}

    return Printout(tables, data, lambda: [job_name(key)], warnings)
