"""What happened to an object, as told to people: `kubectl describe` shows it."""

from typing import ClassVar

import msgspec

from stromboli.kube.objects.meta import Int32, TopLevel, Wire


class ObjectReference(Wire):
    """Which object is meant. With the uid it is this very one, not a later one of the same name."""

    api_version: str | None = None
    kind: str | None = None
    namespace: str | None = None
    name: str | None = None
    uid: str | None = None


class EventSeries(Wire):
    """The same thing again: how often, and when last."""

    count: Int32 | None = None
    last_observed_time: str | None = None


class KubeEvent(TopLevel):
    """One thing that happened, who says so, and what it was about."""

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
