"""Objects from manifest files.

Files are written by hand, so they are read as tolerantly as `kubectl apply` does: lists are flattened, a missing
namespace is `default`, and of two objects with the same name the later counts. Everything that is not used is reported
as a note or a problem, and an invalid object never hides the others.
"""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TextIO

from stromboli.kube.manifests.documents import flattened, object_document, with_namespace
from stromboli.kube.manifests.errors import ObjectError, description_of, printable
from stromboli.kube.manifests.expansions import DescribedObject, ExpandedDocument, WorkloadExpander
from stromboli.kube.manifests.generated_names import GeneratedNames
from stromboli.kube.manifests.name_warnings import NameWarnings
from stromboli.kube.manifests.origins import Origin, Origins, path_of
from stromboli.kube.manifests.sources import ManifestError, load_sources
from stromboli.kube.manifests.value_checks import value_problems
from stromboli.kube.objects.kinds import KubeObject, Unknown, decode, name_of
from stromboli.kube.work.collection import collection_paused

DEFAULT_NAMESPACE = "default"
MAX_NAME_LENGTH = 253
_FORBIDDEN = frozenset(" /%")
_MAX_NAMED = 3
MAX_PROBLEMS = 1000
"""Further problems are only counted: a hostile file can contain millions."""

__all__ = ["ManifestError", "ManifestProblem", "Manifests", "read_manifests"]


@dataclass(frozen=True, slots=True)
class ManifestProblem:
    """An object that was left out, its file and line, and the reason."""

    place: str
    error: ObjectError

    def __str__(self) -> str:
        return f"{self.place}: {self.error}"


@dataclass(slots=True)
class Manifests:
    """Objects in reading order and where they were read, problems, and notes."""

    objects: list[KubeObject] = field(default_factory=list)
    problems: list[ManifestProblem] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    origins: Origins = field(default_factory=Origins)
    #: Objects with pods of which the expander does not know how many there are, such as `Foo default/x`.
    unjudged: list[str] = field(default_factory=list)
    #: Workloads without pods at present, with the reason, such as `is suspended`.
    inactive: dict[str, str] = field(default_factory=dict)

    @property
    def unread(self) -> set[tuple[str, str]]:
        """The kinds and keys of objects that were left out."""
        errors = [problem.error for problem in self.problems]
        return {(error.kind, key) for error in errors for key in (error.name, f"{DEFAULT_NAMESPACE}/{error.name}")}

    @property
    def warnings(self) -> list[str]:
        return [*map(str, self.problems), *self.notes]


def read_manifests(
    paths: Sequence[str],
    stdin: TextIO | None = None,
    expander: WorkloadExpander | None = None,
    namespace_for: Callable[[Sequence[object]], str] = lambda items: DEFAULT_NAMESPACE,
) -> Manifests:
    """Read all objects in files, folders and, for `-`, standard input, and what the expander makes of workloads.
    `namespace_for` returns the namespace of objects without one, for all documents that were read. Raises ManifestError
    for an unusable source.
    """
    with collection_paused():
        found = [
            (Origin(text, number, path), item)
            for text, documents in load_sources(paths, stdin)
            for number, document in enumerate(documents)
            for path, item in flattened(document)
        ]
        collector = _Collector(expander, namespace_for([item for _, item in found]))
        for origin, item in found:
            collector.add(origin, item)
        collector.expand()
        return collector.manifests()


