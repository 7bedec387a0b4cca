"""Events about pods whose scheduler does not run in this cluster: without them, such a pod waits without a reason."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING

from stromboli.kube.events.recorder import EventRecorder
from stromboli.kube.objects.event import ObjectReference
from stromboli.kube.objects.pod import Pod
from stromboli.kube.watch.informer import Informer
from stromboli.kube.work.work_queue import WorkQueue

if TYPE_CHECKING:
    from stromboli.kube.client.client import Client

#: A pod that waits for so many seconds has no scheduler: another process may be one.
DELAY = 2.0
CONTROLLER = "stromboli-local"


class MissingSchedulers:
    """Reports pods of schedulers without these names; without any name, it reports nothing."""

    def __init__(self, client: Client, pods: Informer[Pod], names: Sequence[str], *, delay: float = DELAY) -> None:
        self._names = tuple(names)
        self._pods = pods
        self._delay = delay
        self._recorder = EventRecorder(client, CONTROLLER)
        self._work: WorkQueue[str] = WorkQueue(self._report, name="missing schedulers", workers=1)
        if names:
            pods.listen(self._pod_changed)

    async def run(self) -> None:
        """Run until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._recorder.run())
            tasks.create_task(self._work.run())

    def _pod_changed(self, old: Pod | None, new: Pod | None) -> None:
        """The scheduler of a pod is immutable."""
        is_new = new is not None and (old is None or old.metadata.uid != new.metadata.uid)
        if new is not None and is_new and self._is_waiting(new):
            self._work.add_after(new.key, self._delay)

    def _is_waiting(self, pod: Pod) -> bool:
        is_ours = (pod.spec.scheduler_name or "") in self._names
        return not (is_ours or pod.spec.node_name or pod.status.is_finished or pod.metadata.deletion_timestamp)

    async def _report(self, key: str) -> None:
        pod = self._pods.objects.get(key)
        if pod is None or not self._is_waiting(pod):
            return
        missing = f'no scheduler named "{pod.spec.scheduler_name}" runs in this cluster'
        self._recorder.record(
            ObjectReference("v1", "Pod", pod.metadata.namespace, pod.metadata.name, pod.metadata.uid),
            type="Warning",
            reason="FailedScheduling",
            note=f"{missing}; create the pod again with spec.schedulerName: {self._names[0]}",
            action="Scheduling",
        )
