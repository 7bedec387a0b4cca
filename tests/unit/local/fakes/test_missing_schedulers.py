"""Events about pods of schedulers that do not run."""

from __future__ import annotations

from stromboli.kube.client.client import Client
from stromboli.kube.objects.catalogue import EVENTS, PODS
from stromboli.kube.objects.event import KubeEvent
from stromboli.kube.watch.informer import Informer
from stromboli.local.fakes.missing_schedulers import MissingSchedulers
from tests.unit.local.fakes.running import running, until


async def events(client: Client) -> list[KubeEvent]:
    return (await client.list(EVENTS)).items


async def create(client: Client, name: str, **spec: str) -> None:
    container = {"name": "main", "image": "busybox"}
    await client.create(PODS, {"metadata": {"name": name}, "spec": {"containers": [container], **spec}})


async def test_pod_of_missing_scheduler_gets_one_event_with_the_remedy(client: Client) -> None:
    pods = Informer(client, PODS)
    async with running(pods, MissingSchedulers(client, pods, ("stromboli", "volcano"), delay=0.05)):
        await create(client, "ours", schedulerName="volcano")
        await create(client, "placed", nodeName="a")
        await create(client, "lost")
        await until(lambda: events(client))
        [event] = await events(client)
        assert (event.involved_object.name, event.type, event.reason) == ("lost", "Warning", "FailedScheduling")
        assert event.message == (
            'no scheduler named "default-scheduler" runs in this cluster; '
            "create the pod again with spec.schedulerName: stromboli"
        )


async def test_pod_that_another_process_binds_in_time_gets_no_event(client: Client) -> None:
    pods = Informer(client, PODS)
    async with running(pods, MissingSchedulers(client, pods, ("stromboli",), delay=0.3)):
        await create(client, "bound")
        [pod] = (await client.list(PODS)).items
        await client.bind(pod.metadata.namespace, "bound", pod.metadata.uid, "a")
        await create(client, "late")
        await until(lambda: events(client))
        assert [event.involved_object.name for event in await events(client)] == ["late"]
