"""What cycles warn of is in the log: once, and again when it comes back."""

from __future__ import annotations

import logging
from typing import Any, cast

import pytest

from stromboli.core.actions import ACTIONS
from stromboli.core.config.registry import Registry
from stromboli.core.plugins import PLUGINS
from stromboli.kube.client.client import Client
from stromboli.scheduler.loop import Scheduler
from stromboli.scheduler.policy import ActivePolicy
from stromboli.scheduler.reporting.warning_log import EXPIRY_SECONDS
from tests.testing.cases.case import flattened, objects
from tests.testing.manifests.builders import gang, nodes, queue

TOPOLOGY: dict[str, Any] = {"topology": {"mode": "hard", "highestTierAllowed": 1}}
WARNING = "PodGroup default/{}: networkTopology has no effect: no configured plugin supports network domains"


class Watch:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def scheduler_of(clock: Watch, *manifests: object) -> Scheduler:
    """A scheduler that does not run."""
    scheduler = Scheduler(cast(Client, None), ActivePolicy(Registry(PLUGINS, ACTIONS)), clock=clock)
    apply(scheduler, queue("default"), *manifests)
    return scheduler


def apply(scheduler: Scheduler, *manifests: object) -> None:
    for entry in objects(flattened(manifests)):
        scheduler.ingest.apply(entry)


def logged_in_a_cycle(scheduler: Scheduler, caplog: pytest.LogCaptureFixture) -> list[str]:
    caplog.clear()
    with caplog.at_level(logging.WARNING, "stromboli.scheduler"):
        scheduler.cycles.run(scheduler.policy.program)
    return [vars(record)["warning"] for record in caplog.records]


async def test_a_warning_is_logged_once_as_long_as_it_holds(caplog: pytest.LogCaptureFixture) -> None:
    clock = Watch()
    scheduler = scheduler_of(clock, nodes(1, 1), gang(1, 8, name="one", **TOPOLOGY))
    assert logged_in_a_cycle(scheduler, caplog) == [WARNING.format("one")]
    for _ in range(3):
        clock.now += EXPIRY_SECONDS - 1
        assert logged_in_a_cycle(scheduler, caplog) == []


async def test_a_new_warning_is_logged_beside_an_old_one(caplog: pytest.LogCaptureFixture) -> None:
    scheduler = scheduler_of(Watch(), nodes(1, 1), gang(1, 8, name="one", **TOPOLOGY))
    logged_in_a_cycle(scheduler, caplog)
    apply(scheduler, gang(1, 8, name="two", **TOPOLOGY))
    assert logged_in_a_cycle(scheduler, caplog) == [WARNING.format("two")]


async def test_what_comes_back_after_a_while_is_logged_again(caplog: pytest.LogCaptureFixture) -> None:
    clock, manifests = Watch(), gang(1, 8, name="one", **TOPOLOGY)
    scheduler = scheduler_of(clock, nodes(1, 1), manifests)
    logged_in_a_cycle(scheduler, caplog)
    for entry in objects(manifests):
        scheduler.ingest.remove(entry)
    clock.now += EXPIRY_SECONDS
    assert logged_in_a_cycle(scheduler, caplog) == []
    assert scheduler.reporter.forget_gone() == 2, "the group, and the warning about it"
    for manifest in manifests:
        manifest["metadata"]["uid"] += "-again"
    apply(scheduler, manifests)
    assert logged_in_a_cycle(scheduler, caplog) == [WARNING.format("one")]
