"""Moments to the microsecond, which events and leases have: six digits, no fewer."""

from __future__ import annotations

import re
from typing import Any

from stromboli.local.api_server.errors import bad_request

_MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}(Z|[+-]\d\d:\d\d)")


def check_moment(kind: str, found: Any) -> None:
    """Refuse what could not be read as such a moment; none is none."""
    if found is None or (isinstance(found, str) and _MOMENT.fullmatch(found)):
        return
    why = f'parsing time "{found}" as "2006-01-02T15:04:05.000000Z07:00": cannot parse it'
    raise bad_request(f'{kind} in version "v1" cannot be handled as a {kind}: {why}')
