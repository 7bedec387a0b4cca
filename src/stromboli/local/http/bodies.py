"""Request bodies, and patches applied to objects."""

from __future__ import annotations

from typing import Any

import msgspec

from stromboli.kube.manifests.yaml import load_body
from stromboli.kube.manifests.yaml_errors import YamlError
from stromboli.local.api_server.errors import bad_request, patch_failed, unsupported_media_type
from stromboli.local.api_server.registry import ServedResource
from stromboli.local.api_server.store import Object
from stromboli.local.patching.patches import MalformedPatch, PatchFailed, json_patch, merge_patch
from stromboli.local.patching.strategic_merge import strategic_merge
from stromboli.local.protobuf import decoding as protobuf
from stromboli.local.protobuf.decoding import Malformed

JSON_PATCH = "application/json-patch+json"
MERGE_PATCH = "application/merge-patch+json"
STRATEGIC_PATCH = "application/strategic-merge-patch+json"
APPLY_PATCH = "application/apply-patch+yaml"
_READABLE = ("", "application/json", "application/yaml", "application/octet-stream", "*/*")

#: How many values aliases may add to a YAML body.
MAX_ALIASED_VALUES = 10_000

_decode = msgspec.json.Decoder().decode


def decoded(body: bytes, content_type: str) -> Any:
    """Decode the body of a create, update or delete; None if empty."""
    if not body:
        return None
    if content_type == protobuf.CONTENT_TYPE:
        return _protobuf(body)
    if content_type not in _READABLE:
        raise unsupported_media_type(("application/json", "application/yaml"))
    return _yaml(body) if content_type == "application/yaml" else _json(body)


def _protobuf(body: bytes) -> Any:
    try:
        return protobuf.decode_body(body)
    except (Malformed, UnicodeDecodeError, msgspec.DecodeError) as error:
        raise bad_request(f"error decoding the binary body: {error}") from error


def _json(body: bytes) -> Any:
    try:
        return _decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise bad_request(f"couldn't get version/kind; json parse error: {error}") from error


def _yaml(body: bytes) -> Any:
    """Decode YAML, which includes JSON. Aliases may add little: a few lines of them can stand for gigabytes."""
    try:
        return _decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError):
        pass
    try:
        return load_body(body.decode(), "the body", MAX_ALIASED_VALUES)
    except (YamlError, UnicodeDecodeError) as error:
        raise bad_request(f"error decoding YAML: {error}") from error


def applied_configuration(body: bytes) -> Object:
    """Decode the body of a server-side apply."""
    document = _yaml(body)
    if not isinstance(document, dict):
        raise bad_request("the applied configuration is not an object")
    return document


def patched(resource: ServedResource, name: str, found: Object, body: bytes, content_type: str) -> Object:
    """Apply the patch. `found` is not changed, but the result may share parts with it."""
    supported = (
        (JSON_PATCH, MERGE_PATCH, APPLY_PATCH)
        if resource.is_custom
        else (JSON_PATCH, MERGE_PATCH, STRATEGIC_PATCH, APPLY_PATCH)
    )
    if content_type not in supported:
        raise unsupported_media_type(supported)
    patch = _json(body)
    try:
        result = _apply_patch(found, patch, content_type)
    except MalformedPatch as error:
        raise bad_request(str(error)) from error
    except PatchFailed as error:
        raise patch_failed() from error
    if not isinstance(result, dict):
        raise bad_request("the patch leaves no object")
    return result


def _apply_patch(found: Object, patch: Any, content_type: str) -> Any:
    if content_type == JSON_PATCH:
        return json_patch(found, patch)
    if not isinstance(patch, dict):
        raise MalformedPatch("the patch is not an object")
    if content_type == MERGE_PATCH:
        return merge_patch(found, patch)
    return strategic_merge(found, patch)
