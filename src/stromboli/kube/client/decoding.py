"""Responses as typed objects: one cached decoder per type, and a slow path for objects that it rejects.

Objects nearly always match their type, so they are decoded in one pass over the bytes. If that fails, each object is
decoded alone: a null in place of an absent part is accepted, and an invalid object is reported without hiding the
others.
"""

from __future__ import annotations

from functools import cache
from typing import Any, Generic, TypeVar

import msgspec

from stromboli.kube.manifests.errors import ObjectError
from stromboli.kube.objects.kinds import as_type, name_of
from stromboli.kube.objects.meta import TopLevel
from stromboli.kube.objects.resources import Resource

T = TypeVar("T", bound=TopLevel)


class Unreadable(msgspec.Struct, frozen=True):
    """An object that cannot be decoded: its key and version, and the reason."""

    key: str
    uid: str
    problem: str
    resource_version: str = ""


class ListMeta(msgspec.Struct, rename={"resource_version": "resourceVersion", "continuation": "continue"}):
    """Metadata of a list: its resource version and the token of the next page."""

    resource_version: str | None = None
    continuation: str | None = None


class _TypedPage(msgspec.Struct, Generic[T]):
    metadata: ListMeta
    items: list[T] | None = None


class _RawPage(msgspec.Struct):
    metadata: ListMeta
    items: list[msgspec.Raw] | None = None


class DecodedPage(msgspec.Struct, Generic[T]):
    """One page of a list."""

    items: list[T]
    unreadable: list[Unreadable]
    resource_version: str
    continuation: str


_RAW_PAGE = msgspec.json.Decoder(_RawPage)


def decode_object(resource: Resource[T], raw: bytes | msgspec.Raw) -> T:
    """Decode an object. Raises ObjectError for an invalid object, msgspec.DecodeError for invalid JSON."""
    try:
        decoded: T = _object_decoder(resource.type).decode(raw)
    except msgspec.ValidationError:
        return _decode_leniently(resource, raw)
    return decoded


def decode_page(resource: Resource[T], raw: bytes) -> DecodedPage[T]:
    """Decode one page of a list. Raises msgspec.DecodeError if the response is not a list."""
    try:
        page = _page_decoder(resource.type).decode(raw)
    except msgspec.ValidationError:
        return _decode_one_by_one(resource, raw)
    return _page(resource, page.metadata, page.items or [], [])


def unreadable(raw: bytes | msgspec.Raw, error: Exception) -> Unreadable:
    """Describe an object that was rejected."""
    try:
        document = msgspec.json.decode(raw)
    except (msgspec.DecodeError, ValueError):
        document = None
    if not isinstance(document, dict):
        return Unreadable("", "", str(error))
    metadata = document.get("metadata")
    metadata = metadata if isinstance(metadata, dict) else {}
    uid, version = (
        value if isinstance(value := metadata.get(field), str) else "" for field in ("uid", "resourceVersion")
    )
    return Unreadable(name_of(document), uid, str(error), version)


def _decode_one_by_one(resource: Resource[T], raw: bytes) -> DecodedPage[T]:
    page = _RAW_PAGE.decode(raw)
    items: list[T] = []
    rejected: list[Unreadable] = []
    for item in page.items or ():
        try:
            items.append(decode_object(resource, item))
        except ObjectError as error:
            rejected.append(unreadable(item, error))
    return _page(resource, page.metadata, items, rejected)


def _page(resource: Resource[T], metadata: ListMeta, items: list[T], rejected: list[Unreadable]) -> DecodedPage[T]:
    """Set apiVersion and kind of the items: in a list only the list itself carries them."""
    for item in items:
        item.api_version, item.kind = resource.api_version, resource.kind
    return DecodedPage(items, rejected, metadata.resource_version or "", metadata.continuation or "")


def _decode_leniently(resource: Resource[T], raw: bytes | msgspec.Raw) -> T:
    document = msgspec.json.decode(raw)
    if not isinstance(document, dict):
        raise ObjectError(resource.kind, "", "", "is not an object", "correct the value")
    return as_type(document, resource.type)


@cache
def _object_decoder(wanted: type[Any]) -> msgspec.json.Decoder[Any]:
    return msgspec.json.Decoder(wanted)


@cache
def _page_decoder(wanted: type[Any]) -> msgspec.json.Decoder[Any]:
    page: Any = _TypedPage
    return msgspec.json.Decoder(page[wanted])
