"""Rules for objects that are being deleted.

Such an object may stay for a long time, held by a finalizer that its owner added, and the scheduler still reads it. Its
finalizers may change, and so may labels and annotations of others; its spec and what names a queue, a group or devices
may not: a pod uses its devices until it is gone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from stromboli.admission.facts import AdmissionPolicy
from stromboli.admission.pods import DEVICES
from stromboli.admission.requests import Request
from stromboli.admission.verdict import GOOD, AdmissionVerdict, forbidden

#: Domains of the labels and annotations that schedulers read; subdomains included.
_DOMAINS = ("volcano.sh", "stromboli.dev", "scheduling.k8s.io", "kai.scheduler")
#: What an object asks for; Commands have no spec.
_CONTENT = ("spec", "target", "action")
_REMEDY = "wait until the object is gone, then create it again"


def review_change_of_deleted(request: Request, policy: AdmissionPolicy) -> AdmissionVerdict:
    """Reject changes of an object that is being deleted, except by trusted users."""
    if policy.trusts(request.user_info):
        return GOOD
    before, after = request.old_object or {}, request.object or {}
    changed = (
        forbidden(field, "cannot change while the object is being deleted", _REMEDY)
        for field in _changed(before, after)
    )
    return GOOD.plus(*changed)


def _changed(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[str]:
    for field in _CONTENT:
        if before.get(field) != after.get(field):
            yield field
    old, new = _map(before.get("metadata")), _map(after.get("metadata"))
    for part in ("annotations", "labels"):
        if _scheduling(old.get(part)) != _scheduling(new.get(part)):
            yield f"metadata.{part}"
    if old.get("ownerReferences") != new.get("ownerReferences"):
        yield "metadata.ownerReferences"


def _scheduling(entries: object) -> dict[str, Any]:
    """The entries that schedulers read."""
    return {key: value for key, value in _map(entries).items() if key in DEVICES or _is_read(key.partition("/")[0])}


def _is_read(domain: str) -> bool:
    return any(domain == each or domain.endswith(f".{each}") for each in _DOMAINS)


def _map(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
