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
    backoff = RetryPolicy(min_delay=0.05, max_delay=0.2, factor=2.0, jitter=False)
    monkeypatch.setattr(bind_tracker, "BACKOFF", backoff)
    monkeypatch.setattr(reflector, "RETRY", RetryPolicy(min_delay=0.02, max_delay=0.1))
