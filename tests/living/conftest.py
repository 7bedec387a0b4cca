"""Pods whose bind failed are tried again soon."""

import pytest

from stromboli.scheduler import outcomes


@pytest.fixture(autouse=True)
def short_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outcomes, "SHORTEST_REST", 0.05)
    monkeypatch.setattr(outcomes, "LONGEST_REST", 0.2)
