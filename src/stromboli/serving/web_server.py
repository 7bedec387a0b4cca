"""A web application at an address: over HTTPS or plain HTTP, with limits on its connections."""

from __future__ import annotations

import asyncio
import ssl

from aiohttp import web

from stromboli.serving.address import Address
from stromboli.serving.guard import Handler
from stromboli.serving.listener import Listener

IDLE_SECONDS = 60.0
"""Time limit of an idle connection in seconds."""
LINGERING_SECONDS = 1.0
"""Time limit in seconds to drain a rejected request, so that its sender reads the response."""
_SECONDS_TO_STOP = 5.0


class WebServer:
    """Serves one application. Its first middleware notes that the headers of a request have arrived. With
    `cancels_handlers`, a handler is cancelled when its client disconnects.
    """

    def __init__(
        self, application: web.Application, listener: Listener | None = None, *, cancels_handlers: bool = False
    ) -> None:
        self._listener = listener or Listener()
        application.middlewares.insert(0, self._note_headers)
        self._runner = web.AppRunner(
            application,
            access_log=None,
            handle_signals=False,
            handler_cancellation=cancels_handlers,
            keepalive_timeout=IDLE_SECONDS,
            lingering_time=LINGERING_SECONDS,
            shutdown_timeout=_SECONDS_TO_STOP,
        )

    async def start(self, address: Address, context: ssl.SSLContext | None) -> Address:
        """Start to listen and return the address; without a context over plain HTTP. Raises ListenError."""
        await self._runner.setup()
        server = self._runner.server
        assert server is not None, "the runner is set up"  # noqa: S101
        return self._listener.listen(address, context, server)

    async def stop(self) -> None:
        """Stop after the requests in progress are answered. A client that keeps its connection does not delay that."""
        await self._listener.stop()
        server = self._runner.server
        open_transports = [each.transport for each in server.connections if each.transport] if server else []
        await self._runner.cleanup()
        for transport in open_transports:
            transport.abort()
        await asyncio.sleep(0)  # closed sockets leave the event loop in its next iteration
        await asyncio.sleep(0)

    @web.middleware
    async def _note_headers(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        self._listener.heard(request)
        return await handler(request)
