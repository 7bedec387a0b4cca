"""A scheduler serves what its cycles decided to a console that asks for it, from then on."""

from __future__ import annotations

import asyncio
import ssl

from stromboli.console.cache.scheduler_cycles import SchedulerCycles
from stromboli.kube.client.client import Client
from stromboli.kube.client.config.connection import Connection
from stromboli.scheduler.answers import answering_server
from tests.testing.manifests.builders import gang
from tests.testing.world import cpus, running_cluster


async def test_scheduler_serves_the_decisions_that_a_console_asks_for() -> None:
    async with running_cluster(cpus(3)) as world:
        server = answering_server("127.0.0.1:0", world.scheduler, lambda: world.stage.connection)
        server.start()
        try:
            context = ssl.create_default_context()
            context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
            direct = Connection(f"https://{server.address}", context, world.stage.connection.credentials)
            async with Client(direct) as client:
                followed = SchedulerCycles(client)
                await world.create(gang(1, 4, name="before"))
                await world.until_bound("before", 1)
                await followed.read()
                assert (followed.problem, followed.latest) == ("", 0)
                await world.create(gang(2, 4, name="pair"))
                await world.until_bound("pair", 2)

                async def is_recorded() -> bool:
                    await followed.read()
                    return any(each.binds for each in followed.before(None, 10))

                await world.until(is_recorded)
        finally:
            await asyncio.to_thread(server.stop)
    [bound] = [decision for each in followed.before(None, 10) for decision in each.binds]
    assert (bound.job, set(bound.pods)) == ("default/pair", {"default/pair-task-0", "default/pair-task-1"})
