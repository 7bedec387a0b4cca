"""Validation of query parameters. Invalid options are rejected before anything is written."""

from __future__ import annotations

from collections.abc import Iterator

from stromboli.local.api_server.errors import Cause, StatusError, bad_request, invalid_options
from stromboli.local.http.calls import ApiCall
from stromboli.local.kinds.validation.field_errors import not_allowed, one_of, required

_OPTIONS = {"create": "CreateOptions", "update": "UpdateOptions", "patch": "PatchOptions", "delete": "DeleteOptions"}
_VALIDATIONS = ("", "Ignore", "Strict", "Warn")
_MATCHES = ("Exact", "NotOlderThan", "")
_NUMBERS = ("limit", "timeoutSeconds")
_MANAGER_LIMIT = 128


def check_options(call: ApiCall, *, is_apply: bool) -> None:
    """Reject a request with invalid or contradictory query parameters."""
    if not call.query and not is_apply:
        return
    if call.verb in ("list", "watch", "deletecollection"):
        _check_list(call)
    if call.verb == "deletecollection":
        _refuse("DeleteOptions", _dry_run_causes(call.query.get("dryRun", "")))
    elif kind := _OPTIONS.get(call.verb):
        _refuse(kind, _write_causes(call, is_apply=is_apply))


def _refuse(kind: str, causes: Iterator[Cause]) -> None:
    if found := list(causes):
        raise invalid_options(kind, found)


def _write_causes(call: ApiCall, *, is_apply: bool) -> Iterator[Cause]:
    query = call.query
    yield from _dry_run_causes(query.get("dryRun", ""))
    if call.verb == "delete":
        return
    manager = query.get("fieldManager", "")
    if is_apply and not manager:
        yield required("fieldManager", "is required for apply patch")
    if len(manager.encode()) > _MANAGER_LIMIT:
        yield Cause("FieldValueTooLong", f"Too long: may not be more than {_MANAGER_LIMIT} bytes", "fieldManager")
    if call.verb == "patch" and "force" in query and not is_apply:
        yield not_allowed("force", "may not be specified for non-apply patch")
    yield from one_of("fieldValidation", query.get("fieldValidation", ""), _VALIDATIONS)


def _dry_run_causes(wanted: str) -> Iterator[Cause]:
    if wanted not in ("", "All"):
        why = f'Unsupported value: ["{wanted}"]: supported values: "All"'
        yield Cause("FieldValueNotSupported", why, "dryRun")


def _check_list(call: ApiCall) -> None:
    query = call.query
    for name in _NUMBERS:
        if (text := query.get(name)) and call.number(name) is None:
            raise bad_request(f'{name}: parsing "{text}": invalid syntax')
    _refuse("ListOptions", _watch_causes(call) if call.verb == "watch" else _list_causes(call))
    version = query.get("resourceVersion", "")
    if version and not version.isdigit():
        why = f'resourceVersion: Invalid value: "{version}": parsing "{version}": invalid syntax'
        raise StatusError(500, "", why) if call.verb == "watch" else bad_request(f"invalid resource version: {why}")
    if query.get("continue") and version not in ("", "0"):
        raise bad_request("specifying resource version is not allowed when using continue")


def _list_causes(call: ApiCall) -> Iterator[Cause]:
    query = call.query
    if match := query.get("resourceVersionMatch"):
        version = query.get("resourceVersion", "")
        if query.get("continue"):
            yield not_allowed("resourceVersionMatch", "resourceVersionMatch is forbidden when continue is provided")
        elif not version:
            why = "resourceVersionMatch is forbidden unless resourceVersion is provided"
            yield not_allowed("resourceVersionMatch", why)
        elif match == "Exact" and version == "0":
            why = 'resourceVersionMatch "exact" is forbidden for resourceVersion "0"'
            yield not_allowed("resourceVersionMatch", why)
        yield from one_of("resourceVersionMatch", match, _MATCHES)
    if "sendInitialEvents" in query:
        yield not_allowed("sendInitialEvents", "sendInitialEvents is forbidden for list")


def _watch_causes(call: ApiCall) -> Iterator[Cause]:
    match, is_streamed = call.query.get("resourceVersionMatch", ""), "sendInitialEvents" in call.query
    if match and not is_streamed:
        why = "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided"
        yield not_allowed("resourceVersionMatch", why)
    if is_streamed and match != "NotOlderThan":
        why = "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"
        yield not_allowed("resourceVersionMatch", why)