class _Collector:
    """Collects objects from several sources."""

    def __init__(self, expander: WorkloadExpander | None, namespace: str) -> None:
        self._expander = expander
        self._namespace = namespace
        self._objects: dict[tuple[type[KubeObject], str], tuple[Origin, KubeObject]] = {}
        #: The workloads by API group, kind and key.
        self._workloads: dict[tuple[str, str, str], tuple[Origin, Mapping[str, Any]]] = {}
        self._unjudged: list[str] = []
        self._inactive: dict[str, str] = {}
        self._problems: list[ManifestProblem] = []
        self._problems_left_out = 0
        self._notes: list[str] = []
        self._names = NameWarnings()
        self._generated = GeneratedNames()

    def add(self, origin: Origin, item: object) -> None:
        """Add an object, or report why it is left out."""
        try:
            self._add(origin, item)
        except ObjectError as error:
            self._reject(origin, error)

    def _reject(self, origin: Origin, error: ObjectError) -> None:
        if len(self._problems) >= MAX_PROBLEMS:
            self._problems_left_out += 1
            return
        error.name = error.name or f"in document {origin.document + 1}"
        self._problems.append(ManifestProblem(origin.place(path_of(error.field)), error))

    def _add(self, origin: Origin, item: object) -> None:
        document = self._generated.named(object_document(item, origin.document + 1))
        if self._namespace != DEFAULT_NAMESPACE:
            document = with_namespace(document, self._namespace)
        decoded = decode(document)
        if not isinstance(decoded, Unknown):
            self._put(origin, decoded)
            self._names.check_names(document, type(decoded).kind_name, decoded.key, origin)
        elif self._expander is not None and self._expander.is_read(document):
            self._keep(origin, document, decoded)
        else:
            self._names.check_kind(decoded, origin)

    def _keep(self, origin: Origin, document: Mapping[str, Any], kind: Unknown) -> None:
        """Keep a workload until all objects are read, of which it may depend."""
        key = workload_key(document, kind.kind)
        identity = (kind.api_version.rpartition("/")[0], kind.kind, key)
        if earlier := self._workloads.pop(identity, None):
            self._note(origin.place(), f"{kind.kind} {key} replaces the one in {earlier[0].place()}; remove one")
        self._workloads[identity] = (origin, document)

    def expand(self) -> None:
        """Add the objects that controllers create for the workloads."""
        if self._expander is None or not self._workloads:
            return
        entries = list(self._workloads.items())
        objects = [item for _, item in self._objects.values()]
        for expanded in self._expander.expand([document for _, (_, document) in entries], objects):
            (_, kind, key), (origin, document) = entries[expanded.place]
            self._names.check_names(document, kind, key, origin)
            if expanded.is_unjudged:
                self._unjudged.append(f"{kind} {key}")
                self._names.check_unjudged(Unknown(str(document["apiVersion"]), kind), f"{kind} {key}", origin)
            elif expanded.error is not None:
                self._reject(origin, expanded.error)
            else:
                self._put_all(kind, key, origin, document, expanded)
                if expanded.inactive:
                    self._inactive[f"{kind} {key}"] = expanded.inactive

    def _put_all(
        self, kind: str, key: str, origin: Origin, document: Mapping[str, Any], expanded: ExpandedDocument
    ) -> None:
        """Put all objects of a workload, or none if one of them is invalid."""
        try:
            created = [(each.field, _created(each, kind, key)) for each in expanded.objects]
        except ObjectError as error:
            self._reject(origin, error)
            return
        for note in expanded.notes:
            self._note(f"note: {origin.place()}", f"{kind} {key}: {note}")
        for part, created_kind in dict.fromkeys((part, type(item).kind_name) for part, item in created):
            self._names.check_template(document, part, created_kind, f"{kind} {key}", origin)
        for part, item in created:
            self._put(origin._replace(path=(*origin.path, *path_of(part))), item)

    def _put(self, origin: Origin, item: KubeObject) -> None:
        _complete(item)
        for place, message in value_problems(item):
            self._note(origin.place(path_of(place)), f"{type(item).kind_name} {item.key}: {place}: {message}")
        identity = (type(item), item.key)
        if earlier := self._objects.pop(identity, None):
            subject = f"{type(item).kind_name} {item.key}"
            self._note(origin.place(), f"{subject} replaces the one in {earlier[0].place()}; remove one")
        self._objects[identity] = (origin, item)

    def _note(self, place: str, message: str) -> None:
        if len(self._notes) < MAX_PROBLEMS:
            self._notes.append(f"{place}: {printable(message)}")
        else:
            self._problems_left_out += 1

    def manifests(self) -> Manifests:
        objects = [item for _, item in self._objects.values()]
        notes = self._notes + _replace_shared_uids(objects)
        if self._problems_left_out:
            notes.append(f"{self._problems_left_out} more problems are not listed")
        notes += self._names.lines()
        origins = Origins()
        for (kind, key), (origin, _) in self._objects.items():
            origins.add(kind.kind_name, key, origin)
        return Manifests(objects, self._problems, notes, origins, self._unjudged, self._inactive)


