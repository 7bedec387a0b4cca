"""The objects of a plan and the settings of its scheduler: from files, or from a cluster with files on top."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import click
from click.core import ParameterSource

from stromboli.cli.options.settings import SCHEDULER_NAMES
from stromboli.cli.options.shards import SHARD_PARAMETERS, parse_node_selector, shard_of

if TYPE_CHECKING:
    from stromboli.cli.cluster_source import ClusterSource, LiveCluster
    from stromboli.core.model.nodes.shards import ShardChoice
    from stromboli.kube import KubeObject
    from stromboli.kube.manifests.manifests import Manifests
    from stromboli.planner.live.installation import RunningScheduler
    from stromboli.planner.live.submission import Submission
    from stromboli.planner.plan import SchedulingPlan


#: Further objects are only counted.
_MAX_NAMED = 5


@dataclass(frozen=True, slots=True)
class SchedulerChoice:
    """The settings of the scheduler, of the command line or of the scheduler of a cluster."""

    scheduler_names: Sequence[str] = SCHEDULER_NAMES
    seed: int = 0
    shard: ShardChoice | None = None
    default_queue: str = "default"
    #: Allowed values by label of the nodes that are scheduled on.
    node_selector: Mapping[str, Collection[str]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class JobSelection:
    """The jobs that the output is about: those of the files on top of a cluster, or of a namespace; else all."""

    submission: Submission | None = None
    namespace: str = ""

    def of(self, plan: SchedulingPlan) -> list[str] | None:
        """Return their keys in a plan; None for all jobs."""
        if self.submission is None:
            return [key for key in plan.groups if key.startswith(f"{self.namespace}/")] if self.namespace else None
        jobs = plan.session.jobs
        tasks = ((task.key, key) for key in plan.groups for task in jobs[key].tasks.values())
        return self.submission.jobs(plan.groups, tasks)


@dataclass(frozen=True, slots=True)
class PlanInput:
    objects: Sequence[KubeObject]
    scheduler: SchedulerChoice
    #: Invalid and skipped objects, and notes about the cluster.
    warnings: list[str]
    #: Whether an object could not be decoded.
    has_unread: bool = False
    #: Objects with pods that are not known.
    unjudged: Sequence[str] = ()
    #: Workloads without pods at present, with the reason.
    inactive: Mapping[str, str] = field(default_factory=dict)
    #: Adds the file and the line to a message about an object.
    located: Callable[[str], str] = str
    selection: JobSelection = field(default_factory=JobSelection)
    #: The policy of the scheduler of the cluster with its source; None if it is not known.
    policy: tuple[str, str] | None = None
    #: Names the cluster and the source of its policy; empty without a cluster.
    policy_note: str = ""

    @property
    def is_live(self) -> bool:
        return bool(self.policy_note)


def read_input(
    paths: Sequence[str], source: ClusterSource, scheduler: SchedulerChoice, now: float, *, schedules: bool = True
) -> PlanInput:
    """Read the files and, if it is wanted, the cluster. Invalid input ends the command with a message. If nothing is
    scheduled, missing objects are not reported.
    """
    manifests = source.files(paths, scheduler.scheduler_names, now)
    if source.is_wanted(manifests if paths else None):
        return _live(
            source.read(), manifests, scheduler, source.namespace, now, has_files=bool(paths), schedules=schedules
        )
    if not paths:
        raise click.UsageError("Missing option '-f' / '--filename', without which --offline has no objects.")
    return PlanInput(
        manifests.objects, scheduler,
        [*manifests.warnings, *(_missing(manifests, scheduler) if schedules else ())],
        unjudged=manifests.unjudged, inactive=manifests.inactive, has_unread=bool(manifests.problems),
        located=manifests.origins.located, selection=JobSelection(namespace=source.namespace),
    )  # fmt: skip


def _missing(
    manifests: Manifests, scheduler: SchedulerChoice, existing: Sequence[KubeObject] | None = None
) -> Iterator[str]:
    """Yield warnings about objects that the files name and that do not exist, neither in them nor in the cluster."""
    from stromboli.planner.missing_objects import find_missing_objects, find_missing_references

    names, unread = scheduler.scheduler_names, manifests.unread
    if existing is None:
        found = find_missing_objects(manifests.objects, names, unread)
    else:
        found = find_missing_references(manifests.objects, existing, names, unread)
    yield from map(manifests.origins.located, found)
    yield from _unjudged_warning(manifests.unjudged)


def _unjudged_warning(unjudged: Sequence[str]) -> list[str]:
    """Count and name the objects whose pods are not known."""
    if not unjudged:
        return []
    named = ", ".join(unjudged[:_MAX_NAMED])
    more = f" and {len(unjudged) - _MAX_NAMED} more" if len(unjudged) > _MAX_NAMED else ""
    things = "1 object" if len(unjudged) == 1 else f"{len(unjudged)} objects"
    return [f"{things} could not be judged: {named}{more}"]


def _live(
    live: LiveCluster,
    manifests: Manifests,
    scheduler: SchedulerChoice,
    namespace: str,
    now: float,
    *,
    has_files: bool,
    schedules: bool,
) -> PlanInput:
    from stromboli.planner.live.submission import submit

    running, found = live.scheduler, live.found
    scheduler = _chosen(scheduler, running)
    submission = submit(found.objects, manifests.objects, now)
    missing = _missing(manifests, scheduler, submission.objects) if schedules else ()
    return PlanInput(
        submission.objects, scheduler, [*found.warnings, *submission.notes, *manifests.warnings, *missing],
        unjudged=manifests.unjudged, inactive=manifests.inactive, has_unread=bool(manifests.problems),
        located=manifests.origins.located, selection=JobSelection(submission if has_files else None, namespace),
        policy=None if running.policy is None else (running.policy, running.source), policy_note=_policy_note(live),
    )  # fmt: skip


def _policy_note(live: LiveCluster) -> str:
    running = live.scheduler
    if running.policy is not None:
        return f"note: cluster {live.server}, policy of {running.source}"
    remedy = "the default configuration applies; name another with --conf, or the scheduler with --installation"
    return f"cluster {live.server}: {running.problem}; {remedy}"


def _chosen(scheduler: SchedulerChoice, running: RunningScheduler) -> SchedulerChoice:
    """Return the settings of the command line, and for those that are not on it, of the scheduler of the cluster."""
    if (names := running.options.get("--scheduler-name")) and not _given(("scheduler_names",)):
        scheduler = replace(scheduler, scheduler_names=tuple(names))
    if (seed := running.option("--seed")) and seed.isdecimal() and not _given(("seed",)):
        scheduler = replace(scheduler, seed=int(seed))
    if not _given(SHARD_PARAMETERS):
        scheduler = replace(scheduler, shard=_shard_of(running))
    return replace(
        scheduler,
        default_queue=running.option("--default-queue") or scheduler.default_queue,
        node_selector=parse_node_selector(running.options.get("--node-selector", ())),
    )


def _given(names: Iterable[str]) -> bool:
    """Report whether one of these parameters is on the command line."""
    context = click.get_current_context()
    return any(context.get_parameter_source(name) is ParameterSource.COMMANDLINE for name in names)


def _shard_of(running: RunningScheduler) -> ShardChoice | None:
    return shard_of(
        {
            "shard_mode": running.option("--scheduler-sharding-mode") or "none",
            "shard_name": running.option("--scheduler-sharding-name") or "",
            "shard_selector": running.option("--shard-selector") or "",
        }
    )
