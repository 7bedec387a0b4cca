"""Events of the same kind about the same object, told as one: the first time, the last time, and how often."""

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


@dataclass(slots=True)
class Series:
    """What happened once or more, and how much of it the server has been told."""

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
    #: How many the server knows of; 0 until the event exists.
    told: int = 0
    written_at: float = 0.0
    observed_at: float = 0.0
    waits: bool = False
    attempts: int = 0

    @property
    def namespace(self) -> str:
        """What happens to objects of the whole cluster is told in the default namespace."""
        return self.regarding.namespace or "default"

    def again(self, now: float) -> None:
        self.count += 1
        self.last = timestamps.now()
        self.observed_at = now

    def set_name(self, stamp: int) -> None:
        """The name of what it is about, as far as there is room; no part of a name ends with a dot or a hyphen."""
        ending = f".{stamp:x}"
        beginning = (self.regarding.name or "unnamed")[: MAX_NAME_LENGTH - len(ending)].rstrip("-.")
        self.name = beginning + ending

    def body(self, controller: str, instance: str) -> dict[str, Any]:
        """The event as it is created."""
        event: dict[str, Any] = {
            "metadata": {"name": self.name, "namespace": self.namespace},
            "eventTime": self.first,
            "type": self.type,
            "reason": self.reason[:MAX_FIELD_LENGTH],
            "action": (self.action or self.reason)[:MAX_FIELD_LENGTH],
            "note": self.note,
            "regarding": msgspec.to_builtins(self.regarding),
            "reportingController": controller[:MAX_FIELD_LENGTH],
            "reportingInstance": instance[:MAX_FIELD_LENGTH],
        }
        if self.related is not None:
            event["related"] = msgspec.to_builtins(self.related)
        return event | self.progress()

    def progress(self) -> dict[str, Any]:
        """What changes when it happens again. What happened once is no series."""
        return {"series": {"count": self.count, "lastObservedTime": self.last}} if self.count > 1 else {}


def subject(regarding: ObjectReference) -> str:
    """The object itself: by its uid, or as well as it is known."""
    return regarding.uid or f"{regarding.kind}/{regarding.namespace}/{regarding.name}"


def shortened(note: str, longest: int = MAX_NOTE_BYTES) -> str:
    """At most so many bytes, by default as many as an event may hold, and no half characters."""
    content = note.encode("utf-8", "replace")
    if len(content) <= longest:
        return content.decode()
    return content[: longest - len(_ELLIPSIS.encode())].decode("utf-8", "ignore") + _ELLIPSIS
