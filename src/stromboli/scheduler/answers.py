"""What a scheduler contributes to answers for people: the contents of its cache, its policy and its history."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from stromboli.kube.client.config.connection import Connection
from stromboli.planner.live.recorded_cycles import RequestedCycles
from stromboli.scheduler.forecaster import dump_of
from stromboli.scheduler.loop import Scheduler
from stromboli.serving.tls import TlsSettings
from stromboli.visibility.process import AnsweringProcess, NotLeading
from stromboli.visibility.server import VisibilityServer

_NOT_LEADING = "this scheduler does not lead, and the history is that of the leader; ask again"
_NO_CYCLES = "this scheduler does not lead, and runs no cycles; ask again"


def answering_server(
    address: str, scheduler: Scheduler, connect: Callable[[], Connection], *, tls: TlsSettings | None = None
) -> VisibilityServer:
    """Return the server for the people of a cluster. A standby answers as well, because its cache is up to date, but
    only the leader records a history in a file, and runs cycles.
    """
    options = scheduler.options

    def history_problem() -> str | None:
        is_shared = "://" in options.history
        return None if is_shared or not options.history or scheduler.is_leader() else _NOT_LEADING

    requested = RequestedCycles(options.title)
    scheduler.observers.append(lambda result: requested.observe(result.session, result.seconds))

    def cycles(query: Mapping[str, str]) -> bytes:
        if not scheduler.is_leader():
            raise NotLeading(_NO_CYCLES)
        return requested.answer(query)

    return VisibilityServer(
        address,
        connect,
        lambda: dump_of(scheduler),
        AnsweringProcess(options.history, options.plugins),
        cycles,
        tls=tls,
        problem=scheduler.watches.problem,
        history_problem=history_problem,
        folder=options.dump_folder,
    )
