"""The built pages: files of one folder, kept in memory. Every other path is a page of the client."""

from __future__ import annotations

import mimetypes
from dataclasses import dataclass, field
from pathlib import Path

from aiohttp import web

from stromboli.console.server.calls import packed_response
from stromboli.console.views.view import NotFound

#: Files whose names contain a hash of their content.
_ASSETS = "assets/"
_FOREVER = "public, max-age=31536000, immutable"


@dataclass(frozen=True, slots=True)
class StaticFile:
    content_type: str
    caching: str
    #: The content, and compressed after the first request for it.
    forms: dict[bool, bytes] = field(repr=False)


class StaticPages:
    """Serves the files that exist at the start."""

    def __init__(self, folder: Path) -> None:
        found = {path.relative_to(folder).as_posix(): path for path in folder.rglob("*") if path.is_file()}
        self._files = {
            name: StaticFile(
                mimetypes.guess_type(name)[0] or "application/octet-stream",
                _FOREVER if name.startswith(_ASSETS) else "no-cache",
                {False: path.read_bytes()},
            )
            for name, path in found.items()
        }

    async def serve(self, request: web.Request) -> web.StreamResponse:
        """Return a file, or the page that shows a path. Raises NotFound."""
        name = request.path.lstrip("/")
        if name.startswith(("api/", _ASSETS)) and name not in self._files:
            raise NotFound(f"no {request.path[:200]}")
        file = self._files.get(name) or self._files["index.html"]
        response = await packed_response(request, file.forms, file.content_type)
        response.headers["Cache-Control"] = file.caching
        return response
