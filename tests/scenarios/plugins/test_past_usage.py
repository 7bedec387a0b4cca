"""A plugin reads what queues and users have used so far."""

from typing import ClassVar

import pytest

from stromboli.cluster.state.cluster import Cluster
from stromboli.core.actions import ACTIONS
from stromboli.core.config.configuration import parse_configuration
from stromboli.core.config.plugin import Plugin
from stromboli.core.config.registry import Registry
from stromboli.core.model.usage.decay import UsageDecay
from stromboli.core.model.usage.ledger import UsageLedger
from stromboli.core.model.usage.past_usage import Account
from stromboli.core.session.program import Program
from stromboli.core.session.session import Session


class UsageReader(Plugin):
    """Records the usage of a queue and of a user."""

    name = "usage-reader"
    reads_past_usage = True
    found: ClassVar[list[float]] = []

    def open(self, session: Session) -> None:
        usage = session.past_usage(UsageDecay(window=3600.0))
        self.found[:] = [float(usage.queue("research")[0]), float(usage.user("research", "ana")[0])]


def decide(ledger: UsageLedger | None) -> list[float]:
    registry = Registry((UsageReader,), ACTIONS)
    text = "actions: allocate\ntiers:\n- plugins:\n  - name: usage-reader"
    program = Program(parse_configuration(text, registry), registry)
    assert program.reads_past_usage
    cluster = Cluster()
    cluster.past_usage = ledger
    Session(cluster.snapshot(0.0), program)
    return UsageReader.found


def test_usage_of_a_queue_and_of_a_user() -> None:
    ledger = UsageLedger()
    for user, pods in (("ana", 1), ("bob", 2)):
        number = ledger.account(Account("research", "team-a", user, (("cpu", 500),)))
        for _ in range(pods):
            ledger.started(number, -50.0)
    assert decide(ledger) == pytest.approx([75_000.0, 25_000.0])


def test_usage_is_zero_where_it_is_not_accounted() -> None:
    assert decide(None) == [0.0, 0.0]
