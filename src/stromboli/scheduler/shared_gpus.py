"""GPUs that pods share, where the scheduler binds pods itself: held before a pod is bound, and given up after the last.

With a binder this is the binder's part.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from stromboli.binding.orders import BindOrder
from stromboli.binding.steps.gpu_sharing.step import GpuSharingStep
from stromboli.cluster.ingest.ingest import Mirror
from stromboli.kube.client.client import Client
from stromboli.kube.events.recorder import EventRecorder
from stromboli.kube.objects.meta import TopLevel
from stromboli.scheduler.policy import SchedulingPolicy
from stromboli.scheduler.reporting.announcer import reference
from stromboli.scheduler.watches import Watches

#: The plugin whose arguments say how.
PLUGIN = "gpusharing"


class SharedGpus:
    def __init__(
        self,
        client: Client,
        mirror: Mirror,
        policy: SchedulingPolicy,
        feed: Watches,
        recorder: EventRecorder,
        obstacle: Callable[[BindOrder], str],
        is_leader: Callable[[], bool],
    ) -> None:
        self._policy = policy
        self._feed = feed
        self._recorder = recorder
        self.step = GpuSharingStep(client, mirror.get, self._options, obstacle, self._tell, is_leader)
        self.object_changed = self.step.reservations.object_changed

    def _options(self) -> Mapping[str, str]:
        plugin = self._policy.program.plugins.get(PLUGIN)
        return plugin.binding_options if plugin is not None else {}

    def _tell(self, regarding: TopLevel, kind: str, reason: str, note: str) -> None:
        self._recorder.record(reference(regarding), type=kind, reason=reason, note=note)

    async def run(self) -> None:
        """Until cancelled."""
        await self._feed.wait_until_synced()
        await self.step.reservations.serve()
