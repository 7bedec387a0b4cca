"""`stromboli explain`: why one job waits, and the smallest change that would let it start."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

import click

from stromboli.cli.output import Failure, echo_json, warn
from stromboli.cli.scenario import WAITING, Scenario, read_scenario, scenario_options

if TYPE_CHECKING:
    from stromboli.core.model.jobs.job import JobSpec
    from stromboli.planner.plan import Plan

_EPILOG = """\b
Examples:
  stromboli explain -f cluster/ research/finetune
  stromboli explain -f cluster/ finetune -o json
  kubectl get nodes,pods,podgroups.scheduling.volcano.sh,queues,priorityclasses,namespaces \\
    -A -o yaml | stromboli explain -f - finetune

\b
Exit codes:
  0  the job does not wait
  1  something that was given cannot be used, or no job has this name
  2  wrong usage
  3  the job waits
"""


@click.command(epilog=_EPILOG)
@scenario_options
@click.option(
    "-o", "--output", type=click.Choice(["text", "json"]), default="text", show_default=True,
    help="For people, or for programs.",
)  # fmt: skip
@click.argument("job")
def explain(output: str, job: str, **options: Any) -> None:
    """Say why a job waits, and what would let it start.

    JOB is a PodGroup or one of its pods, as NAMESPACE/NAME, or the name alone when there is only one.

    Changes are proposed only after they have been tried: the scheduler plans again with each of them, until one
    lets the job start.

    Where pods are evicted, it also says who goes for whom, by which rule, and who could stay.
    """
    scenario = read_scenario(**options)
    made = scenario.plan()
    key = _find(made, job)
    warn([*scenario.warnings, *made.warnings] if output == "text" else [])
    _echo(scenario, made, key, output)
    if key in made.groups and made.groups[key].waiting:
        click.get_current_context().exit(WAITING)


def _echo(scenario: Scenario, made: Plan, key: str, output: str) -> None:
    from stromboli.cli.text.advice import echo_advice
    from stromboli.planner.advice_report import advice_as_plain

    advice = scenario.advise(made, [key])[0]
    if output == "json":
        echo_json({**advice_as_plain(advice), "warnings": [*scenario.warnings, *made.warnings]})
    else:
        echo_advice(advice)


def _find(made: Plan, name: str) -> str:
    """The job that is meant: by its key, by its name, or by one of its pods."""
    if name in made.groups:
        return name
    pods = {account.pod: account.job for account in made.accounts}
    pods |= {task.key: key for key in made.groups for task in made.session.jobs[key].tasks.values()}
    if name in pods:
        return pods[name]
    meant = {key for key in made.groups if name in _names(made.session.jobs[key].spec)}
    meant = meant or {job for pod, job in pods.items() if pod.partition("/")[2] == name}
    if len(meant) == 1:
        return meant.pop()
    if meant:
        raise Failure(f"several jobs are called {name}: {', '.join(sorted(meant))}; give the namespace, too")
    raise Failure(_unknown(name, list(made.groups)))


def _names(spec: JobSpec) -> tuple[str, str]:
    """What people may call a job; its key says more when it came as a group of Kubernetes' own."""
    return f"{spec.namespace}/{spec.name}", spec.name


def _unknown(name: str, known: list[str]) -> str:
    if not known:
        return f"no job is called {name}: the manifests hold no PodGroup and no pod to schedule"
    names = {key.partition("/")[2]: key for key in known}
    near = get_close_matches(name, known, n=3) or [names[n] for n in get_close_matches(name, names, n=3)]
    if near:
        return f"no job is called {name}; did you mean {' or '.join(near)}?"
    more = f" and {len(known) - 5} more" if len(known) > 5 else ""
    return f"no job is called {name}; there are {', '.join(known[:5])}{more}"
