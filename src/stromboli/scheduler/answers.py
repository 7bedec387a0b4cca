"""What a scheduler contributes to answers for people: the contents of its cache, its policy and its history."""

from __future__ import annotations

from collections.abc import Callable

from stromboli.kube.client.config.connection import Connection
from stromboli.scheduler.forecaster import dump_of
from stromboli.scheduler.wiring import Components
from stromboli.serving.tls import TlsSettings
from stromboli.visibility.process import AnsweringProcess
from stromboli.visibility.server import VisibilityServer

_NOT_LEADING = "this scheduler does not lead, and the history is that of the leader; ask again"


def answering_server(
    address: str, components: Components, connect: Callable[[], Connection], *, tls: TlsSettings | None = None
) -> VisibilityServer:
    """Return the server for the people of a cluster. A standby answers as well, because its cache is up to date, but
    only the leader records a history in a file.
    """
    options = components.options

    def history_problem() -> str | None:
        is_shared = "://" in options.history
        return None if is_shared or not options.history or components.is_leader() else _NOT_LEADING

    return VisibilityServer(
        address,
        connect,
        lambda: dump_of(components),
        AnsweringProcess(options.history, options.plugins),
        tls=tls,
        problem=components.watches.problem,
        history_problem=history_problem,
        folder=options.dump_folder,
    )
