"""One running scheduler for all questions of this folder."""

from __future__ import annotations

import asyncio

import pytest

from stromboli.binding.requests.metrics import BinderMetrics
from stromboli.observability.metrics.scheduler import SchedulerMetrics
from tests.integration.deploy.exposed import Exposed, read, scheduler_after_work, webhook_metrics


@pytest.fixture(scope="session")
def worked_scheduler() -> SchedulerMetrics:
    return asyncio.run(scheduler_after_work())


@pytest.fixture(scope="session")
def scheduler_metrics(worked_scheduler: SchedulerMetrics) -> Exposed:
    return read(BinderMetrics()) | read(worked_scheduler) | read(webhook_metrics())
