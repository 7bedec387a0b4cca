"""What `stromboli plan` predicts for a job is what the scheduler then does.

On a real API server, with a line about the result:

    STROMBOLI_API_SERVER=real PREDICTED_PAIRS=500 pytest --log-cli-level INFO tests/integration/live/test_predictions.py
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.live.predictions import compare, random_pair
from tests.testing.planes import SERVER
from tests.testing.stage import TEST_SERVERS

PAIRS = int(os.environ.get("PREDICTED_PAIRS", "8"))
log = logging.getLogger(__name__)

#: The share of pairs for which the prediction must be right.
SHARE = 0.99


@pytest.fixture(scope="module", autouse=True)
def shared_server(request: pytest.FixtureRequest) -> Iterator[None]:
    """Run on the real server if requested."""
    if SERVER == "real":
        TEST_SERVERS.shared = request.getfixturevalue("plane")
    yield
    TEST_SERVERS.shared = None


async def test_plan_predicts_what_the_scheduler_does(tmp_path: Path) -> None:
    wrong = {}
    starts = 0
    for seed in range(PAIRS):
        predicted, observed = await compare(random_pair(seed), tmp_path)
        starts += bool(predicted.nodes)
        if not predicted.agrees(observed):
            wrong[seed] = (predicted, observed)
    log.info("%d pairs, %d start, %d predictions differ: %s", PAIRS, starts, len(wrong), wrong)
    assert 0 < starts < PAIRS
    assert len(wrong) <= PAIRS * (1 - SHARE), wrong
