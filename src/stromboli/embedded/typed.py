"""Built-in kinds have types: a field that is not what it must be is refused before anybody trips over it.

The types are those with which clients read the kinds, so that what the server takes in can be read again.
"""

from __future__ import annotations

import msgspec

from stromboli.embedded.refusals import bad_request
from stromboli.embedded.registry import ServedResource
from stromboli.embedded.store import Object
from stromboli.kube import catalogue
from stromboli.kube.resources import Resource

_TYPES = {
    (each.group, each.version, each.plural): each.type
    for each in vars(catalogue).values()
    if isinstance(each, Resource)
}


def check_types(resource: ServedResource, body: Object) -> None:
    """Refuse a body that could not be read as its kind. Custom resources have their schemas instead."""
    wanted = _TYPES.get((resource.group, resource.version, resource.plural))
    if wanted is None or resource.is_custom:
        return
    try:
        msgspec.convert(body, wanted)
    except msgspec.ValidationError as error:
        place = str(error).replace("`$.", "`")
        message = f'{resource.kind} in version "{resource.version}" cannot be handled as a {resource.kind}: {place}'
        raise bad_request(message) from error
