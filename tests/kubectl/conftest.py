"""One server for all stories; each story has a namespace of its own."""

import itertools
import os
from collections.abc import Iterator

import pytest

from tests.kubectl.cluster import EmbeddedCluster, Kubectl, RealCluster

_NUMBERS = itertools.count(1)


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedCluster]:
    kind = RealCluster if os.environ.get("STROMBOLI_API_SERVER") == "real" else EmbeddedCluster
    running = kind(tmp_path_factory.mktemp("kubectl"))
    running.start()
    try:
        yield running
    finally:
        running.stop()


@pytest.fixture
def kubectl(cluster: EmbeddedCluster) -> Kubectl:
    namespace = f"story-{next(_NUMBERS)}"
    cluster.post("/api/v1/namespaces", {"metadata": {"name": namespace}})
    return Kubectl(cluster, namespace)
