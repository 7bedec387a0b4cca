"""Timestamps with microseconds, as in events and leases: exactly six digits."""

from __future__ import annotations

import re
from typing import Any

from stromboli.local.api_server.errors import bad_request

_MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}(Z|[+-]\d\d:\d\d)")


def check_moment(kind: str, found: Any) -> None:
    """Reject an invalid timestamp; an absent one is valid."""
    if found is None or (isinstance(found, str) and _MOMENT.fullmatch(found)):
        return
    why = f'parsing time "{found}" as "2006-01-02T15:04:05.000000Z07:00": cannot parse it'
    raise bad_request(f'{kind} in version "v1" cannot be handled as a {kind}: {why}')
