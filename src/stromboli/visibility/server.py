"""A thread that answers questions, beside the scheduling loop.

The loop is asked for one thing only, the contents of the cache, which it copies between two cycles.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import ssl
from collections.abc import Callable
from pathlib import Path

import msgspec

from stromboli.cluster.dump.dump import Dump, DumpError
from stromboli.kube.client.api_errors import RequestFailed
from stromboli.kube.client.client import Client
from stromboli.kube.client.config.connection import Connection
from stromboli.serving.address import Address, parse_address
from stromboli.serving.server_thread import ServerThread
from stromboli.serving.tls import Certificate, SelfSigned, TlsSettings
from stromboli.serving.web_server import WebServer
from stromboli.visibility.api import ReadBody, ReadCycles, VisibilityApi, objects_of
from stromboli.visibility.callers import Callers, read_front_proxy
from stromboli.visibility.limits import QuestionLimits
from stromboli.visibility.process import AnswerFailed, AnsweringProcess, NotLeading
from stromboli.visibility.questions import Question, VisibilityAnswer
from stromboli.visibility.reviews import PersonReviews
from stromboli.visibility.snapshots import Snapshots

_RATE, _BURST = 50.0, 100
#: Seconds between reads of the configuration of the front proxy.
_REFRESH_SECONDS = 60.0
_RETRY_SECONDS = 5.0
#: Seconds to wait for a question's turn, its dump and its answer together.
_MAX_SECONDS = 58.0
#: Seconds in which the objects of a question must arrive, once it is its turn.
_BODY_SECONDS = 10.0

_log = logging.getLogger("stromboli.visibility")


class VisibilityServer(ServerThread):
    """Serves over HTTPS. `take` returns the contents of the cache, and is called in the event loop of the creator;
    `problem` returns why nothing can be answered now, and `history_problem` why the history of another replica is the
    right one.
    """

    name = "visibility"

    def __init__(
        self,
        address: str,
        connect: Callable[[], Connection],
        take: Callable[[], Dump],
        process: AnsweringProcess,
        cycles: ReadCycles,
        *,
        tls: TlsSettings | None = None,
        problem: Callable[[], str | None] = lambda: None,
        history_problem: Callable[[], str | None] = lambda: None,
        folder: str = "",
    ) -> None:
        """Raises InvalidCertificate."""
        super().__init__()
        self._address = parse_address(address)
        self._certificate = _certificate(self._address, tls or TlsSettings())
        self._connect, self._take, self._process = connect, take, process
        self._problem, self._history_problem, self._cycles = problem, history_problem, cycles
        self._folder = folder
        self._limits = QuestionLimits()
        self._snapshots: Snapshots | None = None
        self._creator: asyncio.AbstractEventLoop | None = None
        #: The actual address, after the start.
        self.address: Address | None = None

    def start(self) -> None:
        """Start to serve, from the event loop that owns the cache. Raises ListenError."""
        self._creator = asyncio.get_running_loop()
        super().start()

    async def serve(self, stack: contextlib.AsyncExitStack) -> None:
        client = await stack.enter_async_context(Client(self._connect(), qps=_RATE, burst=_BURST))
        reviews = PersonReviews(client)
        callers = Callers(reviews)
        for work in (self._follow_proxy(client, callers), self._certificate.watch()):
            stack.callback(asyncio.create_task(work).cancel)
        self._snapshots = Snapshots(self._taken, self._folder)
        stack.callback(self._snapshots.close)
        server = WebServer(VisibilityApi(callers, reviews, self.ask, self._cycles).application())
        stack.push_async_callback(server.stop)
        self.address = await server.start(self._address, self._certificate.context)

    async def _follow_proxy(self, client: Client, callers: Callers) -> None:
        """Read the configuration of the front proxy, and again when it may have changed. Until it is known, only people
        with a token are answered.
        """
        while True:
            is_read = await self._read_proxy(client, callers)
            await asyncio.sleep(_REFRESH_SECONDS if is_read else _RETRY_SECONDS)

    async def _read_proxy(self, client: Client, callers: Callers) -> bool:
        """Authorities that are gone stay in the context of TLS, but their certificates are no longer accepted."""
        try:
            found = await read_front_proxy(client)
            if found.authorities and found.authorities != callers.proxy.authorities:
                self._certificate.trust_clients(found.authorities)
            callers.proxy = found
        except (RequestFailed, ssl.SSLError) as error:
            _log.warning("configuration of the front proxy not read", extra={"error": str(error)})
            return False
        return True

    async def ask(self, person: str, question: Question, read: ReadBody | None = None) -> VisibilityAnswer:
        """Answer a question, whose objects are read when it is its turn. Raises TooManyQuestions, AnswerFailed,
        ValueError, OSError, TimeoutError.
        """
        if problem := self._problem():
            raise AnswerFailed(problem)
        if question.resource == "history" and (problem := self._history_problem()):
            raise NotLeading(problem)
        assert self._snapshots is not None, "it is served"  # noqa: S101
        async with asyncio.timeout(_MAX_SECONDS), self._limits.slot(person, question.namespace):
            if read is not None:
                question = msgspec.structs.replace(question, objects=objects_of(await _in_time(read)))
            try:
                async with self._snapshots.latest() as path:
                    return await self._process.answer(question, Path(path))
            except DumpError as error:
                raise AnswerFailed(f"the state of the scheduler cannot be written: {error}") from error

    async def _taken(self) -> Dump:
        """Return the contents of the cache: copied in the loop that changes it."""
        assert self._creator is not None, "it was started"  # noqa: S101

        async def take() -> Dump:
            return self._take()

        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(take(), self._creator))


async def _in_time(read: ReadBody) -> bytes:
    try:
        async with asyncio.timeout(_BODY_SECONDS):
            return await read()
    except TimeoutError as error:
        raise AnswerFailed(f"the objects of the question did not arrive within {_BODY_SECONDS:g} s") from error


def _certificate(address: Address, tls: TlsSettings) -> Certificate | SelfSigned:
    """Return the certificate: the address is served over HTTPS whatever the scheme of others is."""
    if tls.certificate_file or tls.key_file:
        return Certificate(tls.certificate_file, tls.key_file)
    return SelfSigned(address)
