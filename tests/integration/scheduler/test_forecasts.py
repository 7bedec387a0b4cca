"""Expected starts of waiting jobs, calculated by a process beside the scheduler."""

from __future__ import annotations

import sys

from stromboli.cluster.objects.pod_groups.expected_start import EXPECTED_START, expected_start_of
from stromboli.kube.objects.catalogue import PODS
from stromboli.scheduler.forecaster import Forecaster
from tests.testing.manifests.builders import gang
from tests.testing.world import World, cpus, running_cluster

RUN_TIME = "scheduling.stromboli.dev/run-time"


async def until_expected(world: World, name: str) -> tuple[float, float | None]:
    async def found() -> tuple[float, float | None] | None:
        group = await world.group(name)
        return None if group is None else expected_start_of(group)

    result = await world.until(found, f"PodGroup {name} has an expected start")
    assert result is not None
    return result


async def test_waiting_job_gets_its_expected_start_until_it_starts() -> None:
    async with running_cluster(cpus(1, 4), forecast=3600.0) as world:
        await world.create(gang(1, 4, name="old", annotations={RUN_TIME: "30m"}))
        await world.until_bound("old", 1)
        await world.create(gang(1, 4, name="new", annotations={RUN_TIME: "10m"}))
        await world.until_condition("new", "cpu")
        forecaster = Forecaster(world.scheduler)
        await forecaster.forecast()
        assert set(forecaster.starts.ranges) == {"default/new"}
        earliest, latest = await until_expected(world, "new")
        assert latest is not None
        assert 0 <= latest - earliest <= 60
        metrics = world.scheduler.metrics.render()[0].decode()
        assert 'stromboli_expected_start_jobs{latest="known"} 1.0' in metrics
        assert 'stromboli_forecasts_total{result="done"} 1.0' in metrics
        await world.delete(PODS, "old-task-0")
        await world.until_phase("new", "Running")

        async def is_withdrawn() -> bool:
            group = await world.group("new")
            conditions = (group and group.status.conditions) or ()
            return [c.status for c in conditions if c.type == EXPECTED_START] == ["False"]

        await world.until(is_withdrawn, "the condition is false")


async def test_forecast_that_fails_is_counted_and_changes_nothing() -> None:
    async with running_cluster(cpus(1, 4), forecast=3600.0) as world:
        await world.create(gang(1, 5, name="new"))
        await world.until_condition("new", "cpu")
        command = (sys.executable, "-c", "import sys; sys.exit('the forecast is broken')")
        forecaster = Forecaster(world.scheduler, command=command)
        await forecaster.forecast()
        assert not forecaster.starts.ranges
        assert 'stromboli_forecasts_total{result="failed"} 1.0' in world.scheduler.metrics.render()[0].decode()
        await world.create(gang(1, 1, name="small"))
        await world.until_bound("small", 1)
