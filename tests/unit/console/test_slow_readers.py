"""A stream of events keeps nothing for a reader that is slow: it gets the newest state in one piece."""

from __future__ import annotations

import asyncio
from math import inf
from types import SimpleNamespace
from typing import Any, cast

import msgspec

from stromboli import kube
from stromboli.console.access.rights import PersonRights
from stromboli.console.cache.cache import ConsoleCache
from stromboli.console.cache.frames import ConsoleFrames
from stromboli.console.documents.sessions import ConsoleRights
from stromboli.console.server.events import EventReader
from stromboli.console.views.view import PersonView
from stromboli.kube.client.client import Client
from stromboli.kube.objects.kinds import decode
from stromboli.planner.live.installation import InstallationName
from tests.testing.cases.case import flattened, objects
from tests.testing.manifests.builders import gang, nodes
from tests.testing.random_clusters.engine import default_program
from tests.testing.random_clusters.histories import cluster_of

_CHANGES = 40


class SlowResponse:
    """A client that takes nothing until it is released."""

    def __init__(self) -> None:
        self.released = asyncio.Event()
        self.taken: list[bytes] = []

    async def write(self, content: bytes) -> None:
        await self.released.wait()
        self.taken.append(content)


async def _turns() -> None:
    for _ in range(20):
        await asyncio.sleep(0)


async def test_reader_that_was_slow_gets_all_changes_as_one() -> None:
    cache = ConsoleCache(cast(Client, None), lambda text, source: default_program(), InstallationName())
    cache.cluster, cache.program = cluster_of(objects(flattened(nodes(4, 1)))), default_program()
    frames = ConsoleFrames(cache, "stromboli.dev/user")
    frames.take()
    rights = PersonRights(inf, ConsoleRights(all_namespaces=True, nodes=True, all_queues=True, policy=True))

    def view(own: PersonRights = rights) -> PersonView:
        return PersonView(frames.instance, frames.current, cache.cluster, own)

    async def viewed() -> PersonView:
        return view()

    async def caller(request: Any) -> None:
        """The session goes on."""

    state = SimpleNamespace(frames=frames, latest_cycle=0, view=view)
    call = SimpleNamespace(state=state, view=viewed, request=None)
    response = SlowResponse()
    reader = EventReader(cast(Any, SimpleNamespace(caller=caller)), cast(Any, call), frames, cast(Any, response), 1)
    task = asyncio.create_task(reader.run())
    await _turns()
    for number in range(_CHANGES):
        added = decode(gang(1, cpu=1, name=f"job-{number}")[0])
        assert isinstance(added, kube.PodGroup)
        cache.cluster.apply(added)
        frames.take()
        await _turns()
    assert (frames.current.version, response.taken) == (1 + _CHANGES, [])
    response.released.set()
    await _turns()
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    names = [content.partition(b"\n")[0] for content in response.taken]
    assert names.count(b"event: jobs") == 1
    assert len(names) <= 4
    changes = next(content for content in response.taken if content.startswith(b"event: jobs"))
    document = msgspec.json.decode(changes.partition(b"data: ")[2])
    assert (document["base"], document["version"]) == (1, 1 + _CHANGES)
    assert len(document["changed"]["keys"]) == _CHANGES
