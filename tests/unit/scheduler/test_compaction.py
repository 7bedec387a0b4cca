"""Compaction of the cache: parts of the scheduler follow the new state, and free the old one."""

from __future__ import annotations

import gc
import weakref
from typing import cast
from unittest import mock

import pytest

from stromboli.cluster.standard_queues import standard_queues
from stromboli.cluster.state.cluster import Cluster
from stromboli.core.model.usage.budgets import BudgetState
from stromboli.kube.client.client import Client
from stromboli.kube.work.status_writer import StatusWriter
from stromboli.scheduler.default_queues import DefaultQueues
from stromboli.scheduler.reporting.announcer import EventAnnouncer
from stromboli.scheduler.reporting.reporter import StatusReporter


@pytest.fixture
def announcer() -> mock.Mock:
    return mock.Mock(spec=EventAnnouncer)


def reporter_of(cluster: Cluster, announcer: mock.Mock) -> StatusReporter:
    writer = cast(StatusWriter, mock.Mock(spec=StatusWriter))
    return StatusReporter(cluster, writer, cast(EventAnnouncer, announcer), refresh=10.0, clock=lambda: 0.0)


def test_nothing_keeps_the_state_before_a_compaction(announcer: mock.Mock) -> None:
    cluster = Cluster()
    queues = DefaultQueues(cast(Client, mock.Mock(spec=Client)), cluster, "default", lambda: True)
    reporter, before = reporter_of(cluster, announcer), weakref.ref(cluster.decoder)
    cluster.compact()
    gc.collect()
    assert (before(), bool(queues and reporter)) == (None, True)


def test_budget_of_a_queue_that_is_created_after_a_compaction_is_announced(announcer: mock.Mock) -> None:
    cluster = Cluster()
    reporter = reporter_of(cluster, announcer)
    cluster.compact()
    for queue in standard_queues():
        cluster.apply(queue)
    state = mock.Mock(spec=BudgetState, queue="default", subject="", since=0.0, warning=80, budget=mock.Mock(scope="x"))
    reporter.budget_events.report([state])
    assert [call.args[0].metadata.name for call in announcer.budget_threshold.call_args_list] == ["default"]
