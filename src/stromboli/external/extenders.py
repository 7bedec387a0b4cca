"""Extenders over HTTP: JSON requests with time limits.

A cycle blocks while it waits for a response, so there are two limits: one for a single response, and ten times as long
for all responses of a cycle. An extender that is unreachable or has used up its time is not called again in the cycle:
it costs one time-out, not one per job. Requests run on a thread with an event loop of its own, so that the total time
of a response is limited, however slowly its bytes arrive.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

import msgspec

from stromboli.core.config.external_services import Document, Endpoint, ServiceError
from stromboli.external.endpoints import EndpointError, ExternalEndpoint, transport_to
from stromboli.kube.client.api_errors import ApiError, RequestFailed
from stromboli.kube.client.transport import Transport

#: Size limit of a response in bytes.
MAX_RESPONSE_SIZE = 1 << 20
#: Time limit of all responses of a cycle, as a multiple of the time limit of one.
TIMEOUTS_PER_CYCLE = 10

T = TypeVar("T")


class HttpExtenders:
    """HTTP access to extenders. The thread starts with the first request."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.clock = clock
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._transports: dict[Endpoint, Transport] = {}

    def client_for(self, endpoint: Endpoint) -> ExtenderSession:
        return ExtenderSession(self, endpoint)

    def post(self, endpoint: Endpoint, verb: str, body: bytes) -> bytes:
        """Send a request. Raises RequestFailed, EndpointError, or TimeoutError soon after the endpoint's time limit."""
        transport = self._transports.get(endpoint)
        if transport is None:
            transport = self._transports[endpoint] = transport_to(
                _place(endpoint), timeout=endpoint.seconds, max_size=MAX_RESPONSE_SIZE
            )
        return self._run(_post(transport, verb, body, endpoint.seconds))

    def close(self) -> None:
        """Close all connections and end the thread."""
        loop, thread = self._loop, self._thread
        if loop is None or thread is None:
            return
        self._run(_close_all(list(self._transports.values())))
        self._loop = self._thread = None
        self._transports = {}
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()

    def _run(self, work: Coroutine[Any, Any, T]) -> T:
        if self._loop is None:
            self._loop = asyncio.new_event_loop()
            self._thread = threading.Thread(target=self._loop.run_forever, name="extenders", daemon=True)
            self._thread.start()
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()


class ExtenderSession:
    """Requests to one extender during one cycle."""

    def __init__(self, extenders: HttpExtenders, endpoint: Endpoint) -> None:
        self._extenders = extenders
        self._endpoint = endpoint
        self._left = endpoint.seconds * TIMEOUTS_PER_CYCLE
        #: Why the extender is not called any more in this cycle; empty while it is.
        self._unavailable = ""

    def ask(self, verb: str, question: Document) -> Document:
        if self._unavailable:
            raise ServiceError(self._unavailable)
        began = self._extenders.clock()
        try:
            answer = self._extenders.post(self._endpoint, verb, msgspec.json.encode(question))
        except ApiError as error:
            raise ServiceError(f"{self._endpoint.address}/{verb}: {error}") from None
        except (RequestFailed, EndpointError, TimeoutError) as error:
            message = f"{self._endpoint.address}: {str(error) or f'no response within {self._endpoint.seconds:g} s'}"
            self._unavailable = f"{message}; not called again in this cycle"
            raise ServiceError(message) from None
        finally:
            self._left -= self._extenders.clock() - began
            if self._left <= 0 and not self._unavailable:
                self._unavailable = f"{self._endpoint.address}: its responses exceeded the time limit of a cycle"
        return _decoded(f"{self._endpoint.address}/{verb}", answer)


async def _post(transport: Transport, verb: str, body: bytes, seconds: float) -> bytes:
    async with asyncio.timeout(seconds):
        return await transport.request("POST", f"/{verb}", body=body)


async def _close_all(transports: list[Transport]) -> None:
    for transport in transports:
        await transport.close()


def _place(endpoint: Endpoint) -> ExternalEndpoint:
    return ExternalEndpoint(
        endpoint.address, authorities=endpoint.authorities, certificate=endpoint.certificate, key=endpoint.key
    )


def _decoded(where: str, answer: bytes) -> Document:
    """Decode a response: empty, or a JSON object."""
    if not answer.strip():
        return {}
    try:
        document = msgspec.json.decode(answer)
    except (msgspec.DecodeError, RecursionError) as error:
        raise ServiceError(f"{where}: the response is not JSON: {error}") from None
    if not isinstance(document, dict):
        raise ServiceError(f"{where}: the response is not a JSON object")
    return document