def workload_key(document: Mapping[str, Any], kind: str) -> str:
    """Return namespace and name of a workload. Raises ObjectError if it has no usable name."""
    metadata = document.get("metadata")
    parts = metadata if isinstance(metadata, Mapping) else {}
    prefix = parts.get("generateName")
    name = parts.get("name") or (prefix.rstrip("-") if isinstance(prefix, str) else prefix)
    namespace = parts.get("namespace") or DEFAULT_NAMESPACE
    for field_name, text in (("metadata.name", name), ("metadata.namespace", namespace)):
        if (message := _name_problem(text)) is not None:
            raise ObjectError(kind, name_of(document), field_name, message, "write a name such as train-1")
    return f"{namespace}/{name}"


def _created(described: DescribedObject, kind: str, key: str) -> KubeObject:
    """Decode an object of a workload. Raises ObjectError about the workload."""
    try:
        item = decode(described.document)
    except ObjectError as error:
        field_name = f"{described.field}.{error.field}".strip(".")
        raise ObjectError(kind, key, field_name, error.message, error.remedy) from None
    if isinstance(item, Unknown):
        raise TypeError(f"{item.kind} is not a kind that workloads create")
    try:
        _complete(item)
    except ObjectError as error:
        message = f"{error.kind} {error.name}: {error.field} {error.message}"
        raise ObjectError(kind, key, described.field, message, error.remedy) from None
    return item


def _complete(item: KubeObject) -> None:
    """Set what the API server would set: the namespace, and a uid that is the same on every reading."""
    metadata = item.metadata
    if not item.namespaced:
        metadata.namespace = ""
    elif not metadata.namespace:
        metadata.namespace = DEFAULT_NAMESPACE
    _check_name(item, "metadata.name", metadata.name)
    if item.namespaced:
        _check_name(item, "metadata.namespace", metadata.namespace)
    metadata.uid = metadata.uid or _own_uid(item)


def _own_uid(item: KubeObject) -> str:
    """Return a uid by type and key: PodGroups of Volcano and of Kubernetes may have the same key."""
    return f"{type(item).__name__.removeprefix('Kube')}/{item.key}"


def _replace_shared_uids(items: Sequence[KubeObject]) -> list[str]:
    """Copies that kept the uid of their original are distinct objects; with equal uids one would hide the other.

    All of them get a new uid, so that the result does not depend on the reading order.
    """
    holders: defaultdict[tuple[str, str], list[KubeObject]] = defaultdict(list)
    for item in items:
        holders[type(item).kind_name, item.metadata.uid].append(item)
    shared = {identity: found for identity, found in holders.items() if len(found) > 1}
    for found in shared.values():
        for item in found:
            item.metadata.uid = _own_uid(item)
    return [_sharing(kind, uid, sorted(item.key for item in found)) for (kind, uid), found in shared.items()]


def _sharing(kind: str, uid: str, keys: Sequence[str]) -> str:
    more = f" and {len(keys) - _MAX_NAMED} more" if len(keys) > _MAX_NAMED else ""
    names = ", ".join(keys[:_MAX_NAMED]) + more
    return printable(f"{kind} {names} have the same uid {uid}, which was ignored; remove metadata.uid from copies")


def _check_name(item: KubeObject, place: str, text: str) -> None:
    """Reject names that would break keys, paths or output."""
    if (message := _name_problem(text)) is not None:
        name = item.key if item.metadata.name else ""
        raise ObjectError(type(item).kind_name, name, place, message, "write a name such as train-1")


def _name_problem(text: object) -> str | None:
    if not text:
        return "is missing"
    if not isinstance(text, str):
        return f"expected a string, got {description_of(text)}"
    if len(text) > MAX_NAME_LENGTH:
        return f"is longer than {MAX_NAME_LENGTH} characters"
    if not text.isprintable() or not _FORBIDDEN.isdisjoint(text):
        return "contains a space, a slash or an unprintable character"
    return None
