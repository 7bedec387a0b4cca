"""The OpenAPI description of the API, generated from its routes and types.

The checked-in copy is that of the last change of the API: `python -m stromboli.console.openapi` writes it again.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from stromboli.console.documents.base import ConsoleProblem
from stromboli.console.routes import EVENTS, JSON, ROUTES, ApiRoute

FILE = Path(__file__).with_name("openapi.json")
_VERSION = "1"
_DESCRIPTION = (
    "Read-only. Log in with POST /api/session, or send `Authorization: Bearer TOKEN` with each request. Requests other "
    "than GET within a session need the header X-Stromboli-Csrf, whose value is in the session. Names are stable; "
    "fields may be added."
)
_TEMPLATE = "#/components/schemas/{name}"


def openapi() -> dict[str, Any]:
    """Return the description."""
    types = [*dict.fromkeys(_types()), ConsoleProblem]
    schemas, components = msgspec.json.schema_components(types, ref_template=_TEMPLATE)
    references = dict(zip(types, schemas, strict=True))
    paths: dict[str, dict[str, Any]] = {}
    for route in ROUTES:
        paths.setdefault(route.path, {})[route.method.lower()] = _operation(route, references)
    return {
        "openapi": "3.1.0",
        "info": {"title": "Stromboli console", "version": _VERSION, "description": _DESCRIPTION},
        "paths": paths,
        "components": {
            "schemas": dict(sorted(_with_required(components).items())),
            "securitySchemes": {
                "session": {"type": "apiKey", "in": "cookie", "name": "__Host-stromboli"},
                "token": {"type": "http", "scheme": "bearer"},
            },
        },
        "security": [{"session": []}, {"token": []}],
    }


def _types() -> Iterator[Any]:
    for route in ROUTES:
        yield from (each for each in (*_answers(route), route.body) if each is not None)


def _answers(route: ApiRoute) -> Sequence[Any]:
    return route.answer if isinstance(route.answer, tuple) else (route.answer,)


def _with_required(components: dict[str, Any]) -> dict[str, Any]:
    """Answers have all fields, also those with defaults; fields of requests may be missing."""
    requests = {route.body.__name__ for route in ROUTES if route.body is not None}
    for name, schema in components.items():
        if name not in requests and "properties" in schema:
            schema["required"] = list(schema["properties"])
    return components


def _operation(route: ApiRoute, references: dict[Any, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {
        "operationId": route.name,
        "summary": route.summary,
        "parameters": [
            *({"name": name, "in": "path", "required": True, "schema": {"type": "string"}}
              for name in re.findall(r"\{(\w+)\}", route.path)),
            *({"name": name, "in": "query", "description": text, "schema": {"type": "string"}}
              for name, text in route.query.items()),
        ],
        "responses": {**_success(route, references), "default": {
            "description": "Why it was not answered",
            "content": {JSON: {"schema": references[ConsoleProblem]}},
        }},
    }  # fmt: skip
    if route.body is not None:
        found["requestBody"] = {"required": True, "content": {JSON: {"schema": references[route.body]}}}
    if route.is_open:
        found["security"] = []
    return found


def _success(route: ApiRoute, references: dict[Any, Any]) -> dict[str, Any]:
    answers = [references[each] for each in _answers(route) if each is not None]
    if not answers and route.media == JSON:
        return {"204": {"description": "Done"}}
    if not answers:
        schema: dict[str, Any] = {"type": "string"}
    elif route.media == EVENTS:
        schema = {"type": "string", "x-events": answers}
    else:
        schema = answers[0]
    return {"200": {"description": "The answer", "content": {route.media: {"schema": schema}}}}


def encoded() -> bytes:
    """Return the description as it is checked in."""
    return msgspec.json.format(msgspec.json.encode(openapi()), indent=1) + b"\n"


if __name__ == "__main__":
    FILE.write_bytes(encoded())
