"""The console in a thread of its own, with its own connections."""

from __future__ import annotations

import asyncio
import contextlib

from stromboli.cluster.dump.dump import Dump
from stromboli.console.access.callers import ConsoleCallers
from stromboli.console.access.hosts import AllowedHosts
from stromboli.console.access.rights import RightsReviewer
from stromboli.console.access.sessions import ConsoleSessions
from stromboli.console.cache.scheduler_cycles import SchedulerCycles
from stromboli.console.server.api import ConsoleApi
from stromboli.console.server.asking import ConsoleAsking
from stromboli.console.server.decisions import ConsoleDecisions
from stromboli.console.server.login import ConsoleLogin
from stromboli.console.server.pages import StaticPages
from stromboli.console.server.reads import ConsoleReads
from stromboli.console.server.security import RequestGuard
from stromboli.console.server.settings import STATIC, ConsoleSettings
from stromboli.console.server.state import ConsoleState
from stromboli.console.server.usage import ConsoleUsage
from stromboli.console.views.history import HistoryReader
from stromboli.kube.client.client import Client
from stromboli.serving.address import Address, parse_address
from stromboli.serving.listener import Listener
from stromboli.serving.server_thread import ServerThread
from stromboli.serving.web_server import WebServer
from stromboli.visibility.process import AnsweringProcess
from stromboli.visibility.reviews import PersonReviews
from stromboli.visibility.snapshots import Snapshots

#: Requests per second for reviews, which must not wait for lists of the cache.
_RATE, _BURST = 100.0, 200
_MAX_CONNECTIONS = 500
_COOKIE = "stromboli"
#: Streams over TLS end with an exchange, for which the loop has to run.
_SECONDS_TO_CLOSE = 0.1


class ConsoleServer(ServerThread):
    """Serves until `stop`."""

    name = "console"

    def __init__(self, settings: ConsoleSettings) -> None:
        """Raises InvalidCertificate."""
        super().__init__()
        self._settings = settings
        self._wanted = parse_address(settings.address)
        self._certificate = settings.tls.certificate(self._wanted)
        #: The actual address, after the start.
        self.address: Address | None = None

    @property
    def url(self) -> str:
        """The address for a browser of this machine."""
        assert self.address is not None, "the server is started"  # noqa: S101
        scheme = "http" if self._certificate is None else "https"
        return f"{scheme}://{self.address if self.address.host else f'localhost:{self.address.port}'}"

    async def serve(self, stack: contextlib.AsyncExitStack) -> None:
        settings, certificate = self._settings, self._certificate
        connection = settings.connect()
        if connection.ssl is not None:
            stack.push_async_callback(asyncio.sleep, _SECONDS_TO_CLOSE)
        client = await stack.enter_async_context(Client(connection))
        reviewing = await stack.enter_async_context(Client(settings.connect(), qps=_RATE, burst=_BURST))
        cycles = SchedulerCycles(client) if settings.cycles is None else settings.cycles
        state, reviews = ConsoleState(client, settings, cycles), PersonReviews(reviewing)
        callers = ConsoleCallers(ConsoleSessions(reviews, settings.codes), reviews, settings.proxies, _COOKIE)
        reviewer = RightsReviewer(reviewing, settings.installation)
        snapshots = Snapshots(lambda: _dump(state))
        stack.callback(snapshots.close)
        login = ConsoleLogin(
            callers, reviewer, state, is_https=certificate is not None, has_history=bool(settings.history),
            cycles=cycles, owner_label=settings.owner_label,
        )  # fmt: skip
        history = HistoryReader(settings.history) if settings.history else None
        api = ConsoleApi(
            state, callers, reviewer, login, ConsoleReads(client, history),
            ConsoleAsking(AnsweringProcess(settings.history, settings.plugins), snapshots),
            ConsoleDecisions(cycles), ConsoleUsage(history, state.now),
        )  # fmt: skip
        guard = RequestGuard(AllowedHosts(self._wanted, settings.hosts))
        application, listener = api.application(guard, StaticPages(STATIC)), Listener(connections=_MAX_CONNECTIONS)
        server = WebServer(application, listener, cancels_handlers=True)
        stack.push_async_callback(server.stop)
        self.address = await server.start(self._wanted, None if certificate is None else certificate.context)
        callers.cookie = _cookie(self.address, is_https=certificate is not None)
        works = [state.run()]
        if certificate is not None:
            works.append(certificate.watch())
        if isinstance(cycles, SchedulerCycles):
            works.append(cycles.run())
        for work in works:
            stack.push_async_callback(_end, asyncio.create_task(work))


async def _end(task: asyncio.Task[None]) -> None:
    """Cancel a task, and wait until it has closed its connections."""
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


def _cookie(address: Address, *, is_https: bool) -> str:
    """Browsers send cookies to all ports of a host: consoles over plain HTTP on one machine need names of their own."""
    return f"__Host-{_COOKIE}" if is_https else f"{_COOKIE}-{address.port}"


async def _dump(state: ConsoleState) -> Dump:
    return state.cache.dump()
