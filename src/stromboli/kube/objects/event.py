"""Events, as `kubectl describe` shows them."""

from typing import Any, ClassVar

import msgspec

from stromboli.kube.objects.meta import Int32, TopLevel, Wire
from stromboli.kube.objects.resources import Resource


class ObjectReference(Wire):
    """A reference to an object; the uid distinguishes it from a later object of the same name."""

    api_version: str | None = None
    kind: str | None = None
    namespace: str | None = None
    name: str | None = None
    uid: str | None = None


def reference_to(resource: Resource[Any], entry: TopLevel) -> ObjectReference:
    """Return a reference to this object; those of a list and of a watch may have no kind."""
    metadata = entry.metadata
    namespace = metadata.namespace or None
    return ObjectReference(resource.api_version, resource.kind, namespace, metadata.name, metadata.uid)


class EventSource(Wire):
    """The component that reports an event."""

    component: str | None = None


class KubeEvent(TopLevel):
    """One event: what happened, how often, its reporter, and the object it is about."""

    kind_name: ClassVar[str] = "Event"
    group: ClassVar[str] = ""
    namespaced: ClassVar[bool] = True

    event_time: str | None = None
    first_timestamp: str | None = None
    last_timestamp: str | None = None
    count: Int32 | None = None
    type: str | None = None
    reason: str | None = None
    action: str | None = None
    message: str | None = None
    involved_object: ObjectReference = msgspec.field(default_factory=ObjectReference)
    related: ObjectReference | None = None
    source: EventSource | None = None
    reporting_component: str | None = None
    reporting_instance: str | None = None
