"""The controllers that users bring along: their objects as they emit them, in their order and with their waits."""

from __future__ import annotations

import pytest

from tests.e2e.cluster import Cluster
from tests.e2e.operators.stage import playing
from tests.e2e.operators.story import load_story, story_names


@pytest.mark.parametrize("name", story_names())
async def test_what_a_controller_makes_is_scheduled(cluster: Cluster, name: str) -> None:
    async with playing(cluster, load_story(name)) as player:
        await player.play()
