"""What the metrics say of the watches is what these did, by name of the resource."""

from __future__ import annotations

from dataclasses import replace

from stromboli.kube.client.client import Client
from stromboli.kube.client.config.connection import Connection
from stromboli.kube.objects.catalogue import POD_GROUPS
from stromboli.kube.watch.reflector import Reflector
from stromboli.scheduler.loop import Scheduler
from stromboli.scheduler.reporting.gauges import GaugeUpdater
from tests.testing.world import policy_of

NAME = POD_GROUPS.name


async def test_a_resource_that_is_followed_in_two_versions_is_counted_once() -> None:
    async with Client(Connection("http://nowhere", None)) as client:
        scheduler = Scheduler(client, policy_of())
        known = next(each for each in scheduler.watches.reflectors if each.resource.name == NAME)
        other = Reflector(client, replace(POD_GROUPS, version="v1"), scheduler.ingest)
        scheduler.watches.reflectors.append(other)
        gauges = GaugeUpdater(scheduler.metrics)
        known.errors = 3
        gauges.update(scheduler)
        known.errors, other.errors = 4, 1
        gauges.update(scheduler)
        text = scheduler.metrics.render()[0].decode()
    assert f'stromboli_watch_errors_total{{resource="{NAME}"}} 5.0' in text
