"""The state of a scheduler, as people of one namespace may see it."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec

from stromboli import kube
from stromboli.cli.answers.submitted import check_submitted
from stromboli.cli.output import Failure
from stromboli.cli.plan_input import JobSelection
from stromboli.cli.policies import parse_policy, read_configuration, read_registry
from stromboli.cli.scenario import Scenario
from stromboli.cluster.dump.contents import Contents
from stromboli.cluster.dump.dump import Dump
from stromboli.core.model.values.times import format_timestamp
from stromboli.core.session.program import Program
from stromboli.kube import KubeObject
from stromboli.kube.manifests.manifests import ManifestError, Manifests
from stromboli.planner.advice import Advice
from stromboli.planner.changes import ObjectChange
from stromboli.planner.live.focus import limited_to
from stromboli.planner.live.submission import submit
from stromboli.planner.plan import SchedulingPlan
from stromboli.planner.remedies import Remedies
from stromboli.visibility.names import HiddenNames
from stromboli.visibility.questions import Question
from stromboli.workloads.reading import read_with_workloads

_WORD = re.compile(r"[-a-z0-9]+")
#: Characters that JSON escapes, none of which is part of a name.
_ESCAPED = re.compile(r"\\(?:u[0-9a-f]{4}|.)")


@dataclass(frozen=True, slots=True)
class NamespaceScenario(Scenario):
    """A scenario of which only the jobs of some namespaces are shown, and others are counted."""

    #: The namespaces whose jobs are shown; None for all.
    readable: Collection[str] | None = ()
    names: HiddenNames = field(default_factory=lambda: HiddenNames((), ()))

    def plan(self) -> SchedulingPlan:
        """Run the cycles. Warnings about objects of others are left out."""
        plan = Scenario.plan(self)
        plan.warnings = [warning for warning in plan.warnings if not self.names.mentions(warning)]
        return plan

    def nameable(self, plan: SchedulingPlan) -> SchedulingPlan:
        """Pods of others that the jobs evict are in their plan, but are no names."""
        limited = limited_to(plan, [key for key in plan.groups if self._has(key)])
        for cycle in limited.cycles:
            cycle.records = {pod: record for pod, record in cycle.records.items() if self._has(record.job)}
        return limited

    def _has(self, key: str) -> bool:
        return self.readable is None or key.partition("/")[0] in self.readable

    def advise(self, plan: SchedulingPlan, jobs: Sequence[str], *, is_brief: bool = False) -> list[Advice]:
        """Explain jobs. Changes of objects of other namespaces are not proposed."""
        found = Scenario.advise(self, plan, jobs, is_brief=is_brief)
        return [replace(each, remedies=self._own(each.remedies)) for each in found]

    def _own(self, remedies: Remedies) -> Remedies:
        changes = [change for change in (remedies.smallest, *remedies.alternatives) if change and self._is_own(change)]
        return replace(remedies, smallest=changes[0] if changes else None, alternatives=changes[1:])

    def _is_own(self, change: ObjectChange) -> bool:
        return not any(self.names.mentions(edit.key) for edit in change.edits)


def namespace_scenario(dump: Dump, question: Question, plugins: Sequence[str] = ()) -> NamespaceScenario:
    """Return the state of a dump, with the objects of the question. Invalid ones end the command."""
    contents, registry = dump.contents, read_registry(plugins)
    present = list(present_objects(contents, dump.now))
    submitted = _read(question, contents.scheduler_names)
    submission = submit(present, submitted.objects, dump.now)
    configuration = (
        parse_policy(dump.configuration, registry, "the policy of the scheduler")
        if dump.configuration
        else read_configuration(None, registry)
    )
    return NamespaceScenario(
        submission.objects, Program(configuration, registry), 1, contents.seed, tuple(contents.scheduler_names),
        [*submission.notes, *submitted.notes],
        unjudged=submitted.unjudged, inactive=submitted.inactive, shard=contents.shard, now=dump.now,
        default_queue=contents.default_queue, node_selector=contents.node_selector,
        selection=JobSelection(None if question.objects is None else submission, question.namespace),
        is_live=True, registry=registry, readable=(question.namespace,),
        names=HiddenNames((question.namespace,), namespaces_in(present) | words_of(question)),
    )  # fmt: skip


def namespaces_in(objects: Sequence[KubeObject]) -> set[str]:
    named = {entry.metadata.name for entry in objects if isinstance(entry, kube.Namespace)}
    return named | {entry.metadata.namespace for entry in objects if entry.metadata.namespace}


def words_of(question: msgspec.Struct) -> set[str]:
    """Return the words of a question. They are hidden like namespaces: otherwise the answer would show which of them
    are namespaces, also by the beginning of a name.
    """
    text = _ESCAPED.sub(" ", msgspec.json.encode(question).decode())
    words = set(_WORD.findall(text))
    return words | {word.strip("-") for word in words}


def present_objects(contents: Contents, now: float) -> Iterator[KubeObject]:
    """Yield the objects with the decisions that are not written yet."""
    nodes = {placement.uid: placement.node for placement in contents.placements}
    leaving, moment = frozenset(contents.leaving), format_timestamp(now)
    for entry in contents.objects:
        if isinstance(entry, kube.Pod):
            yield _decided(entry, nodes.get(entry.metadata.uid, ""), moment if entry.metadata.uid in leaving else "")
        elif isinstance(entry, kube.PodGroup) and entry.key in contents.phases:
            status = msgspec.structs.replace(entry.status, phase=contents.phases[entry.key])
            yield msgspec.structs.replace(entry, status=status)
        else:
            yield entry  # type: ignore[misc]


def _decided(pod: kube.Pod, node: str, deleted: str) -> kube.Pod:
    if node and not pod.spec.node_name:
        pod = msgspec.structs.replace(pod, spec=msgspec.structs.replace(pod.spec, node_name=node))
    if deleted and not pod.metadata.deletion_timestamp:
        metadata = msgspec.structs.replace(pod.metadata, deletion_timestamp=deleted)
        pod = msgspec.structs.replace(pod, metadata=metadata)
    return pod


def _read(question: Question, scheduler_names: Sequence[str]) -> Manifests:
    """Read the objects of a question as files are read, with the pods of their workloads."""
    if not question.objects:
        return Manifests()
    with TemporaryDirectory(prefix="stromboli-answer-") as folder:
        path = Path(folder) / "objects.json"
        path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": question.objects}))
        try:
            found = read_with_workloads(
                [str(path)], scheduler_names=scheduler_names, namespace_for=lambda items: question.namespace
            )
        except ManifestError as error:
            raise Failure(error) from error
    if found.problems:
        raise Failure("; ".join(str(problem.error) for problem in found.problems))
    check_submitted(found.objects, question.namespace)
    return found
