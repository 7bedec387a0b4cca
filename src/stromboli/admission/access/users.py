"""The user of a job: the authenticated creator, as an annotation that others cannot claim.

A workload passes it on in its pod template, whose annotations its pods and their group inherit. Those who act for
others, such as Kubernetes' controllers, keep the annotations that they copy. Every place from which a user is read is
checked: what is not recorded must not name another user either.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from stromboli import kube
from stromboli.admission.facts import AdmissionPolicy, Facts
from stromboli.admission.pods import GROUP_FIELD, is_ours
from stromboli.admission.requests import Document, Request
from stromboli.admission.verdict import GOOD, AdmissionVerdict, forbidden
from stromboli.kube.manifests.errors import ObjectError
from stromboli.kube.objects import native, volcano
from stromboli.kube.objects.kinds import as_type
from stromboli.workloads.families.volcano.templates import CRON_JOB, JOB_FLOW
from stromboli.workloads.groups import job_key_of
from stromboli.workloads.templates import VOLCANO_JOB, WORKLOADS, Kind, templates_of
from stromboli.workloads.users import USER, named_user

_POD: Kind = ("", "Pod")
_BOTH, _ANNOTATIONS = ("annotations", "labels"), ("annotations",)


class UserPlace(NamedTuple):
    """Metadata from which the user of a job is read, in annotations or also in labels."""

    path: tuple[str, ...]
    parts: tuple[str, ...] = _BOTH
    is_recorded: bool = True


_PLACES: Mapping[Kind, tuple[UserPlace, ...]] = {
    **dict.fromkeys(
        (_POD, (volcano.GROUP, "PodGroup"), (native.GROUP, "PodGroup"), VOLCANO_JOB), (UserPlace(("metadata",)),)
    ),
    CRON_JOB: (UserPlace(("spec", "jobTemplate", "metadata")),),
    JOB_FLOW: (UserPlace(("metadata",), _ANNOTATIONS),),
}


def places_of(kind: Kind) -> Iterator[UserPlace]:
    """Return the places in which a kind names a user. Groups inherit annotations of the owner of their pods, too."""
    yield from _PLACES.get(kind, ())
    workload = WORKLOADS.get(kind)
    if workload is not None:
        yield UserPlace((*workload.template.split("."), "metadata"))
        if workload.inherits:
            owner = workload.owner.split(".") if workload.owner else ()
            yield UserPlace((*owner, "metadata"), _ANNOTATIONS, is_recorded=False)


def record_user(request: Request, document: Document, policy: AdmissionPolicy) -> None:
    """Write the creator of a new object to it, unless the client acts for others."""
    if not policy.records_users or policy.trusts(request.user_info):
        return
    for place in places_of((request.kind.group, request.kind.kind)):
        annotations = _map_at(document, (*place.path, "annotations")) if place.is_recorded else None
        if annotations is not None:  # others are reported when the object is validated
            annotations[USER] = request.user_info.username


def check_user(request: Request, facts: Facts, policy: AdmissionPolicy) -> AdmissionVerdict:
    """Reject another user than the creator, and a change of the user, unless the client acts for others. Raises
    ObjectError.
    """
    if not policy.records_users or policy.trusts(request.user_info) or request.operation == "DELETE":
        return GOOD
    verdict = GOOD
    for place in places_of((request.kind.group, request.kind.kind)):
        for part in place.parts:
            verdict = verdict.plus(_check_place(request, place.path, part))
    return verdict.plus(_check_pods(request, facts, policy))


def _check_place(request: Request, path: tuple[str, ...], part: str) -> AdmissionVerdict:
    own = request.user_info.username
    named, before = (_entry(each, path, part) for each in (request.object, request.old_object))
    if named == before or (before is None and named in (None, own)):
        return GOOD
    user = own if before is None else before
    return forbidden(
        ".".join((*path, f"{part}[{USER}]")), f"{named!r} is not the user of this object, {user!r}", "leave it as it is"
    )


def _check_pods(request: Request, facts: Facts, policy: AdmissionPolicy) -> AdmissionVerdict:
    """Reject pods that would count for no user, or for the user of a group that another user created. A service account
    of the namespace acts for a pod of it, as that of a driver which creates executors.
    """
    user, before = request.user_info.username, _pod_before(request)
    pod, field = _pod_of(request, request.object)
    if pod is None or not is_ours(pod, policy):
        return GOOD
    was_ours = before is not None and is_ours(before, policy)
    if request.kind.kind != "Pod" and request.operation == "UPDATE" and not was_ours and not named_user(pod.metadata):
        message = "the pods of a workload that was of another scheduler name their user"
        return forbidden(f"{field}metadata.annotations[{USER}]", message, f"write {user}")
    key = job_key_of(pod)
    group = facts.groups.get(key) if key is not None else None
    is_same = before is not None and was_ours and job_key_of(before) == key
    if group is None or is_same or user.startswith(f"system:serviceaccount:{request.namespace}:"):
        return GOOD
    owner = named_user(group.metadata)
    if owner in ("", user):
        return GOOD
    return forbidden(f"{field}{GROUP_FIELD}", f"the group is that of user {owner!r}", "name a group of your own")


def _pod_before(request: Request) -> kube.Pod | None:
    """Return the pod before a change; None without one, and for an invalid one, which may be repaired."""
    try:
        return _pod_of(request, request.old_object)[0]
    except ObjectError:
        return None


def _pod_of(request: Request, document: Document | None) -> tuple[kube.Pod | None, str]:
    """Return the pod, or that of the template of a workload, and the prefix of its fields."""
    kind = request.kind.group, request.kind.kind
    if document is None:
        return None, ""
    placed = {**document, "metadata": {**(document.get("metadata") or {}), "namespace": request.namespace}}
    if kind == _POD:
        return as_type(placed, kube.Pod), ""
    if kind in WORKLOADS:
        for template in templates_of(kind, placed):
            return template.pod, f"{template.field}."
    return None, ""


def _map_at(document: Document, path: tuple[str, ...]) -> dict[str, Any] | None:
    """Return a part of a document, whose last two levels may be absent or null; None if another is."""
    place: Any = document
    for depth, name in enumerate(path, start=1):
        if depth >= len(path) - 1 and place.get(name) is None:
            place[name] = {}
        place = place.get(name)
        if not isinstance(place, dict):
            return None
    return place


def _entry(document: Mapping[str, Any] | None, path: tuple[str, ...], part: str) -> str | None:
    found: Any = document
    for name in (*path, part, USER):
        found = found.get(name) if isinstance(found, Mapping) else None
    return found if isinstance(found, str) else None
