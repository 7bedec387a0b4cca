"""Device allocations on all nodes: as pods report them at the start of a cycle, then updated by its operations.

The state of a node is immutable and replaced as a whole, so it is reused across cycles while node and pods are
unchanged.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from stromboli.core.config.plugin import Event
from stromboli.core.model.devices.shared_devices import DeviceUser, DeviceUsers
from stromboli.core.model.ledger.entry import LedgerInconsistency
from stromboli.core.model.nodes.table import Node, NodeTable
from stromboli.core.model.tasks.task import Task, TaskStatus
from stromboli.core.model.tasks.task_class import TaskClass
from stromboli.core.plugins.deviceshare.backend import DeviceBackend, Wanted
from stromboli.core.plugins.deviceshare.node_devices import DeviceHolding, DevicePick, NodeDevices, SharedDevice
from stromboli.core.plugins.deviceshare.vgpu import VirtualGpu

if TYPE_CHECKING:
    from stromboli.core.session.session import Session

_NO_PODS: Mapping[str, DeviceUser] = {}


class _CachedDevices(NamedTuple):
    """The state of a node as last read, and the inputs it was read from."""

    registered: Hashable
    claims: Mapping[str, DeviceUser]
    states: NodeDevices | None
    warnings: tuple[str, ...]


class _DeviceStep(NamedTuple):
    """The change that one task made on its node, and whether it was nominated there."""

    before: NodeDevices | None
    after: NodeDevices
    later: bool


class DeviceState:
    """The state of one back-end, node by node; None for nodes without devices."""

    def __init__(self, backend: DeviceBackend) -> None:
        self.backend = backend
        self.rows: list[NodeDevices | None] = []
        #: By name of the node.
        self._read: dict[str, _CachedDevices] = {}
        #: The nodes and claims that were last read.
        self._nodes = NodeTable(())
        self._claims: DeviceUsers = {}
        self._wanted: dict[int, Wanted | None] = {}
        #: By uid, the last step of a pod in this cycle.
        self._steps: dict[str, _DeviceStep] = {}

    # -- opening ------------------------------------------------------------------------------------------------

    def open(self, session: Session) -> None:
        """Read what has changed since the last cycle."""
        nodes, claims = session.nodes, session.snapshot.device_claims
        if nodes is not self._nodes or claims is not self._claims:
            self._nodes, self._claims = nodes, claims
            self._read = self._read_nodes(session)
        self._ledger = session.ledger
        self._wanted, self._steps = {}, {}
        self.rows = [read.states if read is not None else None for read in self._by_row]
        for read in self._read.values():
            session.warnings.extend(read.warnings)

    @property
    def _by_row(self) -> Iterator[_CachedDevices | None]:
        return (self._read.get(name) for name in self._nodes.names)

    def _read_nodes(self, session: Session) -> dict[str, _CachedDevices]:
        """Return, by name, what nodes with devices report; an unchanged node keeps its state."""
        offers, found = _Offers(session), dict[str, _CachedDevices]()
        for row, node in enumerate(session.nodes.nodes):
            offers.row = row
            registered = self.backend.registered(node, offers.offered)
            if registered is None:
                continue
            known, present = self._read.get(node.name), self._claims.get(node.name, _NO_PODS)
            if known is None or known.registered != registered or known.claims is not present:
                known = self._read_node(node, registered, present)
            found[node.name] = known
        return found

    def forget(self) -> None:
        """Drop all states: the partitioning of devices has changed, and with it the allocations of pods."""
        self._read, self._nodes = {}, NodeTable(())

    def _read_node(self, node: Node, registered: Hashable, claims: Mapping[str, DeviceUser]) -> _CachedDevices:
        try:
            devices = self.backend.devices(registered)
        except ValueError as error:
            return _CachedDevices(registered, claims, None, (f"Node {node.name}: {error}; its devices are not used",))
        holdings, warnings = {}, []
        for uid, claim in sorted(claims.items()):
            try:
                holding = self._holding_of(claim, devices)
            except ValueError as error:
                warnings.append(f"Pod {claim.key}: {error}; its devices on node {node.name} are not counted as in use")
                continue
            if holding is not None:
                holdings[uid] = holding
        return _CachedDevices(registered, claims, NodeDevices(devices, holdings), tuple(warnings))

    def _holding_of(self, claim: DeviceUser, devices: Sequence[SharedDevice]) -> DeviceHolding | None:
        shares = self.backend.shares_of(claim, devices)
        if shares is None:
            return None
        backend = self.backend
        is_exclusive = isinstance(backend, VirtualGpu) and backend.is_exclusive(claim.labels)
        return DeviceHolding(shares, claim.job, is_exclusive, claim.leaving)

    # -- queries ------------------------------------------------------------------------------------------------

    def wanted(self, task_class: TaskClass) -> Wanted | None:
        """Return what pods of a class request of this back-end; None for nothing."""
        number = task_class.number
        if number not in self._wanted:
            self._wanted[number] = self.backend.wanted(task_class)
        return self._wanted[number]

    def pick(self, task_class: TaskClass, row: int, *, later: bool) -> DevicePick | None:
        """Return what a pod of the class would get on a node; None if it does not fit."""
        node, wanted = self.rows[row], self.wanted(task_class)
        if node is None or wanted is None:
            return None
        is_known, pick = node.known_pick(task_class, later=later)
        if not is_known:
            pick = self.backend.pick(node, wanted, later=later)
            node.keep_pick(task_class, pick, later=later)
        return pick

    def written(self, task: Task, now: float) -> dict[str, str]:
        """Return the annotations that the device plugin reads on a task being bound."""
        row = self._ledger.row_of(task)
        node = self.rows[row]
        if node is None or task.uid not in node.holdings:
            raise LedgerInconsistency(
                f"{task.key} is bound to node {self._nodes.names[row]} without the devices it asks for"
            )
        return self.backend.annotations(node.holdings[task.uid], self._nodes.names[row], node.devices, now)

    # -- updates ------------------------------------------------------------------------------------------------

    def follow_placement(self, event: Event) -> None:
        """Record that tasks were placed, or that their eviction was undone."""
        for task, name in zip(event.tasks, event.nodes, strict=True):
            row = self._nodes.index[name]
            node = self.rows[row]
            if node is not None and task.uid in node.holdings:
                self._step(task, row, node.with_leaving(task.uid, is_leaving=False))
            elif self.wanted(task.task_class) is not None:
                later = self._ledger.status_of(task) is not TaskStatus.ALLOCATED
                self._step(task, row, self._placed(task, row, later=later), later=later)

    def follow_removal(self, event: Event) -> None:
        """Record that tasks are evicted, or that their placement was undone."""
        for task, name in zip(event.tasks, event.nodes, strict=True):
            row = self._nodes.index[name]
            node = self.rows[row]
            if node is None or task.uid not in node.holdings:
                continue
            if self._ledger.status_of(task) is TaskStatus.RELEASING:
                self._step(task, row, node.with_leaving(task.uid, is_leaving=True))
            else:
                known = self._steps.get(task.uid)
                self._step(task, row, node.without(task.uid), later=known.later if known else False)

    def _step(self, task: Task, row: int, states: NodeDevices, *, later: bool = False) -> None:
        """Replace the state of a node. A step that undoes the last one of the task restores the previous state itself,
        so that the devices are the same again.
        """
        before, known = self.rows[row], self._steps.get(task.uid)
        if known is not None and known.after is before and known.later == later and known.before is not None:
            states = known.before
        self._steps[task.uid] = _DeviceStep(before, states, later)
        self.rows[row] = states

    def _placed(self, task: Task, row: int, *, later: bool) -> NodeDevices:
        node, wanted = self.rows[row], self.wanted(task.task_class)
        pick = self.pick(task.task_class, row, later=later)
        if pick is None or node is None or wanted is None:
            name = self._nodes.names[row]
            raise LedgerInconsistency(f"{task.key} was placed on node {name}, which has no devices left for it")
        return node.with_holding(task.uid, DeviceHolding(pick.containers, task.job, wanted.is_exclusive))

    # -- fingerprint --------------------------------------------------------------------------------------------

    def fingerprint(self) -> str:
        """Return everything that changes during a cycle."""
        holdings_by_row = (
            (row, sorted(node.holdings.items())) for row, node in enumerate(self.rows) if node is not None
        )
        return repr((self.backend.name, [entry for entry in holdings_by_row if entry[1]]))


class _Offers:
    """The resources of a node, in whole units. One object for all nodes: `row` selects the node."""

    def __init__(self, session: Session) -> None:
        ledger = session.ledger
        self._books, self._start = ledger.amounts, ledger.layout.allocatable
        self._axis = session.axis
        self._size = session.snapshot.size
        self.row = 0

    def offered(self, name: str) -> int:
        dimension = self._axis.find(name)
        if dimension is None or dimension >= self._size:
            return 0
        return int(self._books[self._start + dimension, self.row]) // 1000
