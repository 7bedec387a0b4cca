"""The user of a job: the authenticated creator, as an annotation that others cannot claim.

A workload passes it on in its pod template, whose annotations its pods and their group inherit. Those who act for
others, such as Kubernetes' controllers, keep the annotations that they copy.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from stromboli import kube
from stromboli.admission.facts import AdmissionPolicy
from stromboli.admission.requests import Document, Request
from stromboli.admission.verdict import GOOD, AdmissionVerdict, forbidden
from stromboli.kube.manifests.errors import ObjectError
from stromboli.kube.objects import native, volcano
from stromboli.kube.objects.kinds import as_type
from stromboli.workloads.groups import controlling_owner
from stromboli.workloads.templates import VOLCANO_JOB, WORKLOADS
from stromboli.workloads.users import USER

_OWN = (("", "Pod"), (volcano.GROUP, "PodGroup"), (native.GROUP, "PodGroup"), VOLCANO_JOB)


def record_user(request: Request, document: Document, policy: AdmissionPolicy) -> None:
    """Write the creator of a new object to it. An object of a controller gets its user from its owner."""
    if not policy.records_users or policy.trusts(request.user_info) or _has_controller(document):
        return
    for path in _paths(request):
        metadata = _map_at(document, path)
        if metadata is not None:
            annotations = metadata.setdefault("annotations", {}) or {}
            metadata["annotations"] = {**annotations, USER: request.user_info.username}


def check_user(request: Request, policy: AdmissionPolicy) -> AdmissionVerdict:
    """Reject another user than the creator, and a change of the user, unless the client acts for others."""
    if not policy.records_users or policy.trusts(request.user_info) or request.operation == "DELETE":
        return GOOD
    verdict = GOOD
    for path in _paths(request):
        named = _annotation(request.object, path)
        allowed = request.user_info.username if request.old_object is None else _annotation(request.old_object, path)
        if named != allowed and not (named is None and request.old_object is None):
            field = ".".join((*path, f"annotations[{USER}]"))
            message = f"{named!r} is not the user of this object, {allowed!r}"
            verdict = verdict.plus(forbidden(field, message, "leave the annotation as it is"))
    return verdict


def _paths(request: Request) -> Iterator[tuple[str, ...]]:
    """Return the places of metadata in which a kind names its user."""
    kind = request.kind.group, request.kind.kind
    if kind in _OWN:
        yield ("metadata",)
    elif kind in WORKLOADS:
        yield (*WORKLOADS[kind].template.split("."), "metadata")


def _has_controller(document: Document) -> bool:
    try:
        return controlling_owner(as_type({"metadata": document.get("metadata") or {}}, kube.Pod)) is not None
    except ObjectError:
        return True


def _map_at(document: Document, path: tuple[str, ...]) -> dict[str, Any] | None:
    """Return a part of a document, whose last level may be absent; None if another is."""
    place: Any = document
    for name in path[:-1]:
        place = place.get(name)
        if not isinstance(place, dict):
            return None
    found = place.setdefault(path[-1], {})
    return found if isinstance(found, dict) else None


def _annotation(document: Mapping[str, Any] | None, path: tuple[str, ...]) -> str | None:
    found: Any = document
    for name in (*path, "annotations", USER):
        found = found.get(name) if isinstance(found, Mapping) else None
    return found if isinstance(found, str) else None
