"""What is required of every object's metadata, whatever its kind."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from stromboli.embedded.refusals import Cause, bad_request
from stromboli.embedded.registry import ServedResource
from stromboli.embedded.store import Object

_SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_LABEL_VALUE = re.compile(r"([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?")
_QUALIFIED = re.compile(r"([a-z0-9]([-a-z0-9.]*[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?")
_SUBDOMAIN_RULE = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and "
    "end with an alphanumeric character (e.g. 'example.com', regex used for validation is "
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
)
_ANNOTATIONS_LIMIT = 256 * 1024


def metadata_of(body: Object) -> dict[str, Any]:
    """The metadata as a map, whatever was sent."""
    metadata = body.setdefault("metadata", {})
    if metadata is None:
        metadata = body["metadata"] = {}
    if not isinstance(metadata, dict):
        raise bad_request("metadata: must be a map of keys and values")
    return metadata


def check_kind(resource: ServedResource, body: Any) -> None:
    """The body must be of the kind that the path names; what it leaves out is filled in."""
    if not isinstance(body, dict):
        raise bad_request("the body of the request is not an object")
    version, kind = body.get("apiVersion") or resource.api_version, body.get("kind") or resource.kind
    if version != resource.api_version:
        raise bad_request(
            f"the API version in the data ({version}) does not match the expected API version ({resource.api_version})"
        )
    if kind != resource.kind:
        raise bad_request(f"{kind} in version {version!r} cannot be handled as a {resource.kind}")
    body["apiVersion"], body["kind"] = version, kind


def ordered(body: Object) -> Object:
    """With the parts that say what the object is in front; lists rely on it to leave them out."""
    head = {"apiVersion": body["apiVersion"], "kind": body["kind"], "metadata": body["metadata"]}
    return {**head, **{key: value for key, value in body.items() if key not in head}}


def metadata_causes(metadata: dict[str, Any], *, free_names: bool) -> Iterator[Cause]:
    name = metadata.get("name")
    if not isinstance(name, str) or not name:
        yield Cause("FieldValueRequired", "Required value: name or generateName is required", "metadata.name")
    elif free_names:
        if name in (".", "..") or "/" in name or "%" in name:
            yield Cause("FieldValueInvalid", f"Invalid value: \"{name}\": may not contain '/'", "metadata.name")
    elif len(name) > 253 or not _SUBDOMAIN.fullmatch(name):
        yield Cause("FieldValueInvalid", f'Invalid value: "{name}": {_SUBDOMAIN_RULE}', "metadata.name")
    yield from _label_causes(metadata.get("labels"))
    yield from _annotation_causes(metadata.get("annotations"))
    yield from _owner_causes(metadata.get("ownerReferences"))
    if not _is_list_of(metadata.get("finalizers"), str):
        raise bad_request("metadata.finalizers: must be a list of strings")


def _owner_causes(owners: Any) -> Iterator[Cause]:
    if not _is_list_of(owners, dict):
        raise bad_request("metadata.ownerReferences: must be a list of references")
    controllers = []
    for owner in owners or ():
        for part in ("apiVersion", "kind", "name", "uid"):
            if not owner.get(part):
                why = f'Invalid value: "": {part} must not be empty'
                yield Cause("FieldValueInvalid", why, f"metadata.ownerReferences.{part}")
        if owner.get("controller"):
            controllers.append(f"{owner.get('kind')}/{owner.get('name')}")
    if len(controllers) > 1:
        why = f'Only one reference can have Controller set to true. Found "true" in {" and ".join(controllers[:2])}'
        yield Cause("FieldValueInvalid", f"Invalid value: {why}", "metadata.ownerReferences")


def _is_list_of(found: Any, kind: type) -> bool:
    return found is None or (isinstance(found, list) and all(isinstance(each, kind) for each in found))


def _label_causes(labels: Any) -> Iterator[Cause]:
    for key, value in _texts(labels, "metadata.labels"):
        if not _QUALIFIED.fullmatch(key):
            yield Cause("FieldValueInvalid", f'Invalid value: "{key}": not a qualified name', "metadata.labels")
        if len(value) > 63 or not _LABEL_VALUE.fullmatch(value):
            why = "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.'"
            yield Cause("FieldValueInvalid", f'Invalid value: "{value}": {why}', "metadata.labels")


def _annotation_causes(annotations: Any) -> Iterator[Cause]:
    size = 0
    for key, value in _texts(annotations, "metadata.annotations"):
        size += len(key) + len(value.encode())
        if not _QUALIFIED.fullmatch(key.lower()):
            yield Cause("FieldValueInvalid", f'Invalid value: "{key}": not a qualified name', "metadata.annotations")
    if size > _ANNOTATIONS_LIMIT:
        why = f"Too long: may not be more than {_ANNOTATIONS_LIMIT} bytes"
        yield Cause("FieldValueTooLong", why, "metadata.annotations")


def _texts(found: Any, field: str) -> list[tuple[str, str]]:
    if found is None:
        return []
    if not isinstance(found, dict) or not all(isinstance(value, str) for value in found.values()):
        raise bad_request(f"{field}: must be a map of strings to strings")
    return list(found.items())
