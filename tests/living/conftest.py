"""Whatever failed is tried again soon: the pauses of production are too long for a story."""

from functools import partial

import pytest

from stromboli.kube.access.backoff import Backoff
from stromboli.kube.watching import reflector
from stromboli.scheduler import outcomes


@pytest.fixture(autouse=True)
def short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outcomes, "SHORTEST_REST", 0.05)
    monkeypatch.setattr(outcomes, "LONGEST_REST", 0.2)
    monkeypatch.setattr(reflector, "Backoff", partial(Backoff, shortest=0.02, longest=0.1))
