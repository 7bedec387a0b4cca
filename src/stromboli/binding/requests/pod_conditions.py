"""The condition PodBound of pods: whether the pod is bound, and if not, why the last attempt failed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from stromboli.kube.client.client import PatchKind
from stromboli.kube.events.series import shortened
from stromboli.kube.objects import timestamps
from stromboli.kube.objects.catalogue import PODS
from stromboli.kube.objects.pod import Pod
from stromboli.kube.work.status_writer import DesiredStatus, StatusWriter

POD_BOUND = "PodBound"
BOUND, BINDING_ERROR = "Bound", "BindingError"


class PodConditions:
    """Writes in the background. `find` returns a pod by its uid."""

    def __init__(self, writer: StatusWriter, find: Callable[[str], Pod | None]) -> None:
        self._writer = writer
        self._find = find
        #: By uid, the latest condition that is not written yet.
        self._pending: dict[str, DesiredStatus] = {}

    def lacks_condition(self, uid: str) -> bool:
        """Report whether a pod without a node has no condition, and none is about to be written."""
        pod = self._find(uid)
        if pod is None or pod.spec.node_name or uid in self._pending:
            return False
        return all(each.type != POD_BOUND for each in pod.status.conditions or ())

    def has_wrong_condition(self, uid: str) -> bool:
        """Report whether a pod with a node has the condition False."""
        pod = self._find(uid)
        found = (each.status for each in (pod.status.conditions if pod else None) or () if each.type == POD_BOUND)
        return pod is not None and bool(pod.spec.node_name) and "False" in found

    def enqueue(self, key: str, uid: str, problem: str = "") -> None:
        """Report that a pod is bound, or why it could not be bound."""
        if self._find(uid) is None:
            return

        def patch(pod: Pod) -> dict[str, Any] | None:
            return None if pod.metadata.uid != uid or _has_condition(pod, problem) else _patch(uid, problem)

        def done(written: bool) -> None:
            if self._pending.get(uid) is desired:
                del self._pending[uid]

        desired = DesiredStatus(PODS, key, patch, POD_BOUND, PatchKind.STRATEGIC, subresource="status", done=done)
        self._pending[uid] = desired
        self._writer.want(desired)


def _patch(uid: str, problem: str) -> dict[str, Any]:
    condition = {
        "type": POD_BOUND,
        "status": "False" if problem else "True",
        "reason": BINDING_ERROR if problem else BOUND,
        "message": shortened(problem),
        "lastTransitionTime": timestamps.now(),
    }
    return {"metadata": {"uid": uid}, "status": {"conditions": [condition]}}


def _has_condition(pod: Pod, problem: str) -> bool:
    desired = ("False", shortened(problem)) if problem else ("True", "")
    found = ((each.status, each.message or "") for each in pod.status.conditions or () if each.type == POD_BOUND)
    return next(found, None) == desired
