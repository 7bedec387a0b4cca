"""What controllers create for a workload: PodGroups, pods and claims, as documents.

Expanders are pure functions from a workload and its context to an expansion. A controller creates the same documents,
so that a plan and a cluster cannot differ.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from stromboli.kube.objects.cluster import KubeNode
from stromboli.workloads.document import WorkloadDocument
from stromboli.workloads.families.volcano.changes import JobChanges
from stromboli.workloads.templates import Kind

#: More pods of one workload are rejected.
MAX_PODS = 10_000

#: Returns the changes that the plugins of a Volcano Job make.
PlannedPlugins = Callable[[WorkloadDocument], JobChanges]

#: Returns an object of a cluster by kind, namespace and name; None if it does not exist. Raises ReferenceDenied.
FindReference = Callable[[Kind, str, str], Mapping[str, Any] | None]


class ReferenceDenied(Exception):
    """An object of the cluster may not be read."""


class CreatedObject(NamedTuple):
    """An object, and the field of the workload that describes it, which messages name."""

    document: dict[str, Any]
    field: str = ""
    #: The annotations of its owner that its group inherits if it names none.
    inherited: Mapping[str, str] = {}


class CreatedWorkload(NamedTuple):
    """A workload that a controller creates for another one, which is expanded in its turn."""

    document: dict[str, Any]
    #: The field of the workload that describes it.
    field: str
    #: Whether the field is its spec, so that fields of the spec are fields of the workload.
    is_spec: bool = True

    def field_of(self, inner: str) -> str:
        """Return the field of the workload for a field of the created one."""
        is_within = self.is_spec and inner.partition(".")[0] == "spec"
        return f"{self.field}{inner.removeprefix('spec')}" if is_within else self.field


@dataclass(slots=True)
class Expansion:
    """The objects that exist at once: pods of later steps are created when earlier ones are done."""

    pods: list[CreatedObject] = field(default_factory=list)
    groups: list[CreatedObject] = field(default_factory=list)
    claims: list[CreatedObject] = field(default_factory=list)
    workloads: list[CreatedWorkload] = field(default_factory=list)
    #: What was assumed, or is left out; complete sentences that follow kind and name.
    notes: list[str] = field(default_factory=list)
    #: What the objects of each kind depend on in the installation of its operator.
    assumptions: list[str] = field(default_factory=list)
    #: Why it has no pods at present, such as `is suspended`; empty if it has.
    inactive: str = ""
    #: The run time that the workload declares for its pods, such as 1h or 90s; empty for none.
    run_time: str = ""

    def add(self, other: Expansion) -> None:
        self.pods += other.pods
        self.groups += other.groups
        self.claims += other.claims
        self.workloads += other.workloads
        self.notes += (note for note in other.notes if note not in self.notes)
        self.assumptions += (each for each in other.assumptions if each not in self.assumptions)
        self.run_time = self.run_time or other.run_time

    @property
    def objects(self) -> Sequence[CreatedObject]:
        return (*self.claims, *self.groups, *self.pods)


@dataclass(frozen=True, slots=True)
class ExpansionContext:
    """What an expansion depends on besides its workload."""

    #: The names of this scheduler; operators that choose one for their pods use the first that they know.
    scheduler_names: Sequence[str] = ("volcano",)
    nodes: Sequence[KubeNode] = ()
    #: The values of priority classes.
    priorities: Mapping[str, int] = field(default_factory=dict)
    #: Objects that workloads refer to, such as JobTemplates, by kind and key; without a namespace, by kind and name.
    references: Mapping[tuple[Kind, str], WorkloadDocument] = field(default_factory=dict)
    #: Those of them that a workload has named so far.
    named: set[tuple[Kind, str]] = field(default_factory=set)
    #: Finds others in the cluster to which the workloads are submitted.
    find: FindReference | None = None
    #: The current time; None if it is not known.
    now: float | None = None
    #: The plugins of Volcano Jobs.
    job_plugins: PlannedPlugins = lambda job: JobChanges()

    def priority_of(self, name: str) -> int:
        return self.priorities.get(name, 0)

    def reference(
        self, workload: WorkloadDocument, path: str, kind: Kind, name: str, *, is_namespaced: bool = True
    ) -> WorkloadDocument:
        """Return the object that a field of a workload names. Raises ObjectError if there is none."""
        namespace = workload.namespace if is_namespaced else ""
        key = f"{namespace}/{name}" if is_namespaced else name
        self.named.add((kind, key))
        found = self.references.get((kind, key)) or self._found(workload, path, kind, namespace, name)
        if found is not None:
            return found
        where = "is not in the input" if self.find is None else "is neither in the input nor in the cluster"
        raise workload.error(path, f"{kind[1]} {name} {where}", f"add the {kind[1]}")

    def _found(
        self, workload: WorkloadDocument, path: str, kind: Kind, namespace: str, name: str
    ) -> WorkloadDocument | None:
        if self.find is None or not name:
            return None
        try:
            document = self.find(kind, namespace, name)
        except ReferenceDenied as error:
            raise workload.error(path, str(error), f"add the {kind[1]} to the input") from None
        return None if document is None else WorkloadDocument(document)


Expander = Callable[[WorkloadDocument, ExpansionContext], Expansion]


def checked_number(workload: WorkloadDocument, number: int, path: str) -> int:
    """Return a number of pods. Raises ObjectError if a plan cannot contain them."""
    if number > MAX_PODS:
        raise workload.error(path, f"{number} pods are more than {MAX_PODS}", "write a smaller number")
    return number
