"""All controllers of one process, on one set of watches."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from stromboli.controllers.cron.cron_controller import CronJobController
from stromboli.controllers.discovery_controller import DiscoveryController
from stromboli.controllers.discovery_keys import Key
from stromboli.controllers.flows.flow_controller import JobFlowController
from stromboli.controllers.flows.template_controller import JobTemplateController
from stromboli.controllers.group_controller import GroupController
from stromboli.controllers.hypernode_controller import HyperNodeController
from stromboli.controllers.jobs.job_controller import VolcanoJobController
from stromboli.controllers.jobs.pods import TASK_PODS
from stromboli.controllers.names import (
    CONTROLLERS,
    CRON_JOB,
    HYPERNODE,
    JOB,
    JOB_FLOW,
    JOB_TEMPLATE,
    PODGROUP,
    QUEUE,
)
from stromboli.controllers.queue_controller import QueueController
from stromboli.kube.events.recorder import EventRecorder
from stromboli.kube.objects.catalogue import (
    EARLY_NATIVE_POD_GROUPS,
    HYPER_NODES,
    JOB_FLOWS,
    JOB_TEMPLATES,
    NATIVE_POD_GROUPS,
    NODES,
    POD_GROUPS,
    PRIORITY_CLASSES,
    QUEUES,
    VOLCANO_COMMANDS,
    VOLCANO_CRON_JOBS,
    VOLCANO_JOBS,
)
from stromboli.kube.objects.meta import TopLevel
from stromboli.kube.objects.resources import Resource
from stromboli.kube.watch.informer import GatedInformer, Informer
from stromboli.kube.work.work_queue import WorkQueue
from stromboli.workloads.families.volcano.tasks import JOB_NAME
from stromboli.workloads.queues import DEFAULT_QUEUE

if TYPE_CHECKING:
    from stromboli.kube.client.client import Client

EVENT_REPEAT_SECONDS = 2.0
"""The seconds after which repeated events are written."""
DISCOVERY = "discovery"

T = TypeVar("T", bound=TopLevel)


class _Service(Protocol):
    """Runs until it is cancelled."""

    async def run(self) -> None: ...


class _Controller(_Service, Protocol):
    work: WorkQueue[str]


C = TypeVar("C", bound=_Controller)


class Controllers:
    """Builds and runs the controllers with these names. One that is not among them is no attribute."""

    def __init__(
        self,
        client: Client,
        scheduler_names: Sequence[str],
        default_queue: str = DEFAULT_QUEUE,
        discovery_keys: Sequence[Key] = (),
        enabled: Collection[str] = CONTROLLERS,
    ) -> None:
        self._client = client
        #: The watches by resource; each is shared, and only those that a controller needs exist.
        self.informers: dict[Resource[Any], Informer[Any]] = {}
        #: The work of each controller, by its name.
        self.work: dict[str, WorkQueue[str]] = {}
        recorder = EventRecorder(client, "stromboli-controller", repeat_seconds=EVENT_REPEAT_SECONDS)
        self._services: list[_Service] = [recorder]
        watch = self._watch
        if PODGROUP in enabled:
            groups = GroupController(client, watch(POD_GROUPS), scheduler_names, default_queue)
            self.groups = self._add(PODGROUP, groups)
        if QUEUE in enabled:
            native_groups = [watch(each, optional=True) for each in (NATIVE_POD_GROUPS, EARLY_NATIVE_POD_GROUPS)]
            commands = watch(VOLCANO_COMMANDS, optional=True)
            queues = QueueController(
                client, watch(QUEUES), watch(POD_GROUPS), commands, recorder, default_queue, native_groups
            )
            self.queues = self._add(QUEUE, queues)
        if HYPERNODE in enabled:
            hyper_nodes = HyperNodeController(client, watch(HYPER_NODES, optional=True), watch(NODES), recorder)
            self.hyper_nodes = self._add(HYPERNODE, hyper_nodes)
        if JOB in enabled:
            pods = self._add_watch(GatedInformer(client, TASK_PODS, label_selector=JOB_NAME))
            commands = watch(VOLCANO_COMMANDS, optional=True)
            jobs = VolcanoJobController(
                client, self._gated(VOLCANO_JOBS), pods, watch(POD_GROUPS), commands, watch(PRIORITY_CLASSES), recorder
            )
            self.jobs = self._add(JOB, jobs)
        self._add_job_creators(enabled, recorder)
        if discovery_keys:
            self._add(
                DISCOVERY,
                DiscoveryController(client, watch(HYPER_NODES, optional=True), watch(NODES), discovery_keys),
            )

    def _add_job_creators(self, enabled: Collection[str], recorder: EventRecorder) -> None:
        """Add the controllers of objects that create Volcano Jobs."""
        client, gated = self._client, self._gated
        if JOB_FLOW in enabled:
            flows = JobFlowController(client, gated(JOB_FLOWS), gated(JOB_TEMPLATES), gated(VOLCANO_JOBS), recorder)
            self.flows = self._add(JOB_FLOW, flows)
        if JOB_TEMPLATE in enabled:
            templates = JobTemplateController(client, gated(JOB_TEMPLATES), gated(VOLCANO_JOBS))
            self.templates = self._add(JOB_TEMPLATE, templates)
        if CRON_JOB in enabled:
            cron_jobs = CronJobController(client, gated(VOLCANO_CRON_JOBS), gated(VOLCANO_JOBS), recorder)
            self.cron_jobs = self._add(CRON_JOB, cron_jobs)

    def _watch(self, resource: Resource[T], *, optional: bool = False) -> Informer[T]:
        if resource not in self.informers:
            self.informers[resource] = Informer(self._client, resource, optional=optional)
        return self.informers[resource]

    def _gated(self, resource: Resource[T]) -> GatedInformer[T]:
        """Return the shared watch of a kind of Volcano whose controller writes it, too."""
        found = self.informers.get(resource)
        return (
            found
            if isinstance(found, GatedInformer)
            else self._add_watch(GatedInformer(self._client, resource, optional=True))
        )

    def _add_watch(self, informer: GatedInformer[T]) -> GatedInformer[T]:
        self.informers[informer.resource] = informer
        return informer

    def _add(self, name: str, controller: C) -> C:
        self.work[name] = controller.work
        self._services.append(controller)
        return controller

    async def run(self) -> None:
        """Run until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            for service in (*self.informers.values(), *self._services):
                tasks.create_task(service.run())
