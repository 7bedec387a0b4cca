"""Aggregated APIs: groups whose requests are forwarded to another server on this machine."""

from __future__ import annotations

from aiohttp import ClientError, ClientSession, ClientTimeout, web

from stromboli.local.api_server.errors import StatusError

_SECONDS = 60.0
_FORWARDED = ("Accept", "Authorization", "Content-Type")
_RETURNED = ("Content-Type", "Retry-After")


class AggregatedApis:
    """Servers by API group. Their certificates are self-made, and stay on this machine."""

    def __init__(self) -> None:
        self._urls: dict[str, str] = {}

    def register(self, group: str, url: str) -> None:
        self._urls[group] = url

    def url_of(self, path: str) -> str:
        """Return the server of a path; empty for the paths of this server."""
        parts = path.split("/")
        return self._urls.get(parts[2], "") if len(parts) > 2 and parts[1] == "apis" else ""

    async def forward(self, url: str, request: web.BaseRequest) -> web.Response:
        """Return the response of the other server. The token of the person is forwarded, which the other reviews."""
        headers = {name: request.headers[name] for name in _FORWARDED if name in request.headers}
        try:
            async with (
                ClientSession(timeout=ClientTimeout(total=_SECONDS)) as session,
                session.request(
                    request.method, f"{url}{request.raw_path}", headers=headers, data=await request.read(), ssl=False
                ) as answer,
            ):
                body = await answer.read()
        except (ClientError, TimeoutError) as error:
            raise StatusError(503, "ServiceUnavailable", f"error trying to reach service: {error}") from error
        kept = {name: answer.headers[name] for name in _RETURNED if name in answer.headers}
        return web.Response(status=answer.status, body=body, headers=kept)
