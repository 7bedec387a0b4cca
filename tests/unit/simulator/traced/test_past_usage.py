"""In a simulated trace, plugins read what users have used so far."""

from __future__ import annotations

from typing import ClassVar

import pytest

from stromboli.core.actions import ACTIONS
from stromboli.core.config.plugin import Plugin
from stromboli.core.config.registry import Registry
from stromboli.core.model.resources.resources import CPU
from stromboli.core.model.usage.decay import UsageDecay
from stromboli.core.plugins import PLUGINS
from stromboli.core.session.session import Session
from stromboli.simulator.worlds.fast_world import FastWorld
from stromboli.simulator.worlds.store_world import StoreWorld
from tests.testing.simulations import strategy
from tests.testing.traces.runs import job, simulated


class UserUsageReader(Plugin):
    """Records the processor seconds of users in each cycle."""

    name = "user-usage-reader"
    reads_past_usage = True
    found: ClassVar[list[dict[str, float]]] = []

    def open(self, session: Session) -> None:
        usage = session.past_usage(UsageDecay())
        users = usage.users_of("default")
        seconds = {user: round(float(usage.user("default", user)[CPU]) / 1000, 6) for user in users}
        self.found.append({user: used for user, used in seconds.items() if used})


@pytest.mark.parametrize("world", [FastWorld, StoreWorld])
def test_usage_of_users_is_what_their_jobs_ran(world: type[FastWorld] | type[StoreWorld]) -> None:
    UserUsageReader.found.clear()
    trace = [
        job("a", 0, 100, 3, user="ana"), job("b", 10, 50, 1, user="ben"), job("c", 110, 20, 4, user="ben"),
        job("d", 120, 5, 1, user="ana"), job("e", 200, 5, 1, user="ana"),
    ]  # fmt: skip
    conf = strategy("best-effort").replace("tiers:", "tiers:\n- plugins:\n  - name: user-usage-reader")
    simulated(trace, conf, world=world, registry=Registry((*PLUGINS, UserUsageReader), ACTIONS), queues="one")
    by_cycle = [found for found in UserUsageReader.found if found]
    assert by_cycle[0] == {"ana": 30}  # at 10
    assert {"ana": 300, "ben": 50} in by_cycle  # at 110
    assert {"ana": 300, "ben": 90} in by_cycle  # at 120
    assert by_cycle[-1] == {"ana": 305, "ben": 130}  # at 200
