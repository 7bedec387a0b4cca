"""A client with scripted answers, which records requests."""

from __future__ import annotations

from typing import Any

from stromboli.binding.orders import Commit, EvictOrder, Result
from stromboli.core.model.tasks.placement import Placement
from stromboli.kube.client.api_errors import ApiError, Unreachable
from stromboli.kube.objects.meta import ObjectMeta
from stromboli.kube.objects.pod import Pod
from stromboli.kube.work.retry import RetryPolicy

NO_DELAY = RetryPolicy(attempts=3, min_delay=0.0, max_delay=0.0)
PLACEMENT = Placement("uid-1", "default", "pod", "default/job", "node-a", {"key": "value"})
VICTIM = EvictOrder("uid-1", "default", "pod", "default/job", "preempt")

CONFLICT = ApiError(409, "Conflict", "it cannot be bound")
MISSING = ApiError(404, "NotFound", "no such pod")
INVALID = ApiError(422, "Invalid", "that is no node")
FORBIDDEN = ApiError(403, "Forbidden", "you may not")
BUSY = ApiError(429, "TooManyRequests", "later", retry_after=0.0)
BROKEN = ApiError(500, "InternalError", "oops")
GATEWAY = ApiError(504, "Timeout", "no answer")
LOST = Unreachable("the connection was cut", sent=True)
NOT_SENT = Unreachable("no connection", sent=False)


def found(node: str = "", uid: str = "uid-1", deleted: str | None = None) -> Pod:
    pod = Pod(metadata=ObjectMeta("pod", "default", uid, deletion_timestamp=deleted))
    pod.spec.node_name = node or None
    return pod


class ScriptedClient:
    """Answers by verb, in order; the last one is repeated. Exceptions are raised, other values returned."""

    def __init__(self, **answers: list[Any]) -> None:
        self._answers = answers
        self.asked: list[str] = []
        self.bound: list[str] = []

    async def bind(self, namespace: str, name: str, uid: str, node: str, **facts: Any) -> None:
        self._answer("bind")
        self.bound.append(name)

    async def evict(self, namespace: str, name: str, uid: str) -> None:
        self._answer("evict")

    async def delete(self, resource: Any, name: str, *, namespace: str, uid: str) -> None:
        self._answer("delete")

    async def get(self, resource: Any, name: str, *, namespace: str = "") -> Pod:
        found: Pod = self._answer("get")
        return found

    def _answer(self, verb: str) -> Any:
        self.asked.append(verb)
        script = self._answers.get(verb) or [None]
        answer = script.pop(0) if len(script) > 1 else script[0]
        if isinstance(answer, Exception):
            raise answer
        return answer


class Observer:
    """Records results, has precondition errors by the name of the pod, and may lose leadership."""

    def __init__(self, **errors: str) -> None:
        self.errors = errors
        self.leads = True
        self.results: dict[str, Result] = {}
        self.commits: list[Commit] = []
        self.evictions: dict[str, Result] = {}

    def precondition_error(self, placement: Placement) -> str:
        return self.errors.get(placement.name, "")

    def is_leader(self) -> bool:
        return self.leads

    def settled(self, commit: Commit, placement: Placement, result: Result) -> None:
        self.results[placement.name] = result

    def finished(self, commit: Commit, results: dict[str, Result]) -> None:
        self.commits.append(commit)

    def evicted(self, order: EvictOrder, result: Result) -> None:
        self.evictions[order.name] = result
