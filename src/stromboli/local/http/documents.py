"""Non-resource paths: versions, health, discovery and OpenAPI."""

from __future__ import annotations

from typing import Any

from stromboli.local.api_server.api import Reply
from stromboli.local.api_server.errors import no_such_path
from stromboli.local.api_server.registry import KindRegistry
from stromboli.local.api_server.store import encode
from stromboli.local.discovery import discovery, openapi

_HEALTH = ("/healthz", "/livez", "/readyz")
_VERSION = {
    "major": "1",
    "minor": "37",
    "gitVersion": "v1.37.0+stromboli",
    "gitCommit": "",
    "gitTreeState": "clean",
    "buildDate": "1970-01-01T00:00:00Z",
    "goVersion": "",
    "compiler": "",
    "platform": "linux/amd64",
}


def is_public(path: str) -> bool:
    """Report whether anonymous requests may read the path."""
    return path == "/version" or path.startswith(_HEALTH)


class DiscoveryDocuments:
    """Documents about the server, from the kinds that it serves at present."""

    def __init__(self, registry: KindRegistry) -> None:
        self._registry = registry

    def answer(self, path: str, accept: str, address: str) -> Reply:
        if path.startswith(_HEALTH):
            return Reply(200, b"ok", "text/plain; charset=utf-8")
        if path in ("/api", "/apis") and discovery.wants_aggregated(accept):
            document = discovery.aggregated(self._registry, core=path == "/api")
            return Reply(200, encode(document), discovery.AGGREGATED_TYPE)
        if path == "/openapi/v2" and not openapi.wants_json(accept):
            return Reply(200, openapi.BINARY_SWAGGER, openapi.BINARY_SWAGGER_TYPE)
        found = self._document(path.rstrip("/"), address)
        if found is None:
            raise no_such_path()
        return Reply(200, encode(found))

    def _document(self, path: str, address: str) -> dict[str, Any] | None:
        match path.split("/")[1:]:
            case ["version"]:
                return dict(_VERSION)
            case ["api"]:
                return discovery.core_versions(address)
            case ["apis"]:
                return discovery.api_groups(self._registry)
            case ["api", version]:
                return discovery.resource_list(self._registry, "", version)
            case ["apis", group]:
                return discovery.api_group(self._registry, group)
            case ["apis", group, version]:
                return discovery.resource_list(self._registry, group, version)
            case ["openapi", *rest]:
                return self._openapi(rest)
        return None

    def _openapi(self, rest: list[str]) -> dict[str, Any] | None:
        match rest:
            case ["v2"]:
                return openapi.swagger(self._registry)
            case ["v3"]:
                return openapi.index(self._registry)
            case ["v3", "api", version]:
                return openapi.document(self._registry, "", version)
            case ["v3", "apis", group, version]:
                return openapi.document(self._registry, group, version)
        return None
