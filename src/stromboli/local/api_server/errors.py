"""Error responses: `Status` objects with code, reason and message."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from stromboli.local.api_server.registry import ServedResource


@dataclass(frozen=True, slots=True)
class Cause:
    """One cause of an error, and its field."""

    reason: str
    message: str
    field: str = ""

    def document(self) -> dict[str, str]:
        document = {"reason": self.reason, "message": self.message}
        return {**document, "field": self.field} if self.field else document


class StatusError(Exception):
    """A request that is answered with an error."""

    def __init__(
        self,
        code: int,
        reason: str,
        message: str,
        *,
        details: dict[str, Any] | None = None,
        retry_after: int | None = None,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.reason = reason
        self.message = message
        self.details = details or {}
        self.retry_after = retry_after

    def status(self) -> dict[str, Any]:
        """The body of the response."""
        details = dict(self.details)
        if self.retry_after is not None:
            details["retryAfterSeconds"] = self.retry_after
        body: dict[str, Any] = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure"}
        body["message"] = self.message
        if self.reason:
            body["reason"] = self.reason
        if details:
            body["details"] = details
        return {**body, "code": self.code}


def success(code: int, details: dict[str, Any] | None = None) -> dict[str, Any]:
    """The `Status` of a successful action that returns no object."""
    body: dict[str, Any] = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success"}
    return {**body, "details": details} if details else {**body, "code": code}


def details_of(resource: ServedResource, name: str) -> dict[str, Any]:
    details = {"name": name, "kind": resource.plural}
    return {**details, "group": resource.group} if resource.group else details


def bad_request(message: str) -> StatusError:
    return StatusError(400, "BadRequest", message)


def unrecognized(resource: ServedResource, why: str) -> StatusError:
    """The body is not an object."""
    return bad_request(f"the object provided is unrecognized (must be of type {resource.kind}): {why}")


def unauthorized() -> StatusError:
    return StatusError(401, "Unauthorized", "Unauthorized")


def forbidden(resource: ServedResource, name: str, why: str, causes: Iterable[Cause] = ()) -> StatusError:
    details = details_of(resource, name)
    if documents := [cause.document() for cause in causes]:
        details["causes"] = documents
    return StatusError(403, "Forbidden", f'{resource.name} "{name}" is forbidden: {why}', details=details)


def no_such_path() -> StatusError:
    return StatusError(404, "NotFound", "the server could not find the requested resource", details={})


def not_found(resource: ServedResource, name: str) -> StatusError:
    return StatusError(404, "NotFound", f'{resource.name} "{name}" not found', details=details_of(resource, name))


def method_not_allowed(verb: str) -> StatusError:
    return StatusError(
        405,
        "MethodNotAllowed",
        "the server does not allow this method on the requested resource",
        details={"verb": verb},
    )


def already_exists(resource: ServedResource, name: str) -> StatusError:
    return StatusError(
        409, "AlreadyExists", f'{resource.name} "{name}" already exists', details=details_of(resource, name)
    )


def conflict(resource: ServedResource, name: str, why: str, *, subresource: str = "") -> StatusError:
    named = f"{resource.plural}/{subresource}" if subresource else resource.name
    details = details_of(resource, name)
    if subresource:
        details["kind"] = f"{resource.plural}/{subresource}"
    return StatusError(409, "Conflict", f'Operation cannot be fulfilled on {named} "{name}": {why}', details=details)


def precondition_failed(resource: ServedResource, name: str, why: str) -> StatusError:
    """The object is not the expected one. The message names it by its kind."""
    kind = f"{resource.kind}.{resource.group}" if resource.group else resource.kind
    details = {**details_of(resource, name), "kind": resource.kind}
    return StatusError(409, "Conflict", f'Operation cannot be fulfilled on {kind} "{name}": {why}', details=details)


def modified(resource: ServedResource, name: str) -> StatusError:
    """The object was written since the caller read it."""
    why = "the object has been modified; please apply your changes to the latest version and try again"
    return conflict(resource, name, why)


def expired(message: str = "The resourceVersion for the provided watch is too old.") -> StatusError:
    return StatusError(410, "Expired", message)


def too_large(limit: int) -> StatusError:
    return StatusError(413, "RequestEntityTooLarge", f"Request entity too large: limit is {limit}")


def not_acceptable() -> StatusError:
    """None of the requested media types is supported."""
    return StatusError(406, "NotAcceptable", "only the following media types are accepted: application/json")


def unsupported_media_type(supported: Iterable[str]) -> StatusError:
    listed = ", ".join(supported)
    message = f"the body of the request was in an unknown format - accepted media types include: {listed}"
    return StatusError(415, "UnsupportedMediaType", message)


def invalid(resource: ServedResource, name: str, causes: Iterable[Cause]) -> StatusError:
    """The object violates the rules of its kind."""
    found = list(causes)
    kind = f"{resource.kind}.{resource.group}" if resource.group else resource.kind
    details = {**details_of(resource, name), "kind": resource.kind}
    details["causes"] = [cause.document() for cause in found]
    return StatusError(422, "Invalid", f'{kind} "{name}" is invalid: {_sentence(found)}', details=details)


def invalid_options(kind: str, causes: Iterable[Cause]) -> StatusError:
    """The options of the request are invalid."""
    found = list(causes)
    details = {"group": "meta.k8s.io", "kind": kind, "causes": [cause.document() for cause in found]}
    return StatusError(422, "Invalid", f'{kind}.meta.k8s.io "" is invalid: {_sentence(found)}', details=details)


def _sentence(causes: list[Cause]) -> str:
    sentences = [f"{cause.field}: {cause.message}" if cause.field else cause.message for cause in causes]
    return sentences[0] if len(sentences) == 1 else f"[{', '.join(sentences)}]"


def version_missing(resource: ServedResource, name: str) -> StatusError:
    """Updates of this kind require a resourceVersion."""
    cause = Cause("FieldValueInvalid", "Invalid value: 0: must be specified for an update", "metadata.resourceVersion")
    details = {**details_of(resource, name), "causes": [cause.document()]}
    return StatusError(422, "Invalid", f'{resource.name} "{name}" is invalid: {_sentence([cause])}', details=details)


def patch_failed() -> StatusError:
    """A well-formed patch that does not fit the object."""
    return StatusError(422, "Invalid", "the server rejected our request due to an error in our request")


def too_many_requests(message: str, *, retry_after: int | None = None, causes: Iterable[Cause] = ()) -> StatusError:
    details = {"causes": [cause.document() for cause in causes]}
    return StatusError(429, "TooManyRequests", message, details=details, retry_after=retry_after)


def internal_error(message: str) -> StatusError:
    return StatusError(500, "InternalError", f"Internal error occurred: {message}")
