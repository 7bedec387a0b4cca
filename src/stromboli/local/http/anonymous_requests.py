"""Rejection of anonymous requests."""

from __future__ import annotations

from stromboli.local.api_server.errors import StatusError
from stromboli.local.http.calls import ApiCall

_ANONYMOUS = 'User "system:anonymous"'


def reject_anonymous(method: str, path: str, call: ApiCall | None) -> StatusError:
    """The error of an anonymous request to a path that is not public."""
    if call is None or not call.plural:
        return StatusError(403, "Forbidden", f'forbidden: {_ANONYMOUS} cannot {method.lower()} path "{path}"')
    kind = f"{call.plural}.{call.group}" if call.group else call.plural
    named = f'{kind} "{call.name}"' if call.name else kind
    part = f"{call.plural}/{call.subresource}" if call.subresource else call.plural
    place = f'in the namespace "{call.namespace}"' if call.namespace else "at the cluster scope"
    why = f'{_ANONYMOUS} cannot {call.verb} resource "{part}" in API group "{call.group}" {place}'
    details = {**({"name": call.name} if call.name else {}), "group": call.group, "kind": call.plural}
    said = {key: value for key, value in details.items() if value}
    return StatusError(403, "Forbidden", f"{named} is forbidden: {why}", details=said)
