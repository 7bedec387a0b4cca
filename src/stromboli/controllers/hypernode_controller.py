"""Writes the status of HyperNodes: the number of their nodes, and problems of their spec.

A problem may come from another HyperNode or from a missing node, so all are checked whenever a spec or a node label
changes, and outdated statuses are written.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from stromboli.cluster.objects.topology.hypernodes import HyperNodes
from stromboli.core.model.nodes.table import Node, NodeTable
from stromboli.core.model.topology.hypernodes import HyperNodeTree
from stromboli.kube.client.api_errors import ApiError
from stromboli.kube.client.client import PatchKind
from stromboli.kube.events.recorder import EventRecorder
from stromboli.kube.objects import timestamps
from stromboli.kube.objects.catalogue import HYPER_NODES
from stromboli.kube.objects.cluster import KubeNode as WireNode
from stromboli.kube.objects.event import reference_to
from stromboli.kube.objects.meta import KubeCondition
from stromboli.kube.objects.topology import KubeHyperNode
from stromboli.kube.watch.informer import Informer
from stromboli.kube.work.work_queue import WorkQueue

if TYPE_CHECKING:
    from stromboli.kube.client.client import Client

DEBOUNCE_SECONDS = 0.2
"""Changes within this many seconds are processed together."""
FIELD_MANAGER = "stromboli-controller"

#: The key of all HyperNodes; no object has an empty name.
_ALL = ""


#: The condition that reports whether the spec is valid and all members exist.
VALID = "Valid"
_VALID_REASON, _INVALID_REASON = "Valid", "Invalid"
_MAX_FAULTS = 5


@dataclass(frozen=True, slots=True)
class HyperNodeReport:
    nodes: int
    faults: Sequence[str] = ()

    @property
    def status(self) -> str:
        return "False" if self.faults else "True"

    @property
    def message(self) -> str:
        left = len(self.faults) - _MAX_FAULTS
        condition_now = [*self.faults[:_MAX_FAULTS], *([f"and {left} more"] if left > 0 else [])]
        return "; ".join(condition_now)

    def matches(self, hyper_node: KubeHyperNode) -> bool:
        """Report whether the status is up to date."""
        return hyper_node.status.node_count == self.nodes and not self.differs_from(hyper_node)

    def differs_from(self, hyper_node: KubeHyperNode) -> bool:
        """Report whether the condition differs."""
        condition_now = condition_of(hyper_node)
        return condition_now is None or (condition_now.status, condition_now.message or "") != (
            self.status,
            self.message,
        )

    def as_status(self, hyper_node: KubeHyperNode, now: str) -> dict[str, Any]:
        """Return the status to write. An unchanged condition keeps its transition time."""
        condition_now = condition_of(hyper_node)
        is_unchanged = condition_now is not None and condition_now.status == self.status
        condition = {
            "type": VALID,
            "status": self.status,
            "reason": _INVALID_REASON if self.faults else _VALID_REASON,
            "message": self.message,
            "lastTransitionTime": (condition_now.last_transition_time if condition_now and is_unchanged else None)
            or now,
        }
        return {"nodeCount": self.nodes, "conditions": [condition]}


def condition_of(hyper_node: KubeHyperNode) -> KubeCondition | None:
    return next((each for each in hyper_node.status.conditions or () if each.type == VALID), None)


class HyperNodeController:
    def __init__(
        self, client: Client, hyper_nodes: Informer[KubeHyperNode], nodes: Informer[WireNode], recorder: EventRecorder
    ) -> None:
        self._client = client
        self._hyper_nodes, self._nodes, self._recorder = hyper_nodes, nodes, recorder
        self._book = HyperNodes()
        self._tree = HyperNodeTree(0)
        #: Whether an object has changed since the tree was built, and the node table it was built from.
        self._is_outdated = True
        self._table: NodeTable | None = None
        self.work: WorkQueue[str] = WorkQueue(self._reconcile, name="hypernodes", workers=4)
        #: The number of writes.
        self.status_writes = 0
        hyper_nodes.listen(self._hyper_node_changed)
        nodes.listen(self._node_changed)

    async def run(self) -> None:
        """Work until cancelled."""
        await self._hyper_nodes.synced.wait()
        await self._nodes.synced.wait()
        self.work.add(_ALL)
        await self.work.run()

    def _hyper_node_changed(self, old: KubeHyperNode | None, new: KubeHyperNode | None) -> None:
        if new is None:
            self._book.remove(old or KubeHyperNode())
        else:
            self._book.apply(new)
        if old is None or new is None or old.spec != new.spec:
            self._look_later()
        else:
            self.work.add(new.key)

    def _node_changed(self, old: WireNode | None, new: WireNode | None) -> None:
        if old is None or new is None or old.metadata.labels != new.metadata.labels:
            self._table = None
            self._look_later()

    def _look_later(self) -> None:
        self._is_outdated = True
        self.work.add_after(_ALL, DEBOUNCE_SECONDS)

    async def _reconcile(self, name: str) -> None:
        """Reconcile a key; one that comes before the tree is up to date is added again afterwards."""
        if name == _ALL:
            self._rebuild()
            return
        hyper_node = self._hyper_nodes.objects.get(name)
        if hyper_node is None or self._is_outdated:
            return
        report = self._report(name)
        if not report.matches(hyper_node):
            await self._write_status(hyper_node, report)

    def _rebuild(self) -> None:
        if self._table is None:
            nodes = self._nodes.objects.values()
            self._table = NodeTable(Node(node.key, node.metadata.labels or {}) for node in nodes)
        self._tree, self._is_outdated = self._book.tree(self._table), False
        for name, hyper_node in self._hyper_nodes.objects.items():
            if not self._report(name).matches(hyper_node):
                self.work.add(name)

    def _report(self, name: str) -> HyperNodeReport:
        place = self._tree.index.get(name)
        nodes = 0 if place is None else len(self._tree.rows(place))
        return HyperNodeReport(nodes, self._book.faults.get(name, ()))

    async def _write_status(self, hyper_node: KubeHyperNode, report: HyperNodeReport) -> None:
        """Apply this controller's fields of the status, to exactly this object."""
        body = {
            "apiVersion": HYPER_NODES.api_version,
            "kind": HYPER_NODES.kind,
            "metadata": {"name": hyper_node.key, "uid": hyper_node.metadata.uid},
            "status": report.as_status(hyper_node, timestamps.now()),
        }
        try:
            await self._client.patch(
                HYPER_NODES, hyper_node.key, body,
                subresource="status", kind=PatchKind.APPLY, field_manager=FIELD_MANAGER, force=True,
            )  # fmt: skip
        except ApiError as error:
            if error.is_missing:
                return
            raise
        self.status_writes += 1
        if report.differs_from(hyper_node):
            self._announce(hyper_node, report)

    def _announce(self, hyper_node: KubeHyperNode, report: HyperNodeReport) -> None:
        """Record an event about a problem, or its resolution."""
        regarding = reference_to(HYPER_NODES, hyper_node)
        if report.faults:
            self._recorder.record(regarding, type="Warning", reason="Invalid", note=report.message)
        elif condition_of(hyper_node) is not None:
            note = "the spec is valid and all members exist"
            self._recorder.record(regarding, type="Normal", reason="Valid", note=note)
