"""The gpusharing plugin: its arguments, and the annotations of a binding with fractional GPUs."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from stromboli.core.config.arguments import Argument, Arguments
from stromboli.core.config.plugin import Event, Plugin
from stromboli.core.config.spelling import quoted
from stromboli.core.model.devices.gpu_fractions import DEFAULT_NAMESPACE, RECEIVED, REGULAR_RECEIVED, RESERVATIONS_IN
from stromboli.core.model.devices.shared_devices import DEVICES, Backend
from stromboli.core.model.tasks.task import Task
from stromboli.core.plugins.gpusharing.accounting import SharedGpuState
from stromboli.core.plugins.gpusharing.node_shares import PACK, SPREAD
from stromboli.core.plugins.gpusharing.rules import GpuColumns, GpuShareFilter, GpuShareScorer, WholeGpuFilter
from stromboli.core.search.node_rules import NodeFilter, NodeScorer

if TYPE_CHECKING:
    from stromboli.core.session.session import Session

_SECONDS = "gpusharing.ReservationSeconds"
_MAX_SECONDS = 3600.0
_NAME = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?", re.ASCII)


def _namespace(text: str) -> str:
    if not _NAME.fullmatch(text):
        raise ValueError(f"expected the name of a namespace, such as {DEFAULT_NAMESPACE}, got {quoted(text)}")
    return text


class GpuSharingArguments(Arguments):
    policy: str = Argument("gpusharing.SchedulePolicy", PACK, "Pack or spread shared GPUs.", choices=(PACK, SPREAD))
    weight: float = Argument("gpusharing.ScheduleWeight", 10.0, "Weight of nodes with a GPU to join.", minimum=0)
    namespace: str = Argument(
        "gpusharing.ReservationNamespace", DEFAULT_NAMESPACE, "Namespace of reservation pods.", parse=_namespace
    )
    image: str = Argument("gpusharing.ReservationImage", "", "Image of these pods; by default that of this version.")
    seconds: float = Argument(_SECONDS, 40.0, "Timeout until a reservation pod reports its GPU.", minimum=1)
    runtime_class: str = Argument("gpusharing.ReservationRuntimeClass", "", "Runtime class of these pods.")
    fake: bool = Argument("gpusharing.FakeGPUs", False, "Whether nodes have no real GPUs and they are simulated.")
    cdi: bool = Argument("gpusharing.CDIEnable", False, "Whether pods get GPUs by their CDI name.")


class GpuSharing(Plugin):
    name = "gpusharing"
    arguments = GpuSharingArguments()

    def __init__(self, arguments: GpuSharingArguments, hierarchy: bool = False) -> None:
        super().__init__(arguments, hierarchy)
        if arguments.seconds > _MAX_SECONDS:
            raise ValueError(f"{_SECONDS}: expected at most {_MAX_SECONDS:g} seconds, got {arguments.seconds:g}")
        self.state = SharedGpuState(arguments.policy, arguments.namespace)
        self._columns = GpuColumns(self.state)
        self.reads_annotations = (DEVICES + Backend.GPU_FRACTIONS, RESERVATIONS_IN + arguments.namespace)
        self.binding_options = {
            "namespace": arguments.namespace,
            **({"image": arguments.image} if arguments.image else {}),
            "seconds": f"{arguments.seconds:g}",
            "runtimeClass": arguments.runtime_class,
            "fake": str(arguments.fake).lower(),
            "cdi": str(arguments.cdi).lower(),
        }
        self._chooses = False

    def open(self, session: Session) -> None:
        self.state.open(session)
        session.shared_gpus = self.state
        self._columns.open()

    def node_filters(self) -> Sequence[NodeFilter]:
        """Return the filters. Without them no GPUs are assigned, because a pod could be placed where none is free."""
        self._chooses = True
        return [GpuShareFilter(self._columns), WholeGpuFilter(self.state)]

    def node_scorers(self) -> Sequence[NodeScorer]:
        weight = self.arguments.weight
        return [GpuShareScorer(self._columns, weight)] if weight else []

    def on_allocate(self, event: Event) -> None:
        if self._chooses:
            self.state.follow_placement(event)

    def on_deallocate(self, event: Event) -> None:
        if self._chooses:
            self.state.follow_removal(event)

    def on_reserve(self, task: Task, node: str) -> None:
        self.on_allocate(Event([task], [node]))

    def on_release(self, task: Task, node: str) -> None:
        self.on_deallocate(Event([task], [node]))

    def bind_context(self, task: Task, context: dict[str, str]) -> None:
        if not self._chooses:
            return
        if self.state.request_of(task.task_class) is not None:
            context.update(self.state.received(task).annotations())
        elif self.state.wants_whole_gpus(task.task_class):
            context[RECEIVED] = REGULAR_RECEIVED
