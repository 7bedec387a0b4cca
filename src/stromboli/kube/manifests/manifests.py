"""Objects from manifest files.

Files are written by hand, so they are read as tolerantly as `kubectl apply` does: lists are flattened, a missing
namespace is `default`, and of two objects with the same name the later counts. Everything that is not used is reported
as a note or a problem, and an invalid object never hides the others.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TextIO

from stromboli.kube.manifests.errors import ObjectError, description_of, printable
from stromboli.kube.manifests.job_pods import is_job, pods_of_job
from stromboli.kube.manifests.sources import ManifestError, read_sources
from stromboli.kube.manifests.yaml import load_documents
from stromboli.kube.manifests.yaml_errors import YamlError
from stromboli.kube.objects.kinds import KubeObject, Unknown, decode, name_of

DEFAULT_NAMESPACE = "default"
MAX_NAME_LENGTH = 253
_MAX_NAMED = 3
MAX_PROBLEMS = 1000
"""Further problems are only counted: a hostile file can contain millions."""

__all__ = ["ManifestError", "ManifestProblem", "Manifests", "read_manifests"]


@dataclass(frozen=True, slots=True)
class ManifestProblem:
    """An object that was left out, its source and the reason."""

    source: str
    error: ObjectError

    def __str__(self) -> str:
        return f"{self.source}: {self.error}"


@dataclass(slots=True)
class Manifests:
    """Objects in reading order, problems, and notes."""

    objects: list[KubeObject] = field(default_factory=list)
    problems: list[ManifestProblem] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def read_manifests(paths: Sequence[str], stdin: TextIO | None = None) -> Manifests:
    """Read all objects in files, folders and, for `-`, standard input. Raises ManifestError for an unusable source."""
    collector = _Collector()
    for source, text in read_sources(paths, stdin):
        try:
            documents = load_documents(text, source)
        except YamlError as error:
            raise ManifestError(str(error)) from None
        else:
            collector.add(source, documents)
    return collector.manifests()


class _Collector:
    """Collects objects from several sources."""

    def __init__(self) -> None:
        self._objects: dict[tuple[str, str], tuple[str, KubeObject]] = {}
        self._problems: list[ManifestProblem] = []
        self._problems_left_out = 0
        self._notes: list[str] = []
        self._unknown: Counter[Unknown] = Counter()

    def add(self, source: str, documents: list[object]) -> None:
        for number, document in enumerate(documents, start=1):
            for item in _flattened(document):
                try:
                    for part in pods_of_job(item) if is_job(item) else [item]:
                        self._add(source, number, part)
                except ObjectError as error:
                    error.name = error.name or f"in document {number}"
                    self.report(source, error)

    def report(self, source: str, error: ObjectError) -> None:
        if len(self._problems) < MAX_PROBLEMS:
            self._problems.append(ManifestProblem(source, error))
        else:
            self._problems_left_out += 1

    def _add(self, source: str, number: int, item: object) -> None:
        decoded = decode(_object_document(item, number))
        if isinstance(decoded, Unknown):
            self._unknown[decoded] += 1
            return
        _complete(decoded)
        identity = (type(decoded).kind_name, decoded.key)
        if earlier := self._objects.pop(identity, None):
            self._notes.append(f"{' '.join(identity)} in {source} replaces the one in {earlier[0]}")
        self._objects[identity] = (source, decoded)

    def manifests(self) -> Manifests:
        notes = self._notes + [_skipped(kind, count) for kind, count in self._unknown.items()]
        notes += _replace_shared_uids([item for _, item in self._objects.values()])
        if self._problems_left_out:
            notes.append(f"{self._problems_left_out} more problems are not listed")
        return Manifests([item for _, item in self._objects.values()], self._problems, notes)


def _flattened(document: object) -> Iterator[object]:
    """Yield the document itself, or the items of nested lists, without recursion."""
    pending = [] if document is None else [document]
    while pending:
        item = pending.pop()
        items = _items(item)
        if items is None:
            yield item
        else:
            pending.extend(reversed(items))


def _items(document: object) -> list[object] | None:
    """The items of a list, or None if it is not a list. Items of a PodList inherit apiVersion and kind."""
    if isinstance(document, list):
        return document
    if not isinstance(document, Mapping) or not _is_list(document):
        return None
    items, kind = document.get("items"), str(document["kind"]).removesuffix("List")
    if items is None:
        return []
    if not isinstance(items, list):
        return None
    inherited = {"apiVersion": document.get("apiVersion"), "kind": kind} if kind else {}
    return [{**inherited, **item} if isinstance(item, dict) else item for item in items]


def _is_list(document: Mapping[str, object]) -> bool:
    kind = document.get("kind")
    return isinstance(kind, str) and (kind == "List" or (kind.endswith("List") and "items" in document))


def _object_document(item: object, number: int) -> Mapping[str, object]:
    if not isinstance(item, Mapping):
        message = f"expected a Kubernetes object, got {description_of(item)}"
        raise ObjectError("document", str(number), "", message, "write a map with apiVersion, kind and metadata")
    if _is_list(item):
        message = f"expected a list, got {description_of(item['items'])}"
        raise ObjectError(str(item["kind"]), name_of(item), "items", message, "write a list of objects")
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
    metadata.uid = metadata.uid or f"{type(item).kind_name}/{item.key}"


def _replace_shared_uids(items: Sequence[KubeObject]) -> list[str]:
    """Copies that kept the uid of their original are distinct objects; with equal uids one would hide the other.

    All of them get a new uid, so that the result does not depend on the reading order.
    """
    holders: defaultdict[tuple[str, str], list[KubeObject]] = defaultdict(list)
    for item in items:
        holders[type(item).kind_name, item.metadata.uid].append(item)
    shared = {identity: found for identity, found in holders.items() if len(found) > 1}
    for (kind, _), found in shared.items():
        for item in found:
            item.metadata.uid = f"{kind}/{item.key}"
    return [_sharing(kind, uid, sorted(item.key for item in found)) for (kind, uid), found in shared.items()]


def _sharing(kind: str, uid: str, keys: Sequence[str]) -> str:
    more = f" and {len(keys) - _MAX_NAMED} more" if len(keys) > _MAX_NAMED else ""
    names = ", ".join(keys[:_MAX_NAMED]) + more
    return printable(f"{kind} {names} have the same uid {uid}, which was ignored; remove metadata.uid from copies")


def _check_name(item: KubeObject, place: str, text: str) -> None:
    """Reject names that would break keys, paths or output."""
    if not text:
        message = "is missing"
    elif len(text) > MAX_NAME_LENGTH:
        message = f"is longer than {MAX_NAME_LENGTH} characters"
    elif not text.isprintable() or any(character in " /%" for character in text):
        message = "contains a space, a slash or an unprintable character"
    else:
        return
    name = item.key if item.metadata.name else ""
    raise ObjectError(type(item).kind_name, name, place, message, "write a name such as train-1")


def _skipped(kind: Unknown, count: int) -> str:
    things = "1 object" if count == 1 else f"{count} objects"
    return printable(f"skipped {things} of unknown kind {kind.api_version} {kind.kind}")
