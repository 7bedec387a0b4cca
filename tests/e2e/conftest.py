"""A cluster for every test, on the server that they share (see tests/conftest.py)."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from testbed.plane import ControlPlane
from tests.e2e.environment.cluster import Cluster, running_cluster


@pytest.fixture
async def cluster(plane: ControlPlane) -> AsyncIterator[Cluster]:
    """Three nodes of four cpus, controllers and the scheduler, in a namespace of their own."""
    async with running_cluster(plane) as running:
        yield running
