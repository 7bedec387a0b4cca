"""`stromboli explain`: why a job waits, and the smallest change that would let it start."""

from __future__ import annotations

from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from stromboli.cli.options.settings import output_option
from stromboli.cli.output import Failure, job_name
from stromboli.cli.plan_output import explanation_printout
from stromboli.cli.scenario import WAITING, read_scenario, scenario_options

if TYPE_CHECKING:
    from stromboli.planner.plan import SchedulingPlan

_EPILOG = """\b
Examples:
  stromboli explain -f examples/cluster research/finetune
  stromboli explain -f examples/cluster finetune -o json
  kubectl get nodes,pods,queues,pc,ns,podgroups.scheduling.volcano.sh \\
    -A -o yaml | stromboli explain -f - finetune

\b
Exit codes:
  0  the job does not wait
  1  invalid input, or no job has this name
  2  wrong usage
  3  the job waits
"""

#: Larger manifests are not read to complete a name.
_MAX_COMPLETED_BYTES = 1 << 20


def _complete_job(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:
    """Complete the PodGroups of the files of `-f`, by name or with their namespace."""
    from stromboli.kube import PodGroup
    from stromboli.kube.manifests.manifests import ManifestError, read_manifests

    paths = [path for path in context.params.get("paths") or () if path != "-"]
    try:
        if sum(map(_size, paths)) > _MAX_COMPLETED_BYTES:
            return []
        found = read_manifests(paths).objects
    except (ManifestError, OSError):
        return []
    groups = [entry for entry in found if isinstance(entry, PodGroup)]
    names = {group.key if "/" in incomplete else group.metadata.name for group in groups}
    return sorted(name for name in names if name.startswith(incomplete))


def _size(path: str) -> int:
    """Return the size of a file, or of all files of a folder."""
    place = Path(path)
    return sum(each.stat().st_size for each in place.rglob("*")) if place.is_dir() else place.stat().st_size


@click.command(epilog=_EPILOG)
@scenario_options
@output_option()
@click.argument("job", shell_complete=_complete_job)
def explain(output: str, job: str, **options: Any) -> None:
    """Show why a job waits, and what would let it start.

    JOB is a PodGroup or one of its pods: NAMESPACE/NAME, the name alone if it is unique, or a line of plan -o name.

    Every proposed change is verified by running the scheduler again with it.

    For evictions, the output names victim, preemptor and rule, and the pods that were kept.
    """
    scenario = read_scenario(**options)
    plan = scenario.plan()
    key = _find(plan, job)
    explanation_printout(scenario, plan, key).echo(output)
    if key in plan.groups and plan.groups[key].waiting:
        click.get_current_context().exit(WAITING)


def _find(plan: SchedulingPlan, name: str) -> str:
    """Find a job by its key, by its name, by its name in `plan -o name`, or by one of its pods."""
    if name in plan.groups:
        return name
    if key := next((key for key in plan.groups if name == job_name(key)), ""):
        return key
    pods = {record.pod: record.job for record in plan.records}
    pods |= {task.key: key for key in plan.groups for task in plan.session.jobs[key].tasks.values()}
    if name in pods:
        return pods[name]
    specs = {key: plan.session.jobs[key].spec for key in plan.groups}  # the key of a native group has a prefix
    matches = {key for key, spec in specs.items() if name in (f"{spec.namespace}/{spec.name}", spec.name)}
    matches = matches or {job for pod, job in pods.items() if pod.partition("/")[2] == name}
    if len(matches) == 1:
        return matches.pop()
    if matches:
        raise Failure(f"several jobs are called {name}: {', '.join(sorted(matches))}; add the namespace")
    raise Failure(_unknown(name, list(plan.groups)))


def _unknown(name: str, known: list[str]) -> str:
    if not known:
        return f"no job is called {name}: the manifests contain no PodGroup and no pod to schedule"
    names = {key.partition("/")[2]: key for key in known}
    near = get_close_matches(name, known, n=3) or [names[n] for n in get_close_matches(name, names, n=3)]
    if near:
        return f"no job is called {name}; did you mean {' or '.join(near)}?"
    more = f" and {len(known) - 5} more" if len(known) > 5 else ""
    return f"no job is called {name}; there are {', '.join(known[:5])}{more}"
