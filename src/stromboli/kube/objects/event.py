"""Events, as `kubectl describe` shows them."""

from typing import ClassVar

import msgspec

from stromboli.kube.objects.meta import Int32, TopLevel, Wire


class ObjectReference(Wire):
    """A reference to an object; the uid distinguishes it from a later object of the same name."""

    api_version: str | None = None
    kind: str | None = None
    namespace: str | None = None
    name: str | None = None
    uid: str | None = None


class EventSeries(Wire):
    """Repetition of an event: count and last time."""

    count: Int32 | None = None
    last_observed_time: str | None = None


class KubeEvent(TopLevel):
    """One event: what happened, its reporter, and the object it regards."""

    kind_name: ClassVar[str] = "Event"
    group: ClassVar[str] = "events.k8s.io"
    namespaced: ClassVar[bool] = True

    event_time: str | None = None
    type: str | None = None
    reason: str | None = None
    action: str | None = None
    note: str | None = None
    regarding: ObjectReference = msgspec.field(default_factory=ObjectReference)
    related: ObjectReference | None = None
    series: EventSeries | None = None
    reporting_controller: str | None = None
    reporting_instance: str | None = None
