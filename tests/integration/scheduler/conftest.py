"""Whatever failed is tried again soon: the pauses of production are too long for a story."""

from collections.abc import Iterator

import pytest

from stromboli.kube.watch import reflector
from stromboli.kube.work.retry import RetryPolicy
from stromboli.scheduler import bind_tracker
from tests.testing.planes import SERVER
from tests.testing.stage import TEST_SERVERS


@pytest.fixture(scope="session", autouse=True)
def theatre(request: pytest.FixtureRequest) -> Iterator[None]:
    """Stories are told on the real server if that is asked for."""
    if SERVER == "real":
        TEST_SERVERS.shared = request.getfixturevalue("plane")
    yield
    TEST_SERVERS.shared = None


@pytest.fixture(autouse=True)
def short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bind_tracker, "MIN_REST", 0.05)
    monkeypatch.setattr(bind_tracker, "MAX_REST", 0.2)
    monkeypatch.setattr(reflector, "RETRY", RetryPolicy(min_delay=0.02, max_delay=0.1))
