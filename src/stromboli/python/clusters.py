"""A cluster as an object: read once, and planned any number of times."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from stromboli.cluster.dump.dump import Dump, read_dump
from stromboli.core.session.program import Program
from stromboli.kube import KubeObject, Pod
from stromboli.kube.client.config.connect import connect
from stromboli.kube.manifests.manifests import DEFAULT_NAMESPACE, ManifestError, Manifests
from stromboli.planner.advice import Advice, advise
from stromboli.planner.live.installation import InstallationName
from stromboli.planner.live.submission import submit
from stromboli.planner.missing_objects import find_missing_objects, find_missing_references
from stromboli.planner.plan import SchedulingPlan, make_plan
from stromboli.planner.replay import DumpTrials, replay
from stromboli.planner.trials import Trials
from stromboli.python.html import heading, listing, table
from stromboli.python.plans import ClusterPlan, JobReport
from stromboli.python.policies import OwnClass, SchedulingPolicy
from stromboli.python.reading import JobSource, LiveReader, PlanSettings, cluster_beside, read_objects
from stromboli.workloads.groups import is_plain
from stromboli.workloads.plain_groups import group_for, with_group

_SHOWN_KINDS = ("Node", "Queue", "PodGroup", "Pod")


class ReadCluster:
    """The objects of a cluster and the policy of its scheduler, at one time. Nothing is written to the cluster."""

    def __init__(
        self,
        objects: Sequence[KubeObject],
        policy: SchedulingPolicy,
        settings: PlanSettings,
        *,
        now: float,
        title: str,
        warnings: Sequence[str] = (),
        namespace: str = DEFAULT_NAMESPACE,
        reader: LiveReader | None = None,
        dump: Dump | None = None,
    ) -> None:
        self.objects, self.policy, self.now, self.warnings = objects, policy, now, list(warnings)
        self._settings, self._title, self._namespace, self._reader, self._dump = (
            settings, title, namespace, reader, dump,
        )  # fmt: skip

    @classmethod
    def from_files(
        cls, *paths: str | Path, policy: SchedulingPolicy | None = None, now: float | None = None
    ) -> ReadCluster:
        """Read manifests from files and folders. `now` is the time of plans, in seconds since the epoch; by default
        that of the clock. Raises ManifestError.
        """
        if not paths:
            raise TypeError("name at least one file or folder with manifests")
        return cls._of_manifests(paths, policy, now, ", ".join(map(str, paths)))

    @classmethod
    def from_objects(
        cls, objects: JobSource, *, policy: SchedulingPolicy | None = None, now: float | None = None
    ) -> ReadCluster:
        """Read a list of objects as mappings, or the text of manifests. Raises ManifestError."""
        return cls._of_manifests(objects, policy, now, "objects")

    @classmethod
    def _of_manifests(cls, source: Any, policy: SchedulingPolicy | None, now: float | None, title: str) -> ReadCluster:
        settings, moment = PlanSettings(), time.time() if now is None else now
        found = read_objects(source, moment, settings)
        missing = find_missing_objects(found.objects, settings.scheduler_names, found.unread)
        return cls(
            found.objects, policy or SchedulingPolicy.default(), settings, now=moment, title=title,
            warnings=[*found.warnings, *map(found.origins.located, missing), *_without_pods(found)],
        )  # fmt: skip

    @classmethod
    def from_kubeconfig(
        cls,
        path: str | Path | None = None,
        context: str | None = None,
        *,
        policy: SchedulingPolicy | None = None,
        installation: str = str(InstallationName()),
        classes: Sequence[OwnClass] = (),
    ) -> ReadCluster:
        """Read a living cluster, by default that of kubectl, with the policy and the options of its scheduler.

        `classes` are your own plugins that its policy names. Raises ConnectionProblem, ClusterError and
        ConfigurationError.
        """
        reader = LiveReader(connect(str(path) if path else None, context))
        found, running = reader.read(InstallationName.parse(installation))
        warnings = list(found.warnings)
        if policy is None and running.policy is not None:
            policy = SchedulingPolicy.from_yaml(running.policy, classes=classes, name=running.source)
        elif policy is None:
            policy = SchedulingPolicy.default()
            warnings.append(f"{running.problem}; the default policy applies")
        program, objects = policy.program(), list[Any](found.objects)
        if program.usage_window:
            warnings.append("the policy reads node usage, which is not measured here: plans assume no figures")
        if program.config_maps:
            config_maps, missing = reader.config_maps(program.config_maps)
            objects += config_maps
            warnings += missing
        return cls(
            objects, policy, PlanSettings.of_scheduler(running), now=time.time(), title=reader.connection.server,
            warnings=warnings, namespace=reader.connection.namespace, reader=reader,
        )  # fmt: skip

    @classmethod
    def from_dump(
        cls, path: str | Path, *, policy: SchedulingPolicy | None = None, classes: Sequence[OwnClass] = ()
    ) -> ReadCluster:
        """Read a dump of a scheduler, with its policy. `classes` are your own plugins that the policy names.

        Raises DumpError and ConfigurationError.
        """
        dump = read_dump(path)
        if policy is None and dump.configuration:
            policy = SchedulingPolicy.from_yaml(dump.configuration, classes=classes, name=f"{path}[configuration]")
        objects: Sequence[Any] = dump.contents.objects
        contents = dump.contents
        settings = PlanSettings(tuple(contents.scheduler_names), contents.seed)
        return cls(
            objects, policy or SchedulingPolicy.default(), settings, now=dump.now, title=str(path), dump=dump
        )  # fmt: skip

    def with_policy(self, policy: SchedulingPolicy) -> ReadCluster:
        """Return the same cluster with another policy of its scheduler."""
        return ReadCluster(
            self.objects, policy, self._settings, now=self.now, title=self._title, warnings=self.warnings,
            namespace=self._namespace, reader=self._reader, dump=self._dump,
        )  # fmt: skip

    def plan(self, job: JobSource | None = None, *, cycles: int = 1) -> ClusterPlan:
        """Run cycles of the scheduler, with a job that is about to be submitted if one is given: a path, the text of
        manifests, a mapping, or a list of mappings. Raises ManifestError and PluginFailure.
        """
        if job is None:
            return self._plan(self.objects, cycles, None, self.warnings)
        settings = self._settings
        beside = cluster_beside(self.objects, self._reader)
        found = read_objects(job, self.now, settings, self._namespace, beside)
        if found.problems:
            raise ManifestError("; ".join(map(str, found.problems)))
        added = found.objects if self._dump is None else _with_groups(found.objects, settings.scheduler_names)
        submission = submit(self.objects, added, self.now)
        missing = find_missing_references(found.objects, submission.objects, settings.scheduler_names, found.unread)
        warnings = [
            *self.warnings, *submission.notes, *found.warnings, *map(found.origins.located, missing),
            *_without_pods(found),
        ]  # fmt: skip

        def submitted(plan: SchedulingPlan) -> list[str]:
            jobs = plan.session.jobs
            tasks = ((task.key, key) for key in plan.groups for task in jobs[key].tasks.values())
            return submission.jobs(plan.groups, tasks)

        return self._plan(submission.objects, cycles, submitted, warnings)

    def explain(self, job: str) -> JobReport:
        """Explain why a job waits: `namespace/name`, or its name if it is unique. Raises LookupError."""
        return self.plan().explain(job)

    def _plan(self, objects: Sequence[KubeObject], cycles: int, chosen: Any, warnings: Sequence[str]) -> ClusterPlan:
        plan = self._run(objects, self.policy.program(), cycles)

        def explained(key: str) -> Advice:
            return advise(plan, self._trials(objects, self.policy.program(), cycles), [key])[0]

        return ClusterPlan(plan, explained, chosen(plan) if chosen else None, warnings)

    def _run(self, objects: Sequence[KubeObject], program: Program, cycles: int) -> SchedulingPlan:
        if self._dump is not None:
            return replay(_with_objects(self._dump, objects), program, cycles)
        return make_plan(objects, program, cycles=cycles, now=self.now, **self._arguments)

    def _trials(self, objects: Sequence[KubeObject], program: Program, cycles: int) -> Trials:
        if self._dump is not None:
            return DumpTrials(_with_objects(self._dump, objects), program, cycles=cycles)
        return Trials(objects, program, cycles=cycles, now=self.now, **self._arguments)

    @property
    def _arguments(self) -> dict[str, Any]:
        return {each.name: getattr(self._settings, each.name) for each in fields(self._settings)}

    def __repr__(self) -> str:
        return f"<Cluster {self._title}: {', '.join(f'{count:,} {kind}' for kind, count in self._counts().items())}>"

    def _counts(self) -> Mapping[str, int]:
        counts = Counter(entry.kind_name for entry in self.objects)
        return {kind: counts[kind] for kind in _SHOWN_KINDS}

    def _repr_html_(self) -> str:
        shown = table(("kind", "objects"), self._counts().items())
        return heading(f"Cluster {self._title}", f"policy {self.policy.name}") + shown + listing(self.warnings)


def _with_objects(dump: Dump, objects: Sequence[KubeObject]) -> Dump:
    return replace(dump, contents=replace(dump.contents, objects=objects))


def _with_groups(objects: Sequence[KubeObject], scheduler_names: Sequence[str]) -> list[KubeObject]:
    """Add the groups of plain pods, which the objects of a dump have from a controller."""
    grouped: dict[tuple[type, str], KubeObject] = {}
    for entry in objects:
        if isinstance(entry, Pod) and is_plain(entry, scheduler_names):
            group = group_for(entry)
            grouped.setdefault((type(group), group.key), group)
            entry = with_group(entry, group.metadata.name)
        grouped[type(entry), entry.key] = entry
    return list(grouped.values())


def _without_pods(found: Manifests) -> list[str]:
    unknown = [f"{subject} could not be judged: its pods are not known" for subject in found.unjudged]
    return [*unknown, *(f"{subject} {reason} and has no pods" for subject, reason in found.inactive.items())]
