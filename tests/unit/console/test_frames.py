"""Frames of a cache: what a frame that is replaced leaves behind."""

from __future__ import annotations

from typing import cast

import pytest

from stromboli import kube
from stromboli.console.cache.cache import ConsoleCache
from stromboli.console.cache.frames import ConsoleFrames
from stromboli.kube.client.client import Client
from stromboli.kube.objects.kinds import decode
from stromboli.planner.live.installation import InstallationName
from tests.testing.cases.case import flattened, objects
from tests.testing.manifests.builders import gang, nodes
from tests.testing.random_clusters.engine import default_program
from tests.testing.random_clusters.histories import cluster_of


@pytest.fixture
def frames() -> ConsoleFrames:
    cache = ConsoleCache(cast(Client, None), lambda text, source: default_program(), InstallationName())
    cache.cluster = cluster_of(objects(flattened([*nodes(4, 2), *gang(3, cpu=2, name="train")])))
    cache.program = default_program()
    found = ConsoleFrames(cache, "stromboli.dev/user")
    found.take()
    return found


def test_frame_without_news_keeps_its_version_and_takes_the_new_session(frames: ConsoleFrames) -> None:
    before, version = frames.current.session, frames.current.version
    frames.take()
    assert frames.current.version == version
    assert frames.current.session is not before, "plugins hold the new one: two would be kept"
    assert frames.current.session is not None
    assert "default/train" in frames.current.session.jobs


def test_session_of_an_earlier_frame_holds_no_jobs(frames: ConsoleFrames) -> None:
    before = frames.current.session
    added = decode(gang(1, cpu=1, name="other")[0])
    assert isinstance(added, kube.PodGroup)
    frames._cache.cluster.apply(added)
    frames.take()
    assert frames.current.version == 2
    assert before is not None
    assert not before.jobs
    assert set(frames.current.rows) == {"default/train", "default/other"}
