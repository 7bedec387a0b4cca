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
    """The type of a change, and the object after it."""

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
    """Decode a line. Raises the ApiError of an ERROR event, and Unreachable for a line that is no event."""
    try:
        event: WatchEvent[T] = _decoder(resource.type).decode(line)
    except msgspec.ValidationError:
        return _decode_in_steps(resource, line)
    except (msgspec.DecodeError, ValueError) as error:
        raise _malformed(resource, error) from None
    return event if event.type != ERROR else _decode_in_steps(resource, line)


def ends_initial_events(entry: TopLevel) -> bool:
    """Report whether a bookmark ends the initial list."""
    return (entry.metadata.annotations or {}).get(INITIAL_EVENTS_END) == "true"


def _decode_in_steps(resource: Resource[T], line: bytes) -> WatchEvent[T]:
    try:
        event = _RAW.decode(line)
        if event.type == ERROR:
            raise error_from(0, event.object)
        return WatchEvent(event.type, decode_object(resource, event.object))
    except ObjectError as error:
        return WatchEvent(event.type, unreadable(event.object, error))
    except (msgspec.DecodeError, ValueError) as error:
        raise _malformed(resource, error) from None


def _malformed(resource: Resource[T], error: Exception) -> Unreachable:
    return Unreachable(f"{resource.name}: malformed watch event: {error}", sent=True)


@cache
def _decoder(kind: type[Any]) -> msgspec.json.Decoder[Any]:
    event: Any = _TypedEvent
    return msgspec.json.Decoder(event[kind])
