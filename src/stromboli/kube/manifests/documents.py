"""Documents of manifests: the items of lists, and the objects among them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from stromboli.kube.fields.kind_names import describe_unknown, is_known
from stromboli.kube.fields.unknown_fields import unknown_fields
from stromboli.kube.manifests.errors import ObjectError, description_of, printable
from stromboli.kube.manifests.lines import Path
from stromboli.kube.manifests.origins import Origin, path_of
from stromboli.kube.manifests.sources import ManifestError
from stromboli.kube.objects.kinds import Unknown, decode, name_of


def flattened(document: object) -> Iterator[tuple[Path, Any]]:
    """Yield the document itself, or the items of nested lists, with their paths, without recursion."""
    pending: list[tuple[Path, object]] = [] if document is None else [((), document)]
    while pending:
        path, item = pending.pop()
        items = _items(item)
        if items is None:
            yield path, item
        else:
            prefix = path if isinstance(item, list) else (*path, "items")
            pending.extend(((*prefix, number), items[number]) for number in reversed(range(len(items))))


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
    if not kind:
        return items
    inherited = {"apiVersion": document.get("apiVersion"), "kind": kind}
    return [{**inherited, **item} if isinstance(item, dict) else item for item in items]


def _is_list(document: Mapping[str, object]) -> bool:
    kind = document.get("kind")
    return isinstance(kind, str) and (kind == "List" or (kind.endswith("List") and "items" in document))


def object_document(item: object, number: int) -> Mapping[str, object]:
    """Return an item that is a Kubernetes object. Raises ObjectError for anything else."""
    if not isinstance(item, Mapping):
        message = f"expected a Kubernetes object, got {description_of(item)}"
        raise ObjectError("document", str(number), "", message, "write a map with apiVersion, kind and metadata")
    if _is_list(item):
        message = f"expected a list, got {description_of(item['items'])}"
        raise ObjectError(str(item["kind"]), name_of(item), "items", message, "write a list of objects")
    return item


def with_namespace(document: Mapping[str, object], namespace: str) -> Mapping[str, object]:
    """Return the document with this namespace, unless it names one. Where it has no meaning, it is removed later."""
    metadata = document.get("metadata")
    if not isinstance(metadata, Mapping) or metadata.get("namespace"):
        return document
    return {**document, "metadata": {**metadata, "namespace": namespace}}


def valid_document(origin: Origin, item: object) -> dict[str, Any]:
    """Return an object as it was read. Raises ManifestError if it cannot be decoded, or if its kind or a field does not
    exist.
    """
    try:
        document = object_document(item, origin.document + 1)
        decoded = decode(document)
    except ObjectError as error:
        raise ManifestError(f"{origin.place(path_of(error.field))}: {error}") from None
    if isinstance(decoded, Unknown) and not is_known(decoded.api_version, decoded.kind):
        raise ManifestError(f"{origin.place(('kind',))}: {describe_unknown(decoded.api_version, decoded.kind)}")
    kind = str(document["kind"])
    for unknown in unknown_fields(document, str(document["apiVersion"]), kind):
        subject = f"{kind} {name_of(document)}".rstrip()
        raise ManifestError(f"{origin.place(unknown.path)}: {printable(f'{subject}: {unknown}')}")
    return dict(document)
