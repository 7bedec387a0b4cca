"""Probes over the network, beside the workers of the controller: a server of one tenant that does not answer delays no
flow of another.

At most MAX_PER_NAMESPACE probes of a namespace run at a time and MAX_TOTAL in total; namespaces take turns.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Awaitable, Callable, Hashable
from functools import partial
from typing import NamedTuple

from stromboli.kube.client.api_errors import RequestFailed

MAX_PER_NAMESPACE = 4
MAX_TOTAL = 64
PROBE_SECONDS = 3.0
"""The interval of probes."""

_log = logging.getLogger(__name__)


class ProbeKey(NamedTuple):
    """A step of a flow."""

    namespace: str
    flow: str
    step: str


class ProbeAnswer(NamedTuple):
    passed: bool
    #: The seconds until the probe is due again; 0 while it waits or runs, and its end is reported.
    wait: float = 0.0


class _ProbeRequest(NamedTuple):
    """A probe, and the state that its answer is valid for."""

    state: Hashable
    check: Callable[[], Awaitable[bool]]


class _Outcome(NamedTuple):
    state: Hashable
    passed: bool
    #: When the answer is out of date.
    expires: float


class ProbeTasks:
    """`answered` is called with the namespace and name of a flow of which a probe has ended."""

    def __init__(self, answered: Callable[[str, str], None]) -> None:
        self._answered = answered
        #: By namespace, in the order of their turns; then in order of arrival.
        self._waiting: dict[str, dict[ProbeKey, _ProbeRequest]] = {}
        self._running: dict[ProbeKey, tuple[Hashable, asyncio.Task[None]]] = {}
        self._outcomes: dict[ProbeKey, _Outcome] = {}
        #: What is known of each flow.
        self._keys: dict[tuple[str, str], set[ProbeKey]] = {}
        #: The number of running probes by namespace, with those that are being cancelled.
        self._counts: Counter[str] = Counter()

    @property
    def running(self) -> int:
        return self._counts.total()

    def ask(self, key: ProbeKey, state: Hashable, check: Callable[[], Awaitable[bool]]) -> ProbeAnswer:
        """Return the answer for this state if it is known and recent; otherwise request it."""
        outcome = self._outcomes.get(key)
        if outcome is not None and outcome.state == state:
            wait = outcome.expires - asyncio.get_running_loop().time()
            if wait > 0:
                return ProbeAnswer(outcome.passed, wait)
        self._outcomes.pop(key, None)
        if key in self._running:
            if self._running[key][0] == state:
                return ProbeAnswer(passed=False)
            self._cancel(key)
        self._keys.setdefault((key.namespace, key.flow), set()).add(key)
        self._waiting.setdefault(key.namespace, {})[key] = _ProbeRequest(state, check)
        self._start()
        return ProbeAnswer(passed=False)

    def forget(self, namespace: str, flow: str) -> None:
        """Cancel the probes of a flow and drop their answers."""
        for key in self._keys.pop((namespace, flow), ()):
            self._outcomes.pop(key, None)
            if key in self._running:
                self._cancel(key)
            waiting = self._waiting.get(namespace, {})
            waiting.pop(key, None)
            if not waiting:
                self._waiting.pop(namespace, None)

    def close(self) -> None:
        """Cancel all probes."""
        for namespace, flow in [*self._keys]:
            self.forget(namespace, flow)

    def _cancel(self, key: ProbeKey) -> None:
        self._running.pop(key)[1].cancel()

    def _start(self) -> None:
        """Start the probes that the limits allow, one of each namespace in turn."""
        for namespace in [each for each in self._waiting if self._counts[each] < MAX_PER_NAMESPACE]:
            if self._counts.total() >= MAX_TOTAL:
                return
            waiting = self._waiting.pop(namespace)
            key = next(iter(waiting))
            request = waiting.pop(key)
            if waiting:
                self._waiting[namespace] = waiting
            self._counts[namespace] += 1
            task = asyncio.ensure_future(self._run(key, request))
            self._running[key] = (request.state, task)
            task.add_done_callback(partial(self._ended, namespace))

    async def _run(self, key: ProbeKey, request: _ProbeRequest) -> None:
        passed = False
        try:
            passed = await request.check()
        except RequestFailed as error:
            _log.debug("probe failed; retrying", extra={"flow": key.flow, "error": str(error)})
        except Exception:
            _log.exception("internal error; retrying", extra={"flow": key.flow})
        now = asyncio.get_running_loop().time()
        del self._running[key]
        self._outcomes[key] = _Outcome(request.state, passed, now + PROBE_SECONDS)
        self._answered(key.namespace, key.flow)

    def _ended(self, namespace: str, _task: asyncio.Task[None]) -> None:
        self._counts[namespace] -= 1
        if not self._counts[namespace]:
            del self._counts[namespace]
        self._start()
