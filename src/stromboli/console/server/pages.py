"""The built pages: files of one folder, of which every other path is a page of the client."""

from __future__ import annotations

from pathlib import Path

from aiohttp import web

from stromboli.console.views.view import NotFound

#: Files whose names contain a hash of their content.
_ASSETS = "assets/"
_FOREVER = "public, max-age=31536000, immutable"
_PLAIN = b"""<!doctype html><html lang="en"><title>Stromboli console</title>
<h1>Stromboli console</h1><p>The API is described by <a href="/api/openapi.json">its OpenAPI description</a>.</p></html>
"""


class StaticPages:
    """Serves the files that exist at the start."""

    def __init__(self, folder: Path) -> None:
        found = [path for path in folder.rglob("*") if path.is_file()] if folder.is_dir() else []
        self._files = {path.relative_to(folder).as_posix(): path for path in found}

    async def serve(self, request: web.Request) -> web.StreamResponse:
        """Return a file, or the page that shows a path. Raises NotFound."""
        name = request.path.lstrip("/")
        if name.startswith(("api/", _ASSETS)) and name not in self._files:
            raise NotFound(f"no {request.path[:200]}")
        path = self._files.get(name) or self._files.get("index.html")
        if path is None:
            return web.Response(body=_PLAIN, content_type="text/html", charset="utf-8")
        caching = _FOREVER if name.startswith(_ASSETS) else "no-cache"
        return web.FileResponse(path, headers={"Cache-Control": caching})
