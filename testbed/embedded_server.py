"""A local API server with Volcano's kinds and the standard queues, in a process of its own.

It prints the path of its kubeconfig. With --bare it has neither kinds nor queues, with --native-groups it also serves
native PodGroups.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
from pathlib import Path

from stromboli.cluster.standard_queues import standard_queues
from stromboli.kube.client.client import Client
from stromboli.kube.crds.install import install_crds
from stromboli.kube.objects.catalogue import QUEUES
from stromboli.local.api_server.server import ApiServer


async def main(*, bare: bool, native_groups: bool) -> None:
    with tempfile.TemporaryDirectory() as folder:
        async with ApiServer(native_groups=native_groups) as server:
            if not bare:
                await _create_initial_objects(server)
            path = Path(folder) / "kubeconfig"
            server.write_kubeconfig(path)
            print(path, flush=True)
            await asyncio.Event().wait()


async def _create_initial_objects(server: ApiServer) -> None:
    async with Client(server.connection) as client:
        await install_crds(client)
        for queue in standard_queues():
            await client.create(QUEUES, {"metadata": {"name": queue.key}, "spec": {"weight": 1}})


if __name__ == "__main__":
    asyncio.run(main(bare="--bare" in sys.argv, native_groups="--native-groups" in sys.argv))
