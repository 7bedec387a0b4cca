"""Equal events about the same object as one series: the first time, the last time, and the count.

They are core events: `events.k8s.io` rejects `lastTimestamp` and `count`, by which tools sort and count.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, TypeAlias

import msgspec

from stromboli.kube.objects import timestamps
from stromboli.kube.objects.event import ObjectReference

MAX_NOTE_BYTES = 1024
MAX_FIELD_LENGTH = 128
MAX_NAME_LENGTH = 253
_ELLIPSIS = "…"

Identity: TypeAlias = tuple[str, str, str, str, str]


@dataclass(slots=True, eq=False)
class Series:
    """An event that occurred once or more, and how much of that is written."""

    regarding: ObjectReference
    type: str
    reason: str
    note: str
    action: str
    related: ObjectReference | None
    name: str = ""
    count: int = 1
    first: str = field(default_factory=timestamps.now)
    last: str = ""
    #: The count that is written; 0 until the event exists.
    written: int = 0
    written_at: float = 0.0
    observed_at: float = 0.0
    attempts: int = 0

    @property
    def namespace(self) -> str:
        """Events about cluster-scoped objects go to the default namespace."""
        return self.regarding.namespace or "default"

    def again(self, now: float) -> None:
        self.count += 1
        self.last = timestamps.now()
        self.observed_at = now

    def set_name(self, stamp: int) -> None:
        """Name the event for its object, shortened to fit; no part of a name ends with a dot or a hyphen."""
        ending = f".{stamp:x}"
        beginning = (self.regarding.name or "unnamed")[: MAX_NAME_LENGTH - len(ending)].rstrip("-.")
        self.name = beginning + ending

    def body(self, controller: str, instance: str) -> dict[str, Any]:
        """Return the event as it is created."""
        event: dict[str, Any] = {
            "metadata": {"name": self.name, "namespace": self.namespace},
            "eventTime": self.first,
            "firstTimestamp": _in_seconds(self.first),
            "type": self.type,
            "reason": self.reason[:MAX_FIELD_LENGTH],
            "action": (self.action or self.reason)[:MAX_FIELD_LENGTH],
            "message": self.note,
            "involvedObject": msgspec.to_builtins(self.regarding),
            "source": {"component": controller},
            "reportingComponent": controller[:MAX_FIELD_LENGTH],
            "reportingInstance": instance[:MAX_FIELD_LENGTH],
        }
        if self.related is not None:
            event["related"] = msgspec.to_builtins(self.related)
        return event | self.progress()

    def progress(self) -> dict[str, Any]:
        """Return the patch for a repeated event."""
        return {"count": self.count, "lastTimestamp": _in_seconds(self.last or self.first)}


def _in_seconds(moment: str) -> str:
    return f"{moment.partition('.')[0]}Z"


def subject(regarding: ObjectReference) -> str:
    """Identify the object: by its uid, else by kind, namespace and name."""
    return regarding.uid or f"{regarding.kind}/{regarding.namespace}/{regarding.name}"


def shortened(note: str, max_bytes: int = MAX_NOTE_BYTES) -> str:
    """Cut a text to `max_bytes`, by default the maximum of an event's note, between characters."""
    content = note.encode("utf-8", "replace")
    if len(content) <= max_bytes:
        return content.decode()
    return content[: max_bytes - len(_ELLIPSIS.encode())].decode("utf-8", "ignore") + _ELLIPSIS
