"""One living scheduler for all questions of this folder."""

from __future__ import annotations

import asyncio

import pytest

from tests.integration.deploy.exposed import Exposed, exposed


@pytest.fixture(scope="session")
def scheduler_metrics() -> Exposed:
    return asyncio.run(exposed())
