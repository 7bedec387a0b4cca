"""Fixtures of the tests of pages: one cluster and console per module, and a browser per test."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from stromboli.console.server.server import ConsoleServer
from tests.integration.console.pages.stage import StageCluster, Visitor, cluster_objects, start_console
from tests.testing.browser import WatchedPage, browser, watched

__all__ = ["browser", "watched"]

_ROOT = Path(__file__).parents[4]


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StageCluster]:
    cluster = StageCluster(tmp_path_factory.mktemp("stage") / "history.db")
    cluster.start()
    try:
        cluster.apply(cluster_objects())
        yield cluster
    finally:
        cluster.stop()


@pytest.fixture(scope="module")
def pages(stage: StageCluster) -> Iterator[ConsoleServer]:
    server = start_console(stage)
    try:
        yield server
    finally:
        server.stop()


@pytest.fixture
def artefacts() -> Path:
    return Path(os.environ.get("STROMBOLI_ARTEFACTS", _ROOT / "build" / "artefacts")) / "console"


@pytest.fixture
def visitor(pages: ConsoleServer, watched: WatchedPage, artefacts: Path) -> Visitor:
    return Visitor(pages.url, watched, artefacts)
