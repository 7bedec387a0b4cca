"""The web console of a local cluster, in a thread of its own."""

from __future__ import annotations

import asyncio
import contextlib
import secrets
from collections.abc import AsyncIterator, Sequence
from typing import TYPE_CHECKING

from stromboli.cli.commands.run.console import program_factory
from stromboli.cli.output import Failure

if TYPE_CHECKING:
    from stromboli.local.up.local_cluster import LocalCluster


@contextlib.asynccontextmanager
async def local_console(
    running: LocalCluster, port: int, *, history: str = "", plugins: Sequence[str] = ()
) -> AsyncIterator[str]:
    """Serve the console of a cluster within the context; return a link that logs in its user."""
    from stromboli.console.server.server import ConsoleServer
    from stromboli.console.server.settings import ConsoleSettings
    from stromboli.planner.cycle_records import CycleRecords
    from stromboli.serving.address import ListenError

    code, server, cycles = secrets.token_urlsafe(24), running.server, CycleRecords(running.scheduler.options.title)
    running.scheduler.observers.append(lambda result: cycles.add(result.session, result.session.now, result.seconds))
    console = ConsoleServer(
        ConsoleSettings(
            connect=lambda: server.local_connection,
            program_of=program_factory(tuple(plugins)),
            address=f"127.0.0.1:{port}",
            plugins=plugins,
            history=history,
            cycles=cycles,
            codes={code: server.token},
        )
    )
    try:
        console.start()
    except ListenError as error:
        raise Failure(f"{error}; choose another --console-port, or --no-console") from error
    try:
        yield f"{console.url}/#code={code}"
    finally:
        await asyncio.to_thread(console.stop)
