"""Lists, whole or in pages. All pages of a list show the same resource version."""

from __future__ import annotations

import base64
import secrets
from collections import OrderedDict
from dataclasses import dataclass
from itertools import islice

from stromboli.local.api_server.errors import StatusError, bad_request, expired
from stromboli.local.api_server.selectors import Matcher
from stromboli.local.api_server.store import Collection, Store, StoreEntry
from stromboli.local.http.calls import ApiCall

#: Paged lists in progress before the oldest expires.
_SNAPSHOTS = 16
_EXPIRED = (
    "The provided continue parameter is too old to display a consistent list result. You can start a new list without "
    "the continue parameter."
)


@dataclass(frozen=True, slots=True)
class Page:
    """A page of a list, and the token of the next."""

    entries: list[StoreEntry]
    version: int
    token: str = ""
    #: Remaining items; None with a selector, because counting would evaluate it for every object.
    remaining: int | None = None

    def metadata(self) -> dict[str, str | int]:
        metadata: dict[str, str | int] = {"resourceVersion": str(self.version)}
        if self.token:
            metadata["continue"] = self.token
            if self.remaining is not None:
                metadata["remainingItemCount"] = self.remaining
        return metadata


@dataclass(frozen=True, slots=True)
class _Snapshot:
    entries: list[StoreEntry]
    version: int
    is_selected: bool


class Lists:
    """Serves lists, and keeps the snapshots of paged lists."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._snapshots: OrderedDict[str, _Snapshot] = OrderedDict()

    def page(self, collection: Collection, call: ApiCall, matches: Matcher | None) -> Page:
        limit = call.number("limit") or 0
        if token := call.query.get("continue"):
            return self._continued(token, limit)
        self._check_version(call)
        entries = [entry for entry in collection.entries(call.namespace) if matches is None or matches(entry.body)]
        # resourceVersion=0 accepts any state and returns it whole
        if limit <= 0 or call.query.get("resourceVersion") == "0":
            return Page(entries, self._store.version)
        return self._first(_Snapshot(entries, self._store.version, matches is not None), limit)

    def _check_version(self, call: ApiCall) -> None:
        wanted = call.number("resourceVersion")
        if wanted is not None and wanted > self._store.version:
            raise too_new(wanted, self._store.version)
        if call.query.get("resourceVersionMatch") == "Exact" and wanted not in (None, self._store.version):
            raise expired(f"The resourceVersion for the provided list is too old: {wanted}")

    def _first(self, snapshot: _Snapshot, limit: int) -> Page:
        if len(snapshot.entries) <= limit:
            return Page(snapshot.entries, snapshot.version)
        identity = secrets.token_hex(8)
        self._snapshots[identity] = snapshot
        if len(self._snapshots) > _SNAPSHOTS:
            self._snapshots.popitem(last=False)
        return _cut(identity, snapshot, 0, limit)

    def _continued(self, token: str, limit: int) -> Page:
        identity, offset = _read_token(token)
        snapshot = self._snapshots.get(identity)
        if snapshot is None:
            raise expired(_EXPIRED)
        return _cut(identity, snapshot, offset, limit or len(snapshot.entries))

    def forget(self) -> None:
        """Drop the snapshots of lists in progress."""
        self._snapshots.clear()


def too_new(wanted: int, found: int) -> StatusError:
    message = f"Timeout: Too large resource version: {wanted}, current: {found}"
    causes = [{"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}]
    return StatusError(504, "Timeout", message, details={"causes": causes}, retry_after=1)


def _cut(identity: str, snapshot: _Snapshot, offset: int, limit: int) -> Page:
    entries = list(islice(snapshot.entries, offset, offset + limit))
    following = offset + len(entries)
    remaining = len(snapshot.entries) - following
    if not remaining:
        return Page(entries, snapshot.version)
    token = base64.urlsafe_b64encode(f"{identity}/{following}".encode()).decode()
    return Page(entries, snapshot.version, token, None if snapshot.is_selected else remaining)


def _read_token(token: str) -> tuple[str, int]:
    try:
        identity, _, offset = base64.urlsafe_b64decode(token).decode().partition("/")
        return identity, int(offset)
    except ValueError as error:
        raise bad_request("continue key is not valid") from error
