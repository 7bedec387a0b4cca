"""Rules of ConfigMaps and Secrets."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable, Iterator

from stromboli.local.api_server.errors import Cause, bad_request
from stromboli.local.api_server.registry import ServedResource
from stromboli.local.api_server.store import Object
from stromboli.local.kinds.strategies import KindStrategy
from stromboli.local.kinds.validation.field_errors import not_allowed, wrong

_KEY = re.compile(r"[-._a-zA-Z0-9]+")
_KEY_RULE = (
    "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  "
    f"or 'key-name', regex used for validation is '{_KEY.pattern}')"
)
_PARTS = ("data", "binaryData")
_IMMUTABLE = "field is immutable when `immutable` is set"


class DataStrategy(KindStrategy):
    """Keys must be valid file names; immutable data cannot change."""

    def default(self, resource: ServedResource, body: Object) -> None:
        for part in _PARTS:
            if part in body and not body[part]:
                del body[part]

    def check(self, resource: ServedResource, body: Object) -> Iterable[Cause]:
        for part in _PARTS:
            for key in body.get(part) or {}:
                if not _KEY.fullmatch(key):
                    yield wrong(f"{part}[{key}]", key, _KEY_RULE)
        for key in (body.get("data") or {}).keys() & (body.get("binaryData") or {}).keys():
            yield wrong(f"data[{key}]", key, "duplicate of key present in binaryData")

    def check_change(self, resource: ServedResource, old: Object, new: Object, subresource: str) -> Iterator[Cause]:
        if not old.get("immutable"):
            return
        if not new.get("immutable"):
            yield not_allowed("immutable", _IMMUTABLE)
        for part in _PARTS:
            if (old.get(part) or {}) != (new.get(part) or {}):
                yield not_allowed(part, _IMMUTABLE)


class SecretStrategy(DataStrategy):
    """`stringData` is stored encoded."""

    def default(self, resource: ServedResource, body: Object) -> None:
        body.setdefault("type", "Opaque")
        texts = body.pop("stringData", None)
        if texts is not None:
            if not isinstance(texts, dict):
                raise bad_request("stringData: must be a map of strings to strings")
            encoded = {name: base64.b64encode(str(text).encode()).decode() for name, text in texts.items()}
            body["data"] = {**(body.get("data") or {}), **encoded}
        super().default(resource, body)

    def check_change(self, resource: ServedResource, old: Object, new: Object, subresource: str) -> Iterator[Cause]:
        if old["type"] != new["type"]:
            yield wrong("type", new["type"], "field is immutable")
        yield from super().check_change(resource, old, new, subresource)
