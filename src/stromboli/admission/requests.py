"""AdmissionReview requests and responses (admission.k8s.io/v1)."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import Any

import msgspec

from stromboli.admission.verdict import AdmissionVerdict
from stromboli.kube.manifests.errors import printable
from stromboli.kube.objects.meta import Wire

API_VERSION, KIND = "admission.k8s.io/v1", "AdmissionReview"
#: Kubernetes truncates warnings beyond this total length.
_MAX_WARNING, _MAX_WARNINGS = 250, 16
_MAX_MESSAGE_LENGTH = 4000

Document = dict[str, Any]


class InvalidReview(ValueError):
    """The request body is not an AdmissionReview."""


class GroupKind(Wire):
    """Kind of the object, in the version that the webhook is registered for."""

    group: str = ""
    version: str = ""
    kind: str = ""


class User(Wire):
    """The requesting user."""

    username: str = ""
    uid: str = ""
    groups: list[str] | None = None
    extra: dict[str, list[str]] | None = None


class Request(Wire):
    """An object to be created, updated or deleted. A deletion has only the old object."""

    uid: str = ""
    kind: GroupKind = msgspec.field(default_factory=GroupKind)
    name: str = ""
    namespace: str = ""
    operation: str = ""
    sub_resource: str = ""
    user_info: User = msgspec.field(default_factory=User)
    object: Document | None = None
    old_object: Document | None = None

    @property
    def document(self) -> Document:
        return self.object or self.old_object or {}


class _Review(Wire):
    api_version: str = ""
    kind: str = ""
    request: Request | None = None


def read_review(body: bytes) -> Request:
    """Decode an AdmissionReview. Raises InvalidReview."""
    try:
        review = msgspec.json.decode(body, type=_Review)
    except (msgspec.DecodeError, RecursionError) as error:
        raise InvalidReview(f"not an {KIND}: {error}") from None
    if (review.api_version, review.kind) != (API_VERSION, KIND):
        found = printable(f"{review.api_version} {review.kind}", 100)
        raise InvalidReview(f"expected {API_VERSION} {KIND}, got {found}; use admissionReviewVersions: [v1]")
    if review.request is None or not review.request.uid:
        raise InvalidReview(f"{KIND}: request.uid is missing")
    return review.request


def answer_verdict(request: Request, verdict: AdmissionVerdict) -> bytes:
    """Build the response to a validation."""
    response: Document = {"uid": request.uid, "allowed": verdict.is_allowed}
    if not verdict.is_allowed:
        response["status"] = {
            "code": 403 if verdict.is_forbidden else 422,
            "reason": "Forbidden" if verdict.is_forbidden else "Invalid",
            "message": printable(verdict.message, _MAX_MESSAGE_LENGTH),
        }
    if verdict.warnings:
        response["warnings"] = [printable(each, _MAX_WARNING) for each in verdict.warnings[:_MAX_WARNINGS]]
    return _answer(response)


def answer_patch(request: Request, patch: Sequence[Document]) -> bytes:
    """Build the response to a mutation."""
    response: Document = {"uid": request.uid, "allowed": True}
    if patch:
        response["patchType"] = "JSONPatch"
        response["patch"] = base64.b64encode(msgspec.json.encode(patch)).decode()
    return _answer(response)


def _answer(response: Document) -> bytes:
    return msgspec.json.encode({"apiVersion": API_VERSION, "kind": KIND, "response": response})
