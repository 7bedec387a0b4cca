"""A real control plane for the stories of this folder, and of others that can do with either server."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Iterator

import pytest

from stromboli.actions import ACTIONS
from stromboli.controllers.controllers import Controllers
from stromboli.embedded.standins.simulated_nodes import Pool, create_nodes, node_documents
from stromboli.embedded.standins.standins import StandIns
from stromboli.framework.registry import Registry
from stromboli.kube.access.client import Client
from stromboli.kube.access.kubeconfig import load_kubeconfig
from stromboli.kube.crds import install_crds
from stromboli.plugins import PLUGINS
from stromboli.scheduler.options import Options
from stromboli.scheduler.policy import Policy
from stromboli.scheduler.scheduler import Scheduler
from tests.e2e.assets import NoAssets, assets
from tests.e2e.cluster import RealCluster, running
from tests.e2e.control_plane import ControlPlane, control_plane


@pytest.fixture(scope="session")
def plane() -> Iterator[ControlPlane]:
    if os.environ.get("STROMBOLI_API_SERVER") != "real":
        pytest.skip("these stories need a real API server: make e2e")
    try:
        found = assets()
    except NoAssets as missing:
        pytest.skip(str(missing))
    with control_plane(found) as started:
        yield started


@pytest.fixture
async def cluster(plane: ControlPlane) -> AsyncIterator[RealCluster]:
    """Nodes, controllers and the scheduler on the real server, in a namespace of their own."""
    connection = load_kubeconfig(str(plane.kubeconfig))
    async with Client(connection) as client, Client(connection) as second, Client(connection) as third:
        await install_crds(client)
        scheduler = Scheduler(third, Policy(Registry(PLUGINS, ACTIONS)), Options(period=0.1, heal=2.0))
        parts = [StandIns(second).run(), Controllers(second, ("stromboli", "volcano")).run()]
        async with running(client, scheduler, parts) as cluster:
            await create_nodes(client, node_documents(Pool(3, resources={"cpu": "4", "memory": "8Gi"})))
            yield cluster
