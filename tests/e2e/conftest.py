"""One control plane for all stories of this folder: the embedded server, or a real one (see tests/conftest.py)."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Iterator

import pytest

from testbed.assets import NoAssets, assets
from testbed.embedded import embedded_plane
from testbed.plane import ControlPlane
from testbed.real import real_plane
from tests.e2e.cluster import Cluster, running_cluster


@pytest.fixture(scope="session")
def plane() -> Iterator[ControlPlane]:
    """A server with nothing on it but what earlier stories have left."""
    if os.environ.get("STROMBOLI_API_SERVER") != "real":
        with embedded_plane(bare=True) as started:
            yield started
        return
    try:
        found = assets()
    except NoAssets as missing:
        pytest.skip(str(missing))
    with real_plane(found) as started:
        yield started


@pytest.fixture
async def cluster(plane: ControlPlane) -> AsyncIterator[Cluster]:
    """Three nodes of four cpus, controllers and the scheduler, in a namespace of their own."""
    async with running_cluster(plane) as running:
        yield running
