"""Failed watches are reported in probes, log and metrics."""

from __future__ import annotations

import asyncio

import pytest

from stromboli.binding.requests.binder import Binder
from stromboli.local.api_server.faults import Answer, Match
from stromboli.observability.metrics.scheduler import SchedulerMetrics
from tests.testing.logs import log_text
from tests.testing.manifests.builders import gang
from tests.testing.world import cpus, running_cluster

pytestmark = pytest.mark.only("embedded", because="faults of the server are made")
REQUIRED = Match(verb="watch", plural="podgroups")
OPTIONAL = Match(verb="watch", plural="resourcequotas")


async def test_missing_required_kind_is_reported_everywhere(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO", "stromboli.watches")
    metrics = SchedulerMetrics()
    async with running_cluster(cpus(1), bare=True, starts=False) as world:
        world.faults.add(REQUIRED, Answer(404, "NotFound"), times=None)
        await world.start(metrics=metrics)
        await world.until_true(lambda: "watch failed resources=podgroups" in log_text(caplog), "the failure is logged")
        assert "is the CRD of this kind installed?" in log_text(caplog)
        assert "podgroups.scheduling.volcano.sh: 404" in (world.scheduler.watches.problem() or "")
        assert 'stromboli_watch_up{resource="podgroups.scheduling.volcano.sh"} 0.0' in metrics.render()[0].decode()
        assert 'stromboli_api_requests_total{code="404",method="GET"}' in metrics.render()[0].decode()
        world.faults.clear()
        await world.until_true(
            lambda: "watch recovered resources=podgroups" in log_text(caplog), "the recovery is logged"
        )
        assert log_text(caplog).count("watch failed resources=podgroups") == 1
        assert world.scheduler.watches.problem() is None


async def test_binder_reports_missing_kind(caplog: pytest.LogCaptureFixture) -> None:
    async with running_cluster(cpus(1), bare=True, starts=False) as world:
        world.faults.add(Match(verb="watch", plural="bindrequests"), Answer(404, "NotFound"), times=None)
        binder = Binder(world.client, ())
        running = asyncio.ensure_future(binder.run())
        await world.until_true(
            lambda: "watch failed resources=bindrequests.scheduling" in log_text(caplog), "the failure is logged"
        )
        assert "is the CRD of this kind installed?" in (binder.watches.problem() or "")
        world.faults.clear()
        await world.until_true(lambda: binder.watches.problem() is None, "the watch has recovered")
        binder.stop()
        await running


async def test_denied_optional_kind_is_reported_and_scheduling_continues(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with running_cluster(cpus(1), bare=True, starts=False) as world:
        world.faults.add(OPTIONAL, Answer(403, "Forbidden"), times=None)
        await world.start()
        await world.create(gang(1, 1, name="gang"))
        await world.until_bound("gang", 1)
        await world.until_true(
            lambda: 'watch failed resources=resourcequotas error="403' in log_text(caplog), "the failure is logged"
        )
        assert world.scheduler.watches.problem() is None


async def test_many_problems_are_summarised() -> None:
    async with running_cluster(cpus(1), bare=True, starts=False) as world:
        world.faults.add(Match(verb="watch"), Answer(401, "Unauthorized"), times=None)
        await world.start()
        await world.until_true(lambda: "401" in (world.scheduler.watches.problem() or ""))
        await world.until_true(lambda: len((world.scheduler.watches.problem() or "").split("; ")) == 2)
        assert (world.scheduler.watches.problem() or "").count("401") == 1
