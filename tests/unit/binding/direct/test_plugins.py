"""Binder plugins run in direct binding as in a binder: the same methods, in the same order, with the same results."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from stromboli.binding.direct.workers import BindWorkers
from stromboli.binding.orders import Commit, Outcome
from stromboli.binding.plugins.plugin import BinderPlugin, PermanentFailure, StepFailed
from stromboli.binding.pod_binding import PodBinder
from stromboli.core.model.tasks.placement import Placement
from stromboli.kube.objects.bind_requests import FAILED
from tests.testing.binder.binder_world import World
from tests.testing.kube.waiting import until
from tests.testing.virtual_time import run_virtually
from tests.unit.binding.scripted_client import NO_DELAY, Observer

FAILURE = "example.com/failure"


class RecordingPlugin(BinderPlugin):
    """Records calls; `pre_bind` of plugin `second` fails for pods with the annotation."""

    def __init__(self, name: str, calls: list[str]) -> None:
        super().__init__()
        self.plugin = name
        self.calls = calls

    async def pre_bind(self, placement: Placement) -> None:
        self.calls.append(f"{self.plugin} pre_bind {placement.name}")
        failure = placement.annotations.get(FAILURE) if self.plugin == "second" else None
        if failure == "final":
            raise PermanentFailure("impossible")
        if failure:
            raise StepFailed("not now")
        placement.annotations["example.com/prepared"] = "yes"

    async def post_bind(self, placement: Placement) -> None:
        self.calls.append(f"{self.plugin} post_bind {placement.name}")

    async def rollback(self, placement: Placement) -> None:
        self.calls.append(f"{self.plugin} rollback {placement.name}")


def plugins_of(calls: list[str]) -> list[BinderPlugin]:
    return [RecordingPlugin("first", calls), RecordingPlugin("second", calls)]


async def bound_directly(world: World, plugins: Sequence[BinderPlugin], failure: str) -> bool:
    uid = await world.pod("gang-0")
    annotations = {FAILURE: failure} if failure else {}
    placement = Placement(uid, "default", "gang-0", "default/gang", "a", annotations)
    observer = Observer()
    workers = BindWorkers(PodBinder(world.client, retry=NO_DELAY), observer, plugins=plugins)
    task = asyncio.ensure_future(workers.run())
    workers.submit(Commit("default/gang", (placement,), 1))
    await until(lambda: bool(observer.commits))
    task.cancel()
    return observer.results["gang-0"].outcome is Outcome.DONE


async def bound_by_binder(world: World, plugins: Sequence[BinderPlugin], failure: str) -> bool:
    facts = {"gang-0": {"annotations": {FAILURE: failure}}} if failure else None
    world.start(plugins)
    await world.gang("gang", "a", facts=facts, backoffLimit=1)
    await world.until_settled()
    return (await world.found("gang")).status.phase != FAILED


@pytest.mark.parametrize("failure", ["", "now", "final"], ids=["success", "failure", "permanent failure"])
def test_direct_binding_calls_plugins_in_the_order_of_the_binder(failure: str) -> None:
    async def run() -> None:
        results, orders, annotations = [], [], []
        for bind in (bound_directly, bound_by_binder):
            world, calls = World(), list[str]()
            await world.node("a")
            results.append(await bind(world, plugins_of(calls), failure))
            pod = (await world.pods())["gang-0"]
            orders.append(list(dict.fromkeys(calls)))
            annotations.append((pod.metadata.annotations or {}).get("example.com/prepared"))
            await world.close()
        assert orders[0] == orders[1]
        assert results == [not failure] * 2
        assert annotations == ["yes" if not failure else None] * 2

    run_virtually(run())
