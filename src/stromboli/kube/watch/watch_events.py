"""The lines of a watch as typed events, decoded in one pass over the bytes."""

from __future__ import annotations

from functools import cache
from typing import Any, Generic, TypeVar

import msgspec

from stromboli.kube.client.api_errors import Unreachable, error_from
from stromboli.kube.client.decoding import Unreadable, decode_object, unreadable
from stromboli.kube.manifests.errors import ObjectError
from stromboli.kube.objects.meta import TopLevel
from stromboli.kube.objects.resources import Resource

T = TypeVar("T", bound=TopLevel)

DELETED, BOOKMARK, ERROR = "DELETED", "BOOKMARK", "ERROR"
CHANGES = frozenset(("ADDED", "MODIFIED", DELETED))
INITIAL_EVENTS_END = "k8s.io/initial-events-end"


class WatchEvent(msgspec.Struct, Generic[T], gc=False):
    """Something that happened to an object: what, and the object after it."""

    type: str
    object: T | Unreadable


class _TypedEvent(msgspec.Struct, Generic[T], gc=False):
    type: str
    object: T


class _RawEvent(msgspec.Struct):
    type: str
    object: msgspec.Raw


_RAW = msgspec.json.Decoder(_RawEvent)


def decode_event(resource: Resource[T], line: bytes) -> WatchEvent[T]:
    """Raises the ApiError that an ERROR event stands for, and Unreachable for what is no event."""
    try:
        event: WatchEvent[T] = _decoder(resource.type).decode(line)
    except msgspec.ValidationError:
        return _second_look(resource, line)
    except (msgspec.DecodeError, ValueError) as error:
        raise _garbled(resource, error) from None
    return event if event.type != ERROR else _second_look(resource, line)


def ends_initial_events(entry: TopLevel) -> bool:
    """Whether a bookmark says that everything that exists has been sent."""
    return (entry.metadata.annotations or {}).get(INITIAL_EVENTS_END) == "true"


def _second_look(resource: Resource[T], line: bytes) -> WatchEvent[T]:
    try:
        event = _RAW.decode(line)
        if event.type == ERROR:
            raise error_from(0, event.object)
        return WatchEvent(event.type, decode_object(resource, event.object))
    except ObjectError as error:
        return WatchEvent(event.type, unreadable(event.object, error))
    except (msgspec.DecodeError, ValueError) as error:
        raise _garbled(resource, error) from None


def _garbled(resource: Resource[T], error: Exception) -> Unreachable:
    return Unreachable(f"{resource.name}: a line of the watch is no event: {error}", sent=True)


@cache
def _decoder(wanted: type[Any]) -> msgspec.json.Decoder[Any]:
    event: Any = _TypedEvent
    return msgspec.json.Decoder(event[wanted])
