"""Tells HyperNodes what became of them: how many nodes are in each, and what is wrong with it.

What is wrong with one may be the doing of another, or of a node that is gone, so all are looked at whenever a
description or a label of a node changes, and those whose status has become untrue are written.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from stromboli.cluster.objects.topology.hypernodes import HyperNodes
from stromboli.controllers.hypernode_status import Verdict, condition_of
from stromboli.core.model.nodes.table import Node, NodeTable
from stromboli.core.model.topology.hypernodes import HyperNodeTree
from stromboli.kube.client.api_errors import ApiError
from stromboli.kube.client.client import PatchKind
from stromboli.kube.events.recorder import EventRecorder
from stromboli.kube.objects import timestamps
from stromboli.kube.objects.catalogue import HYPER_NODES
from stromboli.kube.objects.cluster import KubeNode as WireNode
from stromboli.kube.objects.event import ObjectReference
from stromboli.kube.objects.topology import KubeHyperNode
from stromboli.kube.watch.informer import Informer
from stromboli.kube.work.work_queue import WorkQueue

if TYPE_CHECKING:
    from stromboli.kube.client.client import Client

DEBOUNCE_SECONDS = 0.2
"""How old the tree may be, in seconds: what changes together is looked at together."""
FIELD_MANAGER = "stromboli-controller"

#: Stands for all HyperNodes at once; none has an empty name.
_ALL = ""


class HyperNodeController:
    def __init__(
        self, client: Client, hyper_nodes: Informer[KubeHyperNode], nodes: Informer[WireNode], recorder: EventRecorder
    ) -> None:
        self._client = client
        self._hyper_nodes, self._nodes, self._recorder = hyper_nodes, nodes, recorder
        self._book = HyperNodes()
        self._tree = HyperNodeTree(0)
        #: Whether something has changed since the tree was made, and the nodes as they were then.
        self._is_outdated = True
        self._table: NodeTable | None = None
        self.work: WorkQueue[str] = WorkQueue(self._look, name="hypernodes", workers=4)
        #: What was written so far.
        self.status_writes = 0
        hyper_nodes.listen(self._hyper_node_changed)
        nodes.listen(self._node_changed)

    async def run(self) -> None:
        """Until cancelled."""
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

    async def _look(self, name: str) -> None:
        """One that is looked at before the tree is up to date is looked at again afterwards."""
        if name == _ALL:
            self._rebuild()
            return
        hyper_node = self._hyper_nodes.objects.get(name)
        if hyper_node is None or self._is_outdated:
            return
        verdict = self._verdict(name)
        if not verdict.is_told_by(hyper_node):
            await self._tell(hyper_node, verdict)

    def _rebuild(self) -> None:
        if self._table is None:
            nodes = self._nodes.objects.values()
            self._table = NodeTable(Node(node.key, node.metadata.labels or {}) for node in nodes)
        self._tree, self._is_outdated = self._book.tree(self._table), False
        for name, hyper_node in self._hyper_nodes.objects.items():
            if not self._verdict(name).is_told_by(hyper_node):
                self.work.add(name)

    def _verdict(self, name: str) -> Verdict:
        place = self._tree.index.get(name)
        nodes = 0 if place is None else len(self._tree.rows(place))
        return Verdict(nodes, self._book.faults.get(name, ()))

    async def _tell(self, hyper_node: KubeHyperNode, verdict: Verdict) -> None:
        """Only what is ours of the status is written, and only to this very object."""
        body = {
            "apiVersion": HYPER_NODES.api_version,
            "kind": HYPER_NODES.kind,
            "metadata": {"name": hyper_node.key, "uid": hyper_node.metadata.uid},
            "status": verdict.as_status(hyper_node, timestamps.now()),
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
        if verdict.differs_from(hyper_node):
            self._announce(hyper_node, verdict)

    def _announce(self, hyper_node: KubeHyperNode, verdict: Verdict) -> None:
        """That something is wrong, and that it is right again."""
        regarding = ObjectReference(
            api_version=HYPER_NODES.api_version,
            kind=HYPER_NODES.kind,
            name=hyper_node.key,
            uid=hyper_node.metadata.uid,
        )
        if verdict.faults:
            self._recorder.record(regarding, type="Warning", reason="Faulty", note=verdict.message)
        elif condition_of(hyper_node) is not None:
            note = "everything in the description is understood and found"
            self._recorder.record(regarding, type="Normal", reason="Understood", note=note)
