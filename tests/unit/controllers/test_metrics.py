"""The metrics of the controllers count their work and its failures, and only the chosen controllers run."""

from stromboli.controllers.metrics import ControllerMetrics
from stromboli.controllers.names import PODGROUP, QUEUE
from stromboli.controllers.wiring import Controllers
from stromboli.kube.client.api_errors import ApiError
from stromboli.kube.client.client import Client
from stromboli.kube.crds.install import install_crds
from stromboli.kube.objects.catalogue import QUEUES
from tests.testing.exposition import exposed_value
from tests.unit.local.fakes.running import running, until


async def test_work_is_counted_and_measured(client: Client) -> None:
    await install_crds(client)
    metrics, controllers = ControllerMetrics(), Controllers(client, ["volcano"])
    metrics.observe(controllers)

    async def created() -> bool:
        return len((await client.list(QUEUES)).items) == 2 and controllers.queues.work.is_idle

    async with running(controllers):
        await until(created)
        assert (
            exposed_value(metrics, "stromboli_controller_syncs_total", controller=QUEUE, result="succeeded") or 0
        ) >= 2
        assert (exposed_value(metrics, "stromboli_controller_sync_duration_seconds_count", controller=QUEUE) or 0) >= 2
        assert (exposed_value(metrics, "stromboli_controller_retrying", controller=QUEUE) or 0) == 0
        assert (exposed_value(metrics, "stromboli_work_pending", work=PODGROUP) or 0) == 0
        assert (exposed_value(metrics, "stromboli_watch_up", resource="queues.scheduling.volcano.sh") or 0) == 1


async def test_failed_work_is_counted_and_retried(client: Client) -> None:
    metrics, controllers = ControllerMetrics(), Controllers(client, ["volcano"], enabled=(QUEUE,))
    metrics.observe(controllers)

    async def fail(name: str) -> None:
        raise ApiError(503, "Unavailable", "no answer")

    controllers.queues.work._handle = fail
    controllers.queues.work.add("research")
    async with running(controllers.queues.work):
        await until(lambda: _is_retrying(metrics))


async def _is_retrying(metrics: ControllerMetrics) -> bool:
    failed = exposed_value(metrics, "stromboli_controller_syncs_total", controller=QUEUE, result="failed")
    return bool(failed) and exposed_value(metrics, "stromboli_controller_retrying", controller=QUEUE) == 1


async def test_controller_that_is_left_out_does_nothing(client: Client) -> None:
    await install_crds(client)
    controllers = Controllers(client, ["volcano"], enabled=(PODGROUP,))

    async def settled() -> bool:
        return all(informer.synced.is_set() for informer in controllers.informers.values())

    async with running(controllers):
        await until(settled)
        await until(settled)
    assert [*controllers.work] == [PODGROUP]
    assert (await client.list(QUEUES)).items == []
