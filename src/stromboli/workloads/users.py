"""The user of a job: the one who is charged for it, and whose limits apply to it."""

from __future__ import annotations

from collections.abc import Collection

from stromboli.kube.objects.meta import ObjectMeta

#: An annotation, or else a label, of PodGroups and pods.
USER = "stromboli.dev/user"
#: Users are kept as long as their usage: of longer names the first characters count.
MAX_USER = 1024


def named_user(metadata: ObjectMeta) -> str:
    """Return the user that an object names; empty if it names none. The annotation precedes the label. NUL characters
    do not count, because no history keeps them.
    """
    return ((metadata.annotations or {}).get(USER) or (metadata.labels or {}).get(USER, ""))[:MAX_USER].replace(
        "\0", ""
    )


def user_of(group: ObjectMeta, named_by_pods: Collection[str] = ()) -> str:
    """Return the user of the job of a PodGroup: the one that the group names, or else the first by name of those that
    its pods name.
    """
    return named_user(group) or min(named_by_pods, default="")
