"""One server for all stories; each story has a namespace of its own."""

import itertools
from collections.abc import Iterator

import pytest

from tests.kubectl.cluster import EmbeddedCluster, Kubectl

_NUMBERS = itertools.count(1)


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedCluster]:
    embedded = EmbeddedCluster(tmp_path_factory.mktemp("kubectl"))
    embedded.start()
    try:
        yield embedded
    finally:
        embedded.stop()


@pytest.fixture
def kubectl(cluster: EmbeddedCluster) -> Kubectl:
    namespace = f"story-{next(_NUMBERS)}"
    cluster.post("/api/v1/namespaces", {"metadata": {"name": namespace}})
    return Kubectl(cluster, namespace)
