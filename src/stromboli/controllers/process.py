"""The controllers as a process: one of several does the work, and it ends in good order."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence

from stromboli.controllers.controllers import Controllers
from stromboli.kube.client import Client
from stromboli.kube.connection import Connection
from stromboli.operations.leadership import Election, Leadership
from stromboli.operations.signals import stopped_by_signal

log = logging.getLogger("stromboli.controllers")


class LeadershipLost(RuntimeError):
    """Another process does the work now."""


async def run_controllers(
    connect: Callable[[], Connection],
    scheduler_names: Sequence[str],
    default_queue: str,
    election: Election | None,
) -> None:
    """Work until a signal; raises LeadershipLost."""
    stop = asyncio.Event()
    with stopped_by_signal(stop.set):
        if election is None:
            await _work(connect, scheduler_names, default_queue, stop)
            return
        loop, leads, lost = asyncio.get_running_loop(), asyncio.Event(), asyncio.Event()
        leadership = Leadership(
            connect(),
            election,
            won=lambda: loop.call_soon_threadsafe(leads.set),
            lost=lambda: loop.call_soon_threadsafe(lost.set),
        )
        leadership.start()
        try:
            await _first(leads.wait(), stop.wait())
            if not stop.is_set():
                log.info("leading", extra={"epoch": leadership.epoch})
                await _first(_work(connect, scheduler_names, default_queue, stop), lost.wait())
        finally:
            await asyncio.to_thread(leadership.stop)
        if lost.is_set():
            raise LeadershipLost("another process holds the lease")


async def _work(
    connect: Callable[[], Connection], scheduler_names: Sequence[str], default_queue: str, stop: asyncio.Event
) -> None:
    async with Client(connect()) as client:
        await _first(Controllers(client, scheduler_names, default_queue).run(), stop.wait())


async def _first(*works: object) -> None:
    """Do these until the first is done, and end the others; raises what it raised."""
    tasks = [asyncio.ensure_future(work) for work in works]  # type: ignore[call-overload]
    done, others = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)
    for task in done:
        task.result()
