"""The plugin: its arguments, and what travels with the binding of a pod that shares GPUs."""

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
from stromboli.core.plugins.gpusharing.rules import Columns, GpuShareFilter, GpuShareScorer, WholeGpuFilter
from stromboli.core.plugins.gpusharing.selection import PACK, SPREAD
from stromboli.core.search.node_rules import NodeFilter, NodeScorer

if TYPE_CHECKING:
    from stromboli.core.session.session import Session

_POLICY, _WEIGHT = "gpusharing.SchedulePolicy", "gpusharing.ScheduleWeight"
_NAMESPACE, _IMAGE = "gpusharing.ReservationNamespace", "gpusharing.ReservationImage"
_SECONDS, _RUNTIME_CLASS = "gpusharing.ReservationSeconds", "gpusharing.ReservationRuntimeClass"
_FAKE, _CDI = "gpusharing.FakeGPUs", "gpusharing.CDIEnable"
_LONGEST = 3600.0
_NAME = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?", re.ASCII)


def _namespace(text: str) -> str:
    if not _NAME.fullmatch(text):
        raise ValueError(f"expected the name of a namespace, such as {DEFAULT_NAMESPACE}, got {quoted(text)}")
    return text


class GpuSharing(Plugin):
    name = "gpusharing"
    arguments = (
        Argument(_POLICY, str, PACK, "Whether shared GPUs are filled up or spared.", choices=(PACK, SPREAD)),
        Argument(_WEIGHT, float, 10, "Weight of nodes where a pod joins others; 0 for none.", minimum=0),
        Argument(_NAMESPACE, str, DEFAULT_NAMESPACE, "Namespace of the pods that hold GPUs.", form=_namespace),
        Argument(_IMAGE, str, "", "Image of these pods; by default the one of this version."),
        Argument(_SECONDS, float, 40, "How long it may take until a GPU is held and known.", minimum=1),
        Argument(_RUNTIME_CLASS, str, "", "Runtime class of these pods."),
        Argument(_FAKE, bool, False, "Whether nodes have no real GPUs, so that these are made up."),
        Argument(_CDI, bool, False, "Whether GPUs are told to pods as the container device interface names them."),
    )

    def __init__(self, given: Arguments, hierarchy: bool = False) -> None:
        super().__init__(given, hierarchy)
        if given[_SECONDS] > _LONGEST:
            raise ValueError(f"{_SECONDS}: expected at most {_LONGEST:g} seconds, got {given[_SECONDS]:g}")
        self.books = SharedGpuState(given[_POLICY], given[_NAMESPACE])
        self._columns = Columns(self.books)
        self.reads_annotations = (DEVICES + Backend.GPU_FRACTIONS, RESERVATIONS_IN + given[_NAMESPACE])
        self.binding_options = {
            "namespace": given[_NAMESPACE],
            **({"image": given[_IMAGE]} if given[_IMAGE] else {}),
            "seconds": f"{given[_SECONDS]:g}",
            "runtimeClass": given[_RUNTIME_CLASS],
            "fake": str(given[_FAKE]).lower(),
            "cdi": str(given[_CDI]).lower(),
        }
        self._chooses = False

    def open(self, session: Session) -> None:
        self.books.open(session)
        self._columns.open()

    def node_filters(self) -> Sequence[NodeFilter]:
        """Without a say in where pods go, GPUs cannot be promised: whoever is switched off here hands out none."""
        self._chooses = True
        return [GpuShareFilter(self._columns), WholeGpuFilter(self.books)]

    def node_scorers(self) -> Sequence[NodeScorer]:
        weight = self.given[_WEIGHT]
        return [GpuShareScorer(self._columns, weight)] if weight else []

    def on_allocate(self, event: Event) -> None:
        if self._chooses:
            self.books.follow_placement(event)

    def on_deallocate(self, event: Event) -> None:
        if self._chooses:
            self.books.follow_removal(event)

    def on_reserve(self, task: Task, node: str) -> None:
        self.on_allocate(Event([task], [node]))

    def on_release(self, task: Task, node: str) -> None:
        self.on_deallocate(Event([task], [node]))

    def bind_context(self, task: Task, context: dict[str, str]) -> None:
        if not self._chooses:
            return
        if self.books.wish_of(task.task_class) is not None:
            context.update(self.books.received(task).annotations())
        elif self.books.wants_whole_gpus(task.task_class):
            context[RECEIVED] = REGULAR_RECEIVED
