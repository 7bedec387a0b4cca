"""One request: who asks, what they may read, and the encoded answer."""

from __future__ import annotations

import asyncio
import zlib
from collections import OrderedDict
from collections.abc import Collection, Hashable
from dataclasses import dataclass
from typing import Any, TypeVar

import msgspec
from aiohttp import web

from stromboli.console.access.callers import ConsoleCaller
from stromboli.console.access.rights import PersonRights, RightsReviewer
from stromboli.console.routes import ApiRoute
from stromboli.console.server.state import ConsoleState
from stromboli.console.views.view import PersonView

#: The size of the body of a request, and the seconds in which it must arrive.
MAX_BODY, _BODY_SECONDS = 2 << 20, 10.0
#: Smaller answers are not compressed; larger ones are compressed in a thread.
_MIN_COMPRESSED, _COMPRESSION = 2048, 3
#: Encoded answers that are kept for people with equal rights.
_MAX_KEPT = 12

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ConsoleCall:
    """A request of an identified person."""

    request: web.Request
    route: ApiRoute
    caller: ConsoleCaller
    state: ConsoleState
    reviewer: RightsReviewer

    def part(self, name: str) -> str:
        """Return a part of the path."""
        return self.request.match_info[name]

    @property
    def query(self) -> dict[str, str]:
        return dict(self.request.query)

    async def rights(self, further: Collection[str] = ()) -> PersonRights:
        """Return the rights of the person, with those in these namespaces."""
        namespaces = {row.entry.namespace for row in self.state.frames.current.rows.values()}
        return await self.reviewer.of(self.caller.person, namespaces.union(further))

    async def view(self) -> PersonView:
        return self.state.view(await self.rights())

    async def body(self, kind: type[T]) -> T:
        """Return the body. Raises msgspec.DecodeError, TimeoutError."""
        return await read_body(self.request, kind)


async def read_body(request: web.Request, kind: type[T]) -> T:
    """Return the JSON of a request. Other content types are rejected: forms of other sites can send those. Raises
    ValueError, msgspec.DecodeError, TimeoutError.
    """
    if request.content_type != "application/json":
        raise ValueError(f"the content type is {request.content_type[:80]!r}; send application/json")
    async with asyncio.timeout(_BODY_SECONDS):
        content = await request.read()
    return msgspec.json.decode(content, type=kind)


class AnswerCache:
    """Encoded answers by what they depend on. People with equal rights get the same bytes."""

    def __init__(self) -> None:
        self._kept: OrderedDict[Hashable, dict[bool, bytes]] = OrderedDict()

    def find(self, key: Hashable) -> dict[bool, bytes] | None:
        found = self._kept.get(key)
        if found is not None:
            self._kept.move_to_end(key)
        return found

    def keep(self, key: Hashable, answer: bytes) -> dict[bool, bytes]:
        kept = self._kept[key] = {False: answer}
        while len(self._kept) > _MAX_KEPT:
            self._kept.popitem(last=False)
        return kept


async def packed_response(
    request: web.Request, forms: dict[bool, bytes], content_type: str = "application/json"
) -> web.Response:
    """Return an answer, compressed if the client takes it so and it is large. `forms` keeps what was compressed."""
    is_packed = len(forms[False]) >= _MIN_COMPRESSED and "gzip" in request.headers.get("Accept-Encoding", "")
    if is_packed and True not in forms:
        forms[True] = await asyncio.to_thread(_packed, forms[False])
    headers = {"Vary": "Accept-Encoding", **({"Content-Encoding": "gzip"} if is_packed else {})}
    return web.Response(body=forms[is_packed], content_type=content_type, headers=headers)


def _packed(content: bytes) -> bytes:
    packer = zlib.compressobj(_COMPRESSION, wbits=16 + zlib.MAX_WBITS)
    return packer.compress(content) + packer.flush()


def encoded(answer: Any) -> bytes:
    return answer if isinstance(answer, bytes) else msgspec.json.encode(answer)
