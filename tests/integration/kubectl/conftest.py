"""Each test has a namespace of its own on the shared server."""

import itertools
from collections.abc import Iterator

import pytest

from testbed.plane import ControlPlane
from tests.integration.kubectl.cluster import Cluster, Kubectl
from tests.testing.cleanup import delete_created

_NUMBERS = itertools.count(1)


@pytest.fixture(scope="session")
def cluster(plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    running = Cluster(plane, tmp_path_factory.mktemp("kubectl"))
    running.start()
    try:
        yield running
    finally:
        running.stop()


@pytest.fixture
def kubectl(cluster: Cluster) -> Iterator[Kubectl]:
    namespace = f"kubectl-{next(_NUMBERS)}"
    cluster.post("/api/v1/namespaces", {"metadata": {"name": namespace}})
    yield Kubectl(cluster, namespace)
    cluster.run(delete_created(cluster.client, namespace))
