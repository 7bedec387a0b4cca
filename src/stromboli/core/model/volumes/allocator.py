"""Allocation of volumes in one cycle.

A volume goes to one claim, and storage is not allocated beyond its capacity, within a pod, within a gang and between
gangs. Releasing a placement gives back exactly what was taken for it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from stromboli.core.model.nodes.table import Index, Mask, NodeTable
from stromboli.core.model.tasks.task import Task
from stromboli.core.model.volumes.volume_table import Count, Locations, VolumeTable, reachable
from stromboli.core.model.volumes.volume_usage import VolumeUse
from stromboli.core.model.volumes.volumes import NO_NEEDS, VolumeChoice, VolumeNeeds, VolumeOrder, WaitingClaim


@dataclass(slots=True)
class VolumeState:
    """The volumes of a snapshot."""

    table: VolumeTable = field(default_factory=VolumeTable)
    use: VolumeUse = field(default_factory=VolumeUse)
    #: Usage once all releasing pods are gone.
    later_use: VolumeUse = field(default_factory=VolumeUse)


@dataclass(frozen=True, slots=True)
class VolumePolicy:
    """The rules that a cycle enforces, and the time limit for a volume to become ready, in seconds."""

    binds: bool = False
    limits: bool = False
    timeout: float = 600.0


@dataclass(frozen=True, slots=True)
class VolumeAllocation:
    """The allocation of a claim: a volume, or storage capacity, or neither if capacity is not tracked; -1 for none."""

    claim: WaitingClaim
    volume: int = -1
    capacity: int = -1


@dataclass(slots=True)
class _SharedVolumes:
    """State shared by the pods that use one claim on one node."""

    row: int
    taken: VolumeAllocation
    pods: int = 1


class VolumeAllocator:
    def __init__(self, nodes: NodeTable, state: VolumeState) -> None:
        self.nodes = nodes
        self.table = state.table
        self.use, self._later_use = state.use, state.later_use
        self.policy = VolumePolicy()
        #: The allocated volumes, and the remainder of each storage capacity.
        self._taken = np.zeros(len(self.table.volumes), dtype=np.bool_)
        self._left: Count = self.table.left.copy()
        self._of_task: dict[str, tuple[VolumeAllocation, ...]] = {}
        self._shared: dict[str, _SharedVolumes] = {}

    # -- feasible nodes -----------------------------------------------------------------------------------------

    def satisfiable(self, needs: VolumeNeeds, *, later: bool = False) -> Mask:
        """Return the nodes where every unbound claim of a pod gets a volume, now or once releasing pods are gone."""
        waiting = needs.waiting
        mask = np.full(len(self.nodes), not self.is_in_use(needs, later=later))
        for claim in waiting:
            mask &= self._is_satisfied(claim, 1, claim.size)
        if len(waiting) > 1 and mask.any():
            doubtful = mask & ~self._surely(waiting)
            for row in np.flatnonzero(doubtful).tolist():
                mask[row] = self._choose(needs, row) is not None
        return mask

    def _surely(self, waiting: Sequence[WaitingClaim]) -> Mask:
        """Return the nodes where each claim gets a volume even if the others are served first."""
        size = sum(claim.size for claim in waiting)
        mask = np.ones(len(self.nodes), dtype=np.bool_)
        for claim in waiting:
            mask &= self._is_satisfied(claim, len(waiting), size)
        return mask

    def _is_satisfied(self, claim: WaitingClaim, volumes: int, size: int) -> Mask:
        """Return the nodes with enough volumes, or where claims of `size` in total can be provisioned."""
        if claim.shared in self._shared:
            return self._only(self._shared[claim.shared].row)
        return (self.free(claim) >= volumes) | (self.provisionable(claim) & self.has_capacity(claim, size))

    def free(self, claim: WaitingClaim) -> Count:
        """Count free matching volumes per node."""
        suited = self.table.suited(claim)
        left = suited[~self._taken[suited]]
        return self._volumes().per_node(left) if len(left) else np.zeros(len(self.nodes), dtype=np.int64)

    def provisionable(self, claim: WaitingClaim) -> Mask:
        """Return the nodes where a volume could be provisioned for the claim, given enough storage."""
        if not claim.is_made or claim.promised:
            return np.zeros(len(self.nodes), dtype=np.bool_)
        if claim.node:
            return self._only(self.nodes.index.get(claim.node, -1))
        return reachable(self.nodes, claim.topologies)

    def has_capacity(self, claim: WaitingClaim, size: int) -> Mask:
        """Return the nodes with enough storage, as far as it is tracked. A volume that is being provisioned has its
        storage already.
        """
        if not claim.checks_capacity or claim.node:
            return np.ones(len(self.nodes), dtype=np.bool_)
        capacities = self.table.sufficient(claim, self._left, size)
        return self._capacities().per_node(capacities) > 0

    def is_in_use(self, needs: VolumeNeeds, *, later: bool = False) -> bool:
        """Report whether another pod has a claim that only one pod may use."""
        users = (self._later_use if later else self.use).users
        return any(users.get(claim) for claim in needs.exclusive)

    def within_limits(self, needs: VolumeNeeds, *, later: bool = False) -> Mask:
        """Return the nodes that can attach the additional volumes of the pod; all nodes if it adds none."""
        mask, use = np.ones(len(self.nodes), dtype=np.bool_), self._later_use if later else self.use
        for driver in {attachment.driver for attachment in needs.attachments}:
            more = use.more(needs, driver)
            mask &= (more == 0) | (use.count(driver) + more <= self.table.limit(driver, self.nodes))
        return mask

    def _only(self, row: int) -> Mask:
        mask = np.zeros(len(self.nodes), dtype=np.bool_)
        if row >= 0:
            mask[row] = True
        return mask

    def _volumes(self) -> Locations:
        return self.table.places(self.nodes)[0]

    def _capacities(self) -> Locations:
        return self.table.places(self.nodes)[1]

    # -- choosing -----------------------------------------------------------------------------------------------

    def _choose(self, needs: VolumeNeeds, row: int) -> tuple[VolumeAllocation, ...] | None:
        """Choose volumes for every unbound claim of a pod on a node, without allocating them; None if impossible."""
        chosen: list[VolumeAllocation] = []
        for claim in needs.waiting:
            taken = self._choose_one(claim, row, chosen)
            if taken is None:
                return None
            chosen.append(taken)
        return tuple(chosen)

    def _choose_one(self, claim: WaitingClaim, row: int, before: Sequence[VolumeAllocation]) -> VolumeAllocation | None:
        shared = self._shared.get(claim.shared)
        if shared is not None:
            return shared.taken if shared.row == row else None
        suited = self.table.suited(claim)
        mine = self._volumes().at(row, suited[~self._taken[suited]]) if len(suited) else suited
        volume = next((place for place in mine.tolist() if all(place != other.volume for other in before)), -1)
        if volume >= 0:
            return VolumeAllocation(claim, volume)
        if not self.provisionable(claim)[row]:
            return None
        if not claim.checks_capacity or claim.node:
            return VolumeAllocation(claim)
        capacity = self._first_capacity(claim, row, before)
        return VolumeAllocation(claim, capacity=capacity) if capacity >= 0 else None

    def _first_capacity(self, claim: WaitingClaim, row: int, before: Iterable[VolumeAllocation]) -> int:
        left = self._left.copy()
        for taken in before:
            if taken.capacity >= 0:
                left[taken.capacity] -= taken.claim.size
        here: Index = self._capacities().at(row, self.table.sufficient(claim, left, claim.size))
        return int(here[0]) if len(here) else -1

    # -- allocation ---------------------------------------------------------------------------------------------

    def count(self, needs: VolumeNeeds, row: int, sign: int) -> None:
        """Count the volumes of a pod that is placed on a node, or leaves it."""
        self.use.add(needs, row, sign)
        self._later_use.add(needs, row, sign)

    def take(self, task: Task, row: int, *, later: bool = False) -> bool:
        """Allocate the volumes of a task on a node, now or later; on failure allocate nothing and return False."""
        needs = task.task_class.volumes or NO_NEEDS
        if self.policy.limits and needs.attachments and not self.within_limits(needs, later=later)[row]:
            return False
        if self.policy.binds:
            if self.is_in_use(needs, later=later):
                return False
            chosen = self._choose(needs, row)
            if chosen is None:
                return False
            self._give(task, row, chosen)
        self.count(needs, row, 1)
        return True

    def give_back(self, task: Task, row: int) -> None:
        """Release the volumes of a task."""
        needs = task.task_class.volumes or NO_NEEDS
        self.count(needs, row, -1)
        for taken in self._of_task.pop(task.uid, ()):
            shared = self._shared.get(taken.claim.shared)
            if shared is not None and shared.pods > 1:
                shared.pods -= 1
                continue
            self._shared.pop(taken.claim.shared, None)
            self._enter(taken, is_allocated=False)

    def kept(self, task: Task) -> tuple[VolumeAllocation, ...]:
        """Return the volumes of a task, for `restore`."""
        return self._of_task.get(task.uid, ())

    def restore(self, task: Task, row: int, kept: tuple[VolumeAllocation, ...]) -> None:
        """Restore a placement with exactly the volumes it had."""
        needs = task.task_class.volumes or NO_NEEDS
        self.count(needs, row, 1)
        self._give(task, row, kept)

    def _give(self, task: Task, row: int, chosen: tuple[VolumeAllocation, ...]) -> None:
        if not chosen:
            return
        self._of_task[task.uid] = chosen
        for taken in chosen:
            shared = self._shared.get(taken.claim.shared)
            if shared is not None:
                shared.pods += 1
                continue
            if taken.claim.shared:
                self._shared[taken.claim.shared] = _SharedVolumes(row, taken)
            self._enter(taken, is_allocated=True)

    def _enter(self, taken: VolumeAllocation, *, is_allocated: bool) -> None:
        if taken.volume >= 0:
            self._taken[taken.volume] = is_allocated
        if taken.capacity >= 0:
            self._left[taken.capacity] += -taken.claim.size if is_allocated else taken.claim.size

    def order_of(self, task: Task) -> VolumeOrder | None:
        """Return what must be ready before the task is bound."""
        taken = self._of_task.get(task.uid)
        if not taken:
            return None
        volumes = self.table.volumes
        choices = (
            VolumeChoice(name, volumes[each.volume].name if each.volume >= 0 else "")
            for name, each in zip(task.claims, taken, strict=True)
        )
        return VolumeOrder(tuple(choices), self.policy.timeout)

    # -- fingerprint --------------------------------------------------------------------------------------------

    def fingerprint(self) -> bytes:
        """Return all mutable state, to prove that an undo restored it."""
        is_allocated = sorted((uid, [(t.volume, t.capacity) for t in taken]) for uid, taken in self._of_task.items())
        shared = sorted((name, one.row, one.pods) for name, one in self._shared.items())
        uses = self.use.named(self.nodes), self._later_use.named(self.nodes)
        state = repr((is_allocated, shared, uses)).encode()
        return b"|".join((self._taken.tobytes(), self._left.tobytes(), state))
