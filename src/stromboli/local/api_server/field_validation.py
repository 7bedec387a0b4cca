"""Field validation: unknown fields are rejected, reported as warnings, or ignored."""

from __future__ import annotations

from stromboli.local.api_server.errors import Cause, StatusError, bad_request
from stromboli.local.api_server.registry import ServedResource
from stromboli.local.api_server.store import Object
from stromboli.local.api_server.write_options import WriteOptions
from stromboli.local.kinds.custom_resources.schemas import unknown_fields
from stromboli.local.kinds.validation.known_fields import known_part, unknown_metadata


def drop_unknown_fields(resource: ServedResource, body: Object, before: Object | None, options: WriteOptions) -> None:
    """Remove fields that the kind does not have; `before` is the object that a patch was applied to."""
    found = _unknown_custom_fields(resource, body) if resource.is_custom else _unknown_fields(resource, body, before)
    if not found:
        return
    if options.is_applied:
        raise _not_declared(resource, body, found[0])
    warnings = [f'unknown field "{path}"' for path in found]
    if options.field_validation == "Strict":
        raise _strict(resource, ", ".join(warnings), is_patched=options.is_patched)
    if options.field_validation != "Ignore":
        options.warnings.extend(warnings)


def _unknown_fields(resource: ServedResource, body: Object, before: Object | None) -> list[str]:
    found: list[str] = []
    known_part(resource, body, before, found)
    return found


def _unknown_custom_fields(resource: ServedResource, body: Object) -> list[str]:
    """Unknown fields of a schema are pruned later, when defaults are set."""
    of_schema = [] if resource.schema is None else list(unknown_fields(resource.schema, body))
    return [*unknown_metadata(body), *of_schema]


def _strict(resource: ServedResource, warnings: str, *, is_patched: bool) -> StatusError:
    why = f"strict decoding error: {warnings}"
    if not is_patched:
        kind = resource.kind
        return bad_request(f'{kind} in version "{resource.version}" cannot be handled as a {kind}: {why}')
    cause = Cause("FieldValueInvalid", f"Invalid value: {why}", "patch")
    return StatusError(
        422, "Invalid", f' "" is invalid: patch: Invalid value: {why}', details={"causes": [cause.document()]}
    )


def _not_declared(resource: ServedResource, body: Object, path: str) -> StatusError:
    """Applied configurations are always validated strictly."""
    metadata = body.get("metadata") or {}
    name = f"{metadata.get('namespace') or ''}/{metadata.get('name') or ''}"
    kind = f"{resource.group}/{resource.version}, Kind={resource.kind}"
    return StatusError(
        500, "", f"failed to create typed patch object ({name}; {kind}): .{path}: field not declared in schema"
    )
