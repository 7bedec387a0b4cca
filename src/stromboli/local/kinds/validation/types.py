"""Type checks of built-in kinds.

The types are those that clients decode the kinds with, so that stored objects are always readable.
"""

from __future__ import annotations

from typing import Any

import msgspec

from stromboli.kube.objects import catalogue
from stromboli.kube.objects.meta import Int64, ObjectMeta
from stromboli.kube.objects.resources import Resource
from stromboli.local.api_server.errors import bad_request
from stromboli.local.api_server.registry import ServedResource
from stromboli.local.api_server.store import Object
from stromboli.local.kinds.custom_resources.definition_types import DefinitionTypes


class _ActionPart(msgspec.Struct, rename="camel"):
    """Any field may be absent or null."""


class _Target(_ActionPart):
    kind: str | None = None
    name: str | None = None


class BindingTypes(_ActionPart):
    metadata: ObjectMeta | None = None
    target: _Target | None = None


class _Preconditions(_ActionPart):
    uid: str | None = None
    resource_version: str | None = None


class DeleteOptionsTypes(_ActionPart):
    grace_period_seconds: Int64 | None = None
    preconditions: _Preconditions | None = None
    orphan_dependents: bool | None = None
    propagation_policy: str | None = None
    dry_run: list[str] | None = None


class EvictionTypes(_ActionPart):
    metadata: ObjectMeta | None = None
    delete_options: DeleteOptionsTypes | None = None


_TYPES: dict[tuple[str, str, str], type[msgspec.Struct]] = {
    (each.group, each.version, each.plural): each.type
    for each in vars(catalogue).values()
    if isinstance(each, Resource)
}
_TYPES["apiextensions.k8s.io", "v1", "customresourcedefinitions"] = DefinitionTypes


def check_types(resource: ServedResource, body: Object) -> None:
    """Reject a body that cannot be decoded as its kind. Custom resources have schemas instead."""
    wanted = _TYPES.get((resource.group, resource.version, resource.plural))
    if wanted is not None and not resource.is_custom:
        check_type(body, wanted, resource.kind, resource.version)


def check_type(body: Any, wanted: type[msgspec.Struct], kind: str, version: str = "v1") -> None:
    """Reject a body that cannot be decoded as this type."""
    try:
        msgspec.convert(body, wanted)
    except msgspec.ValidationError as error:
        place = str(error).replace("`$.", "`")
        raise bad_request(f'{kind} in version "{version}" cannot be handled as a {kind}: {place}') from error
