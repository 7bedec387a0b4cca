"""Short retry delays, and the real server if requested."""

from collections.abc import Iterator

import pytest

from stromboli.kube.watch import reflector
from stromboli.kube.work.retry import RetryPolicy
from stromboli.scheduler import bind_tracker
from tests.testing.planes import SERVER
from tests.testing.stage import TEST_SERVERS


@pytest.fixture(scope="session", autouse=True)
def shared_server(request: pytest.FixtureRequest) -> Iterator[None]:
    """Run the tests on the real server if requested."""
    if SERVER == "real":
        TEST_SERVERS.shared = request.getfixturevalue("plane")
    yield
    TEST_SERVERS.shared = None


@pytest.fixture(autouse=True)
def short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    backoff = RetryPolicy(min_delay=0.05, max_delay=0.2, factor=2.0, jitter=False)
    monkeypatch.setattr(bind_tracker, "BACKOFF", backoff)
    monkeypatch.setattr(reflector, "RETRY", RetryPolicy(min_delay=0.02, max_delay=0.1))
