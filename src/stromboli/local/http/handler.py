"""HTTP handler: authentication, watches, injected faults and error responses."""

from __future__ import annotations

import asyncio
import hmac
import logging

from aiohttp import web
from aiohttp.abc import AbstractStreamWriter
from aiohttp.http_parser import RawRequestMessage
from aiohttp.streams import StreamReader
from aiohttp.web_protocol import RequestHandler

from stromboli.local.api_server.api import Api, Reply, ResourceRequest
from stromboli.local.api_server.control_plane import ControlPlane
from stromboli.local.api_server.errors import StatusError, internal_error, too_large, unauthorized
from stromboli.local.api_server.faults import Answer, CutConnection, Delay, Faults, Garble, Hold, LoseAnswer, Oversize
from stromboli.local.api_server.store import encode
from stromboli.local.http.aggregation import AggregatedApis
from stromboli.local.http.calls import ApiCall, parse_call
from stromboli.local.http.documents import DiscoveryDocuments, is_public
from stromboli.local.http.watch_streams import Streams

_BODY_LIMIT = 3 * 1024 * 1024
_log = logging.getLogger(__name__)


class HttpFront:
    """Handles every request of the server."""

    def __init__(self, plane: ControlPlane, api: Api, faults: Faults, token: str, bookmark_interval: float) -> None:
        self._api = api
        self._faults = faults
        self._documents = DiscoveryDocuments(plane.registry)
        self._authorization = f"Bearer {token}"
        self._streams = Streams(faults, bookmark_interval)
        self.aggregated = AggregatedApis()

    def request(
        self,
        message: RawRequestMessage,
        payload: StreamReader,
        protocol: RequestHandler,
        writer: AbstractStreamWriter,
        task: asyncio.Task[None],
    ) -> web.BaseRequest:
        """A request whose body may be as large as a real server allows."""
        loop = asyncio.get_running_loop()
        return web.BaseRequest(message, payload, protocol, writer, task, loop, client_max_size=_BODY_LIMIT)

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        try:
            return await self._serve(request)
        except StatusError as refused:
            return _response(_refusal(refused))
        except web.HTTPRequestEntityTooLarge:
            return _response(_refusal(too_large(_BODY_LIMIT)))
        except Exception as error:
            _log.exception("request failed", extra={"method": request.method, "path": request.path})
            return _response(_refusal(internal_error(f"{type(error).__name__}: {error}")))

    async def _serve(self, request: web.BaseRequest) -> web.StreamResponse:
        path, _, query = request.raw_path.partition("?")
        call = parse_call(request.method, path, query)
        authorization = request.headers.get("Authorization", "")
        if not hmac.compare_digest(authorization.encode(), self._authorization.encode()) and not is_public(path):
            has_credentials = "Authorization" in request.headers
            raise unauthorized() if has_credentials else reject_anonymous(request.method, path, call)
        if url := self.aggregated.url_of(path):
            return await self.aggregated.forward(url, request)
        if call is None or not call.plural:
            return _response(self._documents.answer(path, request.headers.get("Accept", ""), request.host))
        if not self._faults:
            return await self._resource(request, call)
        return await self._faulty(request, call)

    async def _resource(self, request: web.BaseRequest, call: ApiCall) -> web.StreamResponse:
        resource_request = await self._resource_request(request, call)
        if call.verb == "watch":
            return await self._streams.run(request, call, self._api.watch(resource_request))
        return _response(self._api.answer(resource_request))

    async def _resource_request(self, request: web.BaseRequest, call: ApiCall) -> ResourceRequest:
        resource = self._api.resource(call)
        body = await request.read() if request.body_exists else b""
        headers = request.headers
        content_type = request.content_type if body else ""
        return ResourceRequest(
            call, resource, headers.get("Accept", ""), content_type, body, headers.get("User-Agent", "")
        )

    async def _faulty(self, request: web.BaseRequest, call: ApiCall) -> web.StreamResponse:
        """Handle a call like `_resource`, with injected faults."""
        corrupt: Garble | Oversize | LoseAnswer | None = None
        for action in self._faults.on_request(call):
            match action:
                case Delay(seconds):
                    await asyncio.sleep(seconds)
                case Hold():
                    await action.wait()
                case Answer(status, reason, message, retry_after):
                    raise StatusError(status, reason, message, retry_after=retry_after)
                case CutConnection():
                    return _cut(request)
                case _:
                    corrupt = action
        response = await self._resource(request, call)
        if isinstance(corrupt, LoseAnswer):
            return _cut(request)
        if corrupt is not None and isinstance(response, web.Response):
            response.body = _corrupted(response.body, corrupt)
        return response

    @property
    def open_watches(self) -> int:
        return len(self._streams)

    def drop_watches(self) -> None:
        self._streams.drop()


def _corrupted(body: object, corrupt: Garble | Oversize) -> bytes:
    whole = body if isinstance(body, bytes) else b""
    if isinstance(corrupt, Oversize):
        return whole + b" " * (corrupt.bytes - len(whole))
    return whole[: len(whole) // 2]


def _cut(request: web.BaseRequest) -> web.StreamResponse:
    """Close the connection without response."""
    if request.transport is not None:
        request.transport.abort()
    return web.Response(status=500)


def _response(reply: Reply) -> web.Response:
    headers = {"Content-Type": reply.content_type, **reply.headers}
    response = web.Response(status=reply.status, body=reply.body, headers=headers)
    for warning in reply.warnings:
        response.headers.add("Warning", f"299 - {encode(warning).decode()}")
    return response


def _refusal(refused: StatusError) -> Reply:
    headers = {} if refused.retry_after is None else {"Retry-After": str(refused.retry_after)}
    return Reply(refused.code, encode(refused.status()), headers=headers)


_ANONYMOUS = 'User "system:anonymous"'


def reject_anonymous(method: str, path: str, call: ApiCall | None) -> StatusError:
    """The error of an anonymous request to a path that is not public."""
    if call is None or not call.plural:
        return StatusError(403, "Forbidden", f'forbidden: {_ANONYMOUS} cannot {method.lower()} path "{path}"')
    kind = f"{call.plural}.{call.group}" if call.group else call.plural
    named = f'{kind} "{call.name}"' if call.name else kind
    part = f"{call.plural}/{call.subresource}" if call.subresource else call.plural
    place = f'in the namespace "{call.namespace}"' if call.namespace else "at the cluster scope"
    why = f'{_ANONYMOUS} cannot {call.verb} resource "{part}" in API group "{call.group}" {place}'
    details = {**({"name": call.name} if call.name else {}), "group": call.group, "kind": call.plural}
    present = {key: value for key, value in details.items() if value}
    return StatusError(403, "Forbidden", f"{named} is forbidden: {why}", details=present)
