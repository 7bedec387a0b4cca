"""Expands the workloads among documents: which of them stand for pods that are not in the input, and for which."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from stromboli import kube
from stromboli.kube.fields.kind_names import KINDS_OF_GROUPS
from stromboli.kube.manifests.errors import ObjectError
from stromboli.kube.manifests.expansions import DescribedObject, ExpandedDocument
from stromboli.kube.objects.kinds import KINDS, KubeObject
from stromboli.workloads.document import WorkloadDocument
from stromboli.workloads.existing import ExistingObjects, has_counted_pods, has_ended, is_from_cluster
from stromboli.workloads.expansion import (
    CreatedObject,
    CreatedWorkload,
    Expansion,
    ExpansionContext,
    FindReference,
    PlannedPlugins,
)
from stromboli.workloads.families.volcano.changes import JobChanges
from stromboli.workloads.groups_of_plain_pods import with_plain_groups
from stromboli.workloads.inactive import inactivity_of, kueue_note
from stromboli.workloads.pod_templates import pod_templates_in
from stromboli.workloads.registry import FAMILIES, REFERENCES, WorkloadFamily
from stromboli.workloads.simulated import declare_times
from stromboli.workloads.templates import Kind


class ClusterBeside(NamedTuple):
    """The cluster to which manifests are submitted."""

    #: Pods may depend on its nodes and priority classes.
    objects: Sequence[KubeObject] = ()
    #: Finds objects that workloads refer to; None without a cluster.
    find: FindReference | None = None


#: The scheduler of pods that name none.
DEFAULT_SCHEDULER = "default-scheduler"
#: Why a template has no pods.
_UNNAMED = "is a template that no workload of the input names"
#: Returns the cluster beside manifests, which has these objects.
FindCluster = Callable[[Sequence[KubeObject]], ClusterBeside]


class Expanders:
    """The expander of manifests, with the kinds of the registry and those that the user describes.

    `beside` returns the cluster to which the manifests are submitted, `now` is the current time, and `job_plugins`
    returns the changes of the plugins of a Volcano Job.
    """

    def __init__(
        self,
        scheduler_names: Sequence[str],
        described: Mapping[Kind, WorkloadFamily] | None = None,
        beside: FindCluster = lambda objects: ClusterBeside(),
        now: float | None = None,
        job_plugins: PlannedPlugins = lambda job: JobChanges(),
    ) -> None:
        self._scheduler_names = scheduler_names
        self._beside = beside
        self._now = now
        self._job_plugins = job_plugins
        self._families = {**FAMILIES, **(described or {})}

    def is_read(self, document: Mapping[str, Any]) -> bool:
        kind = WorkloadDocument(document).kind
        if kind in KINDS:
            return False
        return kind in self._families or kind in REFERENCES or _is_unknown(kind, document)

    def expand(
        self, documents: Sequence[Mapping[str, Any]], objects: Sequence[KubeObject]
    ) -> Iterator[ExpandedDocument]:
        workloads = [WorkloadDocument(each) for each in documents]
        context = self._context(workloads, objects)
        expansion = _Run(self._families, workloads, objects, context)
        for index, workload in enumerate(workloads):
            if workload.kind not in REFERENCES:
                yield expansion.expand(index, workload)
        for index, workload in enumerate(workloads):
            if workload.kind in REFERENCES and (workload.kind, _reference_key(workload)) not in context.named:
                yield ExpandedDocument(index, notes=[f"it {_UNNAMED} and creates no pods"], inactive=_UNNAMED)

    def _context(self, workloads: Sequence[WorkloadDocument], objects: Sequence[KubeObject]) -> ExpansionContext:
        cluster = self._beside(objects)
        everything = [*cluster.objects, *objects]
        return ExpansionContext(
            self._scheduler_names,
            nodes=sorted((each for each in everything if isinstance(each, kube.KubeNode)), key=lambda node: node.key),
            priorities={each.key: each.value or 0 for each in everything if isinstance(each, kube.PriorityClass)},
            references={(each.kind, _reference_key(each)): each for each in workloads if each.kind in REFERENCES},
            find=cluster.find,
            now=self._now,
            job_plugins=self._job_plugins,
        )


def _is_unknown(kind: Kind, document: Mapping[str, Any]) -> bool:
    """Report whether an object of another project, or of a misspelt kind, has a pod template."""
    return kind[1] not in KINDS_OF_GROUPS.get(kind[0], ()) and bool(pod_templates_in(document))


class _Run:
    """The expansion of one input."""

    def __init__(
        self,
        families: Mapping[Kind, WorkloadFamily],
        workloads: Sequence[WorkloadDocument],
        objects: Sequence[KubeObject],
        context: ExpansionContext,
    ) -> None:
        self._families = families
        self._existing = ExistingObjects((each for each in objects if isinstance(each, kube.Pod)), workloads)
        self._context = context
        #: The keys of objects that were read, and of those that were created for earlier workloads with their kind and
        #: key.
        self._taken = {(type(each).kind_name, each.key): "" for each in objects}
        #: Assumptions that earlier workloads had.
        self._assumed: set[str] = set()

    def expand(self, index: int, workload: WorkloadDocument) -> ExpandedDocument:
        family = self._families.get(workload.kind)
        if family is None:
            return ExpandedDocument(index, is_unjudged=not self._existing.has_children_of(workload))
        try:
            expansion = self._expansion(workload, family)
        except ObjectError as error:
            return ExpandedDocument(index, error=error)
        objects = [DescribedObject(each.document, each.field) for each in expansion.objects if self._is_new(each)]
        self._taken |= {_identity(each.document): f"{workload.kind[1]} {workload.key}" for each in objects}
        assumptions = [each for each in expansion.assumptions if each not in self._assumed]
        self._assumed.update(assumptions)
        expansion.notes += filter(None, [self._scheduler_note(expansion)])
        notes = [f"it {expansion.inactive} and creates no pods"] if expansion.inactive else expansion.notes
        return ExpandedDocument(index, objects, [*notes, *assumptions], inactive=expansion.inactive)

    def _scheduler_note(self, expansion: Expansion) -> str:
        """Return a note if all pods of its groups are those of another scheduler, which does not read the groups."""
        names = {each.document["spec"].get("schedulerName") or DEFAULT_SCHEDULER for each in expansion.pods}
        if not expansion.groups or not names or names & {*self._context.scheduler_names}:
            return ""
        return f"its pods have the schedulerName {' or '.join(sorted(names))}, so its PodGroups wait without them"

    def _expansion(self, workload: WorkloadDocument, family: WorkloadFamily) -> Expansion:
        if self._existing.has_children_of(workload) or has_ended(workload):
            return Expansion()
        if family.is_schedule and is_from_cluster(workload):
            return Expansion()
        if reason := inactivity_of(workload, family.suspend):
            return Expansion(inactive=reason)
        if has_counted_pods(workload):
            return Expansion(notes=["it has pods already, which are not in the input; add them"])
        found = self._expand(workload, family)
        if found.pods and self._existing.has_pods_like(workload, _labels_of(workload, found.pods[0])):
            return Expansion()
        found.notes += filter(None, [kueue_note(workload)])
        return found

    def _expand(self, workload: WorkloadDocument, family: WorkloadFamily) -> Expansion:
        """Expand a workload; under another name if its pods would have the names of another workload's pods."""
        found = self._complete(workload, family)
        other = next(filter(None, (self._taken.get(_identity(each.document)) for each in found.objects)), "")
        if not other:
            return found
        renamed = WorkloadDocument(workload.document, f"{workload.name}-{workload.kind[1].lower()}")
        found = self._complete(renamed, family)
        found.notes.append(f"it is shown as {renamed.name}, because {other} has objects of the same names")
        return found

    def _complete(self, workload: WorkloadDocument, family: WorkloadFamily) -> Expansion:
        """Expand a workload, and those that it creates; add the groups of plain pods, and declared times."""
        expansion = family.expand(workload, self._context)
        if expansion.groups and family.assumes:
            expansion.assumptions.append(f"the objects of {workload.kind[1]}s are those {family.assumes}")
        for created in expansion.workloads:
            expansion.add(self._inner(workload, created))
        declare_times(workload, expansion)
        return with_plain_groups(workload, expansion, self._context.scheduler_names)

    def _inner(self, workload: WorkloadDocument, created: CreatedWorkload) -> Expansion:
        """Expand a workload that another one creates."""
        inner = WorkloadDocument(created.document)
        family = self._families.get(inner.kind)
        if family is None:
            has_pods = bool(pod_templates_in(created.document))
            return Expansion(notes=[f"the {inner.kind[1]} that it creates is not planned"] if has_pods else [])
        if reason := inactivity_of(inner, family.suspend):
            return Expansion(notes=[f"the {inner.kind[1]} that it creates {reason}"])
        try:
            found = self._complete(inner, family)
        except ObjectError as error:
            place, known = created.field_of(error.field), created.is_spec
            message = error.message if known else f"{error.kind} {error.name}: {error.field}: {error.message}"
            raise workload.error(place, message, error.remedy) from None
        for objects in (found.pods, found.groups, found.claims):
            objects[:] = [each._replace(field=created.field_of(each.field)) for each in objects]
        return found

    def _is_new(self, created: CreatedObject) -> bool:
        """Report whether an object is not in the input: one that was read counts instead."""
        return _identity(created.document) not in self._taken


def _reference_key(workload: WorkloadDocument) -> str:
    """Return the key of an object that others refer to; its name alone if its kind has no namespace."""
    return workload.name if workload.kind[1].startswith("Cluster") else workload.key


def _identity(document: Mapping[str, Any]) -> tuple[str, str]:
    metadata = document["metadata"]
    return document["kind"], f"{metadata['namespace']}/{metadata['name']}"


def _labels_of(workload: WorkloadDocument, pod: CreatedObject) -> Mapping[str, str]:
    """Return the labels of the template of a pod."""
    labels: Mapping[str, str] = workload.texts(f"{pod.field}.metadata.labels")
    return labels
