"""Lookup of pods after a write with an unknown outcome: they keep their assumed placement until the pod was read."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field

from stromboli import kube
from stromboli.kube.client.api_errors import ApiError, RequestFailed
from stromboli.kube.client.client import Client
from stromboli.kube.objects.catalogue import PODS
from stromboli.kube.work.retry import RetryPolicy
from stromboli.kube.work.work_queue import drained, run_workers

#: Called with the current pod, or None if the pod with this uid does not exist.
PodLookupCallback = Callable[[kube.Pod | None], None]


@dataclass(slots=True)
class _Question:
    namespace: str
    name: str
    uid: str
    attempt: int = field(default=0)


class Resync:
    """Reads pods with retries and growing pauses until each outcome is known. Counts the reads."""

    def __init__(self, client: Client, *, workers: int = 4, retry: RetryPolicy | None = None) -> None:
        self._client = client
        self._workers = workers
        self._retry = retry or RetryPolicy(min_delay=0.2, max_delay=30.0)
        self._questions: asyncio.Queue[_Question] = asyncio.Queue()
        #: Callbacks by uid.
        self._open: dict[str, list[PodLookupCallback]] = {}
        self.asked = 0

    @property
    def waiting(self) -> int:
        return len(self._open)

    def ask(self, namespace: str, name: str, uid: str, learned: PodLookupCallback) -> None:
        """Look up a pod. One lookup at a time serves all callbacks of the pod."""
        waiting = self._open.setdefault(uid, [])
        waiting.append(learned)
        if len(waiting) == 1:
            self._questions.put_nowait(_Question(namespace, name, uid))

    async def settle(self, timeout: float) -> int:
        """Wait until all outcomes are known or the timeout expires; returns the number of open lookups."""
        return await drained(lambda: len(self._open), timeout)

    async def run(self) -> None:
        """Look up pods until cancelled."""
        await run_workers(self._workers, self._worker)

    async def _worker(self) -> None:
        while True:
            question = await self._questions.get()
            await self._look_up(question)

    async def _look_up(self, question: _Question) -> None:
        self.asked += 1
        try:
            pod: kube.Pod | None = await self._client.get(PODS, question.name, namespace=question.namespace)
        except RequestFailed as error:
            if not (isinstance(error, ApiError) and error.is_missing):
                self._retry_later(question, error)
                return
            pod = None
        found = pod if pod is not None and pod.metadata.uid == question.uid else None
        for learned in self._open.pop(question.uid):
            learned(found)

    def _retry_later(self, question: _Question, error: RequestFailed) -> None:
        pause = self._retry.delay(min(question.attempt, 8), error)
        question.attempt += 1
        asyncio.get_running_loop().call_later(pause, self._questions.put_nowait, question)
