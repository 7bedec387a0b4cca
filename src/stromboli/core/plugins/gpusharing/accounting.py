"""Fractional GPU allocations on all nodes: as pods report them at the start of a cycle, then updated by its operations.

The state of a node is immutable and replaced as a whole, so it is reused across cycles while node and pods are
unchanged.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stromboli.core.config.plugin import Event
from stromboli.core.model.devices.gpu_fractions import (
    GPU,
    WHOLE,
    Received,
    charge_of,
    device_memory,
    groups_in,
    known_memory,
    new_groups,
    portion_of,
)
from stromboli.core.model.devices.shared_devices import (
    Backend,
    DeviceUser,
    DeviceUsers,
    SharedDeviceRequest,
    SharedDeviceRequests,
)
from stromboli.core.model.ledger.entry import LedgerInconsistency
from stromboli.core.model.nodes.table import Mask, NodeTable
from stromboli.core.model.resources.resources import PODS
from stromboli.core.model.tasks.task import Task, TaskStatus
from stromboli.core.model.tasks.task_class import TaskClass
from stromboli.core.plugins.gpusharing.node_shares import (
    PACK,
    GpuHeadroom,
    GpuHolding,
    GpuPick,
    NodeShares,
    Stay,
    need_of,
    pick,
)

if TYPE_CHECKING:
    from stromboli.core.session.session import Session

Slack = NDArray[np.int64]
_NO_PODS: Mapping[str, DeviceUser] = {}


class _CachedShares(NamedTuple):
    """The state of a node as last read, and the inputs it was read from."""

    memory: int
    largest: int
    claims: Mapping[str, DeviceUser]
    state: NodeShares


class _ShareStep(NamedTuple):
    """The change that one task made on its node."""

    before: NodeShares
    after: NodeShares


class SharedGpuState:
    def __init__(self, policy: str, namespace: str) -> None:
        self._policy = policy
        self.packs = policy == PACK
        self._prefix = f"{namespace}/"
        self.rows: list[NodeShares] = []
        #: The unusable part of each node's GPUs that its amounts do not show, now and later.
        self.slack: Slack = np.zeros(0, dtype=np.int64)
        self.later_slack: Slack = np.zeros(0, dtype=np.int64)
        #: Memory of each node's GPUs in MiB; 0 if unknown.
        self.memories: Slack = np.zeros(0, dtype=np.int64)
        self.dimension = -1
        self._read: dict[str, _CachedShares] = {}
        self._nodes = NodeTable(())
        self._claims: DeviceUsers = {}
        self._largest = 0
        self._warnings: tuple[str, ...] = ()
        self._requests: dict[int, SharedDeviceRequest | None] = {}
        #: By uid, the last step of a pod in this cycle.
        self._steps: dict[str, _ShareStep] = {}

    # -- opening ------------------------------------------------------------------------------------------------

    def open(self, session: Session) -> None:
        """Read what has changed since the last cycle."""
        nodes, claims = session.nodes, session.snapshot.device_claims
        self._ledger = session.ledger
        found = session.axis.find(GPU)
        self.dimension = found if found is not None and found < session.snapshot.size else -1
        if nodes is not self._nodes or claims is not self._claims:
            self._read_nodes(nodes, claims)
        self._requests, self._steps = {}, {}
        self.rows = [self._read[name].state for name in nodes.names]
        self.memories = np.fromiter((state.memory for state in self.rows), np.int64, len(nodes))
        self.slack = np.fromiter((state.slack for state in self.rows), np.int64, len(nodes))
        self.later_slack = np.fromiter((state.later_slack for state in self.rows), np.int64, len(nodes))
        session.warnings.extend(self._warnings)

    def _read_nodes(self, nodes: NodeTable, claims: DeviceUsers) -> None:
        """Read the nodes; an unchanged node keeps its state."""
        memories, warnings = nodes.remember("gpusharing memory", _memories)
        largest, before, read = max(memories, default=0), self._read, dict[str, _CachedShares]()
        empty: dict[int, NodeShares] = {}
        for name, memory in zip(nodes.names, memories, strict=True):
            present, known = claims.get(name, _NO_PODS), before.get(name)
            if known is None or known.claims is not present or (known.memory, known.largest) != (memory, largest):
                state = empty.setdefault(memory, NodeShares(memory))
                known = _CachedShares(
                    memory, largest, present, self._state_of(memory, largest, present) if present else state
                )
            read[name] = known
        self._nodes, self._claims, self._read = nodes, claims, read
        self._largest, self._warnings = largest, warnings

    def _state_of(self, memory: int, largest: int, claims: Mapping[str, DeviceUser]) -> NodeShares:
        node, holdings, reservations = NodeShares(memory), dict[str, GpuHolding](), dict[str, bool]()
        for uid, claim in sorted(claims.items()):
            groups = groups_in(claim.annotations)
            if not groups:
                continue
            if claim.key.startswith(self._prefix):
                reservations.update(dict.fromkeys(groups, claim.leaving))
            else:
                stay = Stay.LEAVING if claim.leaving else Stay.PRESENT
                holdings[uid] = _holding(groups, request_in(claim.requests), node, largest, stay)
        return NodeShares(memory, holdings, reservations)

    # -- queries ------------------------------------------------------------------------------------------------

    def request_of(self, task_class: TaskClass) -> SharedDeviceRequest | None:
        """Return the GPU shares that pods of a class request; None for none."""
        if task_class.devices is None:
            return None
        number = task_class.number
        if number not in self._requests:
            self._requests[number] = request_in(task_class.devices)
        return self._requests[number]

    def wants_whole_gpus(self, task_class: TaskClass) -> int:
        """Return how many whole GPUs pods of a class request, in thousandths."""
        return 0 if self.request_of(task_class) else dict(task_class.request).get(self.dimension, 0)

    def state_of(self, row: int) -> NodeShares:
        return self.rows[row]

    def left_on(self, row: int, *, later: bool) -> list[int]:
        """Return what is left of each shared GPU of a node, in thousandths."""
        node = self.rows[row]
        used, groups = node.used[later], node.later_groups if later else node.now_groups
        return [(node.size - used.get(group, 0)) * WHOLE // node.size for group in groups]

    def slack_on(self, row: int, *, later: bool) -> int:
        node = self.rows[row]
        return node.later_slack if later else node.slack

    def portion_on(self, request: SharedDeviceRequest, row: int) -> int:
        """Return the share of a GPU that a pod needs on a node, in thousandths; more than one where it is unknown."""
        node = self.rows[row]
        need = need_of(request, node)
        return 2 * WHOLE if need is None else -(-need * WHOLE // node.size)

    def pick(
        self, request: SharedDeviceRequest, row: int, *, later: bool, own: int = 0, pods: int = 0
    ) -> GpuPick | None:
        """Return what a pod would get on a node; None if it does not fit. `own` is what the amounts of the node include
        for pods that are not in this state yet, and `pods` is their number.
        """
        return pick(self.rows[row], request, self._headroom(row, later, own, pods), self._policy, later=later)

    def _headroom(self, row: int, later: bool, own: int, pods: int) -> GpuHeadroom:
        """Return the whole GPUs without shares, and the pod slots for the pods that would reserve them."""
        node, is_promised = self.rows[row], self._ledger.holds_nominated
        if self.dimension < 0:
            return GpuHeadroom(0, 0)
        gpus = self._left(self.dimension, row, later=later) + own - (node.later_slack if later else node.slack)
        places = self._left(PODS, row, later=later) + pods - 1 - node.unreserved[later]
        if is_promised and not later:
            then = self._headroom(row, True, own, pods)
            return GpuHeadroom(min(gpus // WHOLE, then.gpus), min(places, then.places), is_promised)
        return GpuHeadroom(gpus // WHOLE, places, is_promised)

    def shared_rows(self) -> list[int]:
        """The nodes on which GPUs are shared, or will be."""
        return [row for row, node in enumerate(self.rows) if node.holdings or node.reservations]

    def takes_unshared(self, request: SharedDeviceRequest, *, later: bool) -> Mask:
        """Return the nodes that could take a pod if no GPU were shared there: one result for all of them."""
        number = request.number
        able: Mask = self.memories >= request.memory if request.memory else np.ones(len(self.rows), dtype=np.bool_)
        if self.dimension < 0:
            return np.zeros(len(self.rows), dtype=np.bool_)
        times = (True,) if later else (False, True) if self._ledger.holds_nominated else (False,)
        rows = self._ledger.all_rows
        for then in times:
            left = rows.future_idle if then else rows.idle
            able = able & (left(self.dimension) >= number * WHOLE) & (left(PODS) - 1 >= number)
        return able

    def _left(self, dimension: int, row: int, *, later: bool) -> int:
        state, layout = self._ledger.amounts, self._ledger.layout
        left = state.item(dimension, row)
        if later:
            left += state.item(layout.releasing + dimension, row) - state.item(layout.pipelined + dimension, row)
        return int(left)

    def received(self, task: Task) -> Received:
        """Return the allocation of a task that is being bound."""
        row, request = self._ledger.row_of(task), self.request_of(task.task_class)
        node = self.rows[row]
        holding = node.holdings.get(task.uid)
        if holding is None or request is None:
            raise LedgerInconsistency(
                f"{task.key} is bound to node {self._nodes.names[row]} without its share of a GPU"
            )
        return Received(holding.groups, request.portion or portion_of(request.memory, node.memory))

    # -- updates ------------------------------------------------------------------------------------------------

    def follow_placement(self, event: Event) -> None:
        """Record that tasks were placed, or that their eviction was undone."""
        rows = [self._nodes.index[name] for name in event.nodes]
        entered = Counter[int]()
        for task, row in zip(event.tasks, rows, strict=True):
            request = self.request_of(task.task_class)
            if task.uid in self.rows[row].holdings:
                self._replace(task, row, self.rows[row].with_stay(task.uid, Stay.PRESENT))
            elif request is not None:
                self._enter(task, request, row, rows.count(row) - entered[row])
                entered[row] += 1

    def follow_removal(self, event: Event) -> None:
        """Record that tasks are evicted, or that their placement was undone."""
        for task, name in zip(event.tasks, event.nodes, strict=True):
            row = self._nodes.index[name]
            node = self.rows[row]
            if task.uid not in node.holdings:
                continue
            if self._ledger.status_of(task) is TaskStatus.RELEASING:
                self._replace(task, row, node.with_stay(task.uid, Stay.LEAVING))
            else:
                before = self._before_last_step(task, row)
                is_undone = before is not None and task.uid not in before.holdings
                self._replace(task, row, before if before is not None and is_undone else node.without(task.uid))

    def _enter(self, task: Task, request: SharedDeviceRequest, row: int, pods: int) -> None:
        """Record a placement. A task that returns to an unchanged node gets its previous allocation back."""
        later = self._ledger.status_of(task) is not TaskStatus.ALLOCATED
        before = self._before_last_step(task, row) if later else None
        held = before.holdings.get(task.uid) if before is not None else None
        if before is not None and held is not None and held.stay is Stay.WAITING:
            self._replace(task, row, before)
            return
        node, charge = self.rows[row], dict(task.task_class.request).get(self.dimension, 0)
        found, need = self.pick(request, row, later=later, own=charge * pods, pods=pods), need_of(request, node)
        if found is None or need is None:
            name = self._nodes.names[row]
            raise LedgerInconsistency(f"{task.key} was placed on node {name}, which has no GPU left to share with it")
        groups = (*found.joined, *new_groups(task.uid, found.fresh, node.now_groups | node.later_groups))
        stay = Stay.WAITING if later else Stay.PRESENT
        self._replace(task, row, node.with_holding(task.uid, GpuHolding(groups, need, charge, stay)))

    def _before_last_step(self, task: Task, row: int) -> NodeShares | None:
        """Return the state of the node before the last change of a task, if no other task has changed it since."""
        known = self._steps.get(task.uid)
        return known.before if known is not None and known.after is self.rows[row] else None

    def _replace(self, task: Task, row: int, state: NodeShares) -> None:
        self._steps[task.uid] = _ShareStep(self.rows[row], state)
        self.rows[row] = state
        self.slack[row], self.later_slack[row] = state.slack, state.later_slack

    # -- fingerprint --------------------------------------------------------------------------------------------

    def fingerprint(self) -> str:
        """Return everything that changes during a cycle."""
        held = [(row, sorted(node.holdings.items(), key=repr)) for row, node in enumerate(self.rows) if node.holdings]
        return repr((held, self.slack.tolist(), self.later_slack.tolist()))


def request_in(requests: SharedDeviceRequests | None) -> SharedDeviceRequest | None:
    """Return the GPU shares among the devices that a pod requests."""
    every = (request for container in (requests.containers if requests else ()) for request in container)
    return next((request for request in every if request.backend is Backend.GPU_FRACTIONS), None)


def _holding(
    groups: tuple[str, ...], request: SharedDeviceRequest | None, node: NodeShares, largest: int, stay: Stay
) -> GpuHolding:
    """Return the allocation of a pod; a pod that does not report its share counts as holding all of it."""
    need = need_of(request, node) if request is not None else None
    charge = charge_of(request.portion, request.memory, request.number, largest) if request is not None else 0
    return GpuHolding(groups, node.size if need is None else need, charge, stay)


def _memories(nodes: NodeTable) -> tuple[list[int], tuple[str, ...]]:
    """Return the GPU memory of each node, and the nodes that report an invalid value."""
    warnings = []
    for node in nodes.nodes:
        try:
            device_memory(node.labels)
        except ValueError as error:
            warnings.append(f"Node {node.name}: {error}; its GPUs are not shared by memory")
    return [known_memory(node.labels) for node in nodes.nodes], tuple(warnings)
