"""Messages of the event stream. The name of an event is in its field `event`, its document in `data`."""

from __future__ import annotations

from stromboli.console.documents.base import ConsoleDocument


class StreamHello(ConsoleDocument):
    """Event `hello`: the first of a stream. With another instance than before, read everything again."""

    instance: str
    version: int


class StreamVersion(ConsoleDocument):
    """Event `version`: these resources have a new version, such as overview, queues, jobs, nodes, decisions."""

    instance: str
    version: int
    resources: list[str]


class StreamResync(ConsoleDocument):
    """Event `resync`: changes were left out; read the table of jobs again."""

    instance: str
    version: int
