"""No garbage collection interrupts a cycle, and the collector is as before when the cycle ends, also by an error."""

from __future__ import annotations

import gc
from typing import cast

import pytest

from stromboli.core.session.session import Session
from stromboli.kube.client.client import Client
from stromboli.scheduler.loop import Scheduler
from tests.testing.cases.case import configuration
from tests.testing.world import policy_of


@pytest.mark.parametrize("error", [None, ValueError("a plugin failed")])
def test_garbage_collection_is_paused_during_a_cycle_only(
    error: ValueError | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[bool] = []
    run = Session.run

    def observed(session: Session) -> None:
        seen.append(gc.isenabled())
        if error is not None:
            raise error
        run(session)

    monkeypatch.setattr(Session, "run", observed)
    scheduler = Scheduler(cast(Client, None), policy_of(configuration("gang", "predicates")))
    if error is None:
        scheduler.cycles.run(scheduler.policy.program)
    else:
        with pytest.raises(ValueError, match="a plugin failed"):
            scheduler.cycles.run(scheduler.policy.program)
    assert (seen, gc.isenabled()) == ([False], True)
