"""The user of a job: who submitted it."""

from __future__ import annotations

from stromboli.kube.objects.meta import ObjectMeta

#: An annotation, or else a label.
USER = "stromboli.dev/user"


def user_of(metadata: ObjectMeta, label: str = USER) -> str:
    """Return the user that an object names; empty if it names none. An annotation precedes the label."""
    return (metadata.annotations or {}).get(USER) or (metadata.labels or {}).get(label, "")
