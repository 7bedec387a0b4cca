"""Validation of metadata of all kinds."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from stromboli.local.api_server.errors import Cause, bad_request, invalid, unrecognized
from stromboli.local.api_server.registry import ServedResource
from stromboli.local.api_server.store import Object
from stromboli.local.kinds.validation.field_errors import wrong
from stromboli.local.kinds.validation.names import qualified_problem, subdomain_problem, value_problem

_ANNOTATIONS_LIMIT = 256 * 1024
_STANDARD_FINALIZERS = ("kubernetes", "orphan", "foregroundDeletion")


def metadata_of(body: Object) -> dict[str, Any]:
    """The metadata of a body as a map."""
    metadata = body.setdefault("metadata", {})
    if metadata is None:
        metadata = body["metadata"] = {}
    if not isinstance(metadata, dict):
        raise bad_request("metadata: must be a map of keys and values")
    return metadata


def check_kind(resource: ServedResource, body: Any) -> None:
    """Check that the body has the kind of the path; absent apiVersion and kind are set."""
    if not isinstance(body, dict):
        raise unrecognized(resource, "couldn't get version/kind; json parse error: it is not an object")
    if resource.is_custom:
        _check_custom_kind(resource, body)
    version, kind = body.get("apiVersion") or resource.api_version, body.get("kind") or resource.kind
    if version != resource.api_version and (resource.is_custom or kind == "Event"):
        raise bad_request(
            f"the API version in the data ({version}) does not match the expected API version ({resource.api_version})"
        )
    if version != resource.api_version or kind != resource.kind:
        why = f'no kind "{kind}" is registered for version "{version}"'
        raise bad_request(f'{kind} in version "{version}" cannot be handled as a {resource.kind}: {why}')
    body["apiVersion"], body["kind"] = version, kind


def _check_custom_kind(resource: ServedResource, body: Object) -> None:
    """Custom resources must have apiVersion and kind."""
    for field, label in (("kind", "Kind"), ("apiVersion", "apiVersion")):
        if not body.get(field):
            raise unrecognized(resource, f"Object '{label}' is missing")
    if body["kind"] != resource.kind and body["apiVersion"] == resource.api_version:
        name = str((body.get("metadata") or {}).get("name") or "")
        raise invalid(resource, name, [wrong("kind", body["kind"], f"must be {resource.kind}")])


def ordered(body: Object) -> Object:
    """The body with apiVersion, kind and metadata first; lists rely on this order to leave them out."""
    head = {"apiVersion": body["apiVersion"], "kind": body["kind"], "metadata": body["metadata"]}
    return {**head, **{key: value for key, value in body.items() if key not in head}}


def metadata_causes(metadata: dict[str, Any], *, free_names: bool, is_custom: bool = False) -> Iterator[Cause]:
    name, prefix = metadata.get("name"), metadata.get("generateName")
    if isinstance(prefix, str) and prefix and not free_names and (problem := subdomain_problem(_begun(prefix))):
        yield wrong("metadata.generateName", prefix, problem)
    if not isinstance(name, str) or not name:
        yield Cause("FieldValueRequired", "Required value: name or generateName is required", "metadata.name")
    elif free_names:
        if name in (".", "..") or "/" in name or "%" in name:
            yield Cause("FieldValueInvalid", f"Invalid value: \"{name}\": may not contain '/'", "metadata.name")
    elif problem := subdomain_problem(name):
        yield wrong("metadata.name", name, problem)
    yield from _label_causes(metadata.get("labels"))
    yield from _annotation_causes(metadata.get("annotations"))
    yield from _owner_causes(metadata.get("ownerReferences"))
    yield from _finalizer_causes(metadata.get("finalizers"), is_custom)


def _begun(prefix: str) -> str:
    """The prefix of a generated name, checked as a name: it may end with a dash."""
    return f"{prefix[:-1]}a" if prefix.endswith("-") else prefix


def _finalizer_causes(finalizers: Any, is_custom: bool) -> Iterator[Cause]:
    """A finalizer must be qualified by a domain, except in custom resources."""
    if not _is_list_of(finalizers, str):
        raise bad_request("metadata.finalizers: must be a list of strings")
    for index, finalizer in enumerate(finalizers or ()):
        if problem := qualified_problem(finalizer):
            yield wrong("metadata.finalizers", finalizer, problem)
        elif not is_custom and "/" not in finalizer and finalizer not in _STANDARD_FINALIZERS:
            why = "name is neither a standard finalizer name nor is it fully qualified"
            yield wrong(f"metadata.finalizers[{index}]", finalizer, why)


def _owner_causes(owners: Any) -> Iterator[Cause]:
    if not _is_list_of(owners, dict):
        raise bad_request("metadata.ownerReferences: must be a list of references")
    controllers = []
    for owner in owners or ():
        for part in ("apiVersion", "kind", "name", "uid"):
            if not owner.get(part):
                why = "version must not be empty" if part == "apiVersion" else "must not be empty"
                yield wrong(f"metadata.ownerReferences.{part}", "", why)
        if owner.get("controller"):
            controllers.append(f"{owner.get('kind')}/{owner.get('name')}")
    if len(controllers) > 1:
        found = " and ".join(controllers[:2])
        why = f'Only one reference can have Controller set to true. Found "true" in references for {found}'
        yield wrong("metadata.ownerReferences", owners, why)


def _is_list_of(found: Any, kind: type) -> bool:
    return found is None or (isinstance(found, list) and all(isinstance(each, kind) for each in found))


def _label_causes(labels: Any) -> Iterator[Cause]:
    for key, value in _texts(labels, "metadata.labels"):
        if problem := qualified_problem(key):
            yield wrong("metadata.labels", key, problem)
        if problem := value_problem(value):
            yield wrong("metadata.labels", value, problem)


def _annotation_causes(annotations: Any) -> Iterator[Cause]:
    size = 0
    for key, value in _texts(annotations, "metadata.annotations"):
        size += len(key) + len(value.encode())
        if problem := qualified_problem(key.lower()):
            yield wrong("metadata.annotations", key, problem)
    if size > _ANNOTATIONS_LIMIT:
        why = f"Too long: may not be more than {_ANNOTATIONS_LIMIT} bytes"
        yield Cause("FieldValueTooLong", why, "metadata.annotations")


def _texts(found: Any, field: str) -> list[tuple[str, str]]:
    if found is None:
        return []
    if not isinstance(found, dict) or not all(isinstance(value, str) for value in found.values()):
        raise bad_request(f"{field}: must be a map of strings to strings")
    return list(found.items())
