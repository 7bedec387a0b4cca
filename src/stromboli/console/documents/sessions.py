"""Login and what a person may read."""

from __future__ import annotations

from stromboli.console.documents.base import ConsoleDocument


class LoginRequest(ConsoleDocument, forbid_unknown_fields=True):
    """A token of the API server, or the code of a printed link."""

    token: str = ""
    code: str = ""


class ConsoleRights(ConsoleDocument):
    """What a person may read, by the reviews of the API server."""

    all_namespaces: bool
    nodes: bool
    all_queues: bool
    policy: bool


class SessionDocument(ConsoleDocument):
    """The person of a session."""

    user: str
    groups: list[str]
    rights: ConsoleRights
    #: Namespaces of which jobs are named; null for all.
    namespaces: list[str] | None
    #: Value of the header X-Stromboli-Csrf of requests that are not GET.
    csrf: str
    #: When the session ends.
    expires: float | None
    #: Changes with each start of the server: then versions start again.
    instance: str
    version: int
    #: What this server has.
    has_history: bool
    has_decisions: bool
    #: The label that names the owner of a job.
    owner_label: str
