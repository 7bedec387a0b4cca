"""What the metrics say of the watches is what these did, by name of the resource."""

from __future__ import annotations

from dataclasses import replace

from stromboli.kube.access.client import Client
from stromboli.kube.access.connection import Connection
from stromboli.kube.objects.catalogue import POD_GROUPS
from stromboli.kube.watching.reflector import Reflector
from stromboli.scheduler.gauges import Gauges
from stromboli.scheduler.scheduler import Scheduler
from tests.living.world import policy_of

NAME = POD_GROUPS.name


async def test_a_resource_that_is_followed_in_two_versions_is_counted_once() -> None:
    async with Client(Connection("http://nowhere", None)) as client:
        scheduler = Scheduler(client, policy_of())
        known = next(each for each in scheduler.feed.reflectors if each.resource.name == NAME)
        other = Reflector(client, replace(POD_GROUPS, version="v1"), scheduler.mirror)
        scheduler.feed.reflectors.append(other)
        gauges = Gauges(scheduler.metrics)
        known.errors = 3
        gauges.show(scheduler)
        known.errors, other.errors = 4, 1
        gauges.show(scheduler)
        text = scheduler.metrics.render()[0].decode()
    assert f'stromboli_watch_errors_total{{resource="{NAME}"}} 5.0' in text
