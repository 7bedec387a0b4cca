"""Allocation of claimed devices in one cycle.

There are two accounts: the current one, and that of the time when all releasing pods are gone. A task that is placed
now takes from both; a pipelined task takes from the later one. Releasing a placement gives back exactly what was taken
for it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from stromboli.core.model.devices.claims import (
    MAX_DEVICES,
    NO_CLAIMS,
    AssignedDevice,
    ClaimChoice,
    ClaimDemand,
    ClaimNeeds,
    ClaimOrder,
    DeviceAlternative,
    HeldClaim,
)
from stromboli.core.model.devices.device_search import NoSolution
from stromboli.core.model.devices.device_table import Count, DeviceTable, DeviceUse, Grant
from stromboli.core.model.devices.search_memory import (
    BoundedSearch,
    NodeAnswers,
    NodeKinds,
    SearchMemory,
    SearchPostponed,
)
from stromboli.core.model.nodes.table import Index, Mask, NodeTable
from stromboli.core.model.tasks.selectors import NodeTerm
from stromboli.core.model.tasks.task import Task
from stromboli.core.model.volumes.volume_table import reachable


@dataclass(slots=True)
class ClaimState:
    """The claimed devices of a snapshot."""

    table: DeviceTable = field(default_factory=DeviceTable)
    #: Allocated devices by claim.
    held: Mapping[str, HeldClaim] = field(default_factory=dict)
    #: By extended resource, the nodes where devices provide it.
    provided: Mapping[str, Collection[str]] = field(default_factory=dict)
    #: Results of earlier searches.
    memory: SearchMemory = field(default_factory=SearchMemory)


@dataclass(frozen=True, slots=True)
class DeviceAllocation:
    """Devices allocated to the claims of a task, in claim order; `later` ones are not taken yet."""

    grants: tuple[tuple[Grant, ...], ...]
    later: bool


@dataclass(slots=True)
class _SharedClaim:
    """State shared by the pods that use one claim."""

    grants: tuple[Grant, ...]
    reach: Mask
    #: Number of current users, and of all users.
    now: int = 0
    pods: int = 0


class ClaimAllocator:
    def __init__(self, nodes: NodeTable, state: ClaimState) -> None:
        self.nodes = nodes
        self.table = state.table
        self._held = state.held
        self._search = BoundedSearch(state.table, nodes, state.memory)
        self._provided_names = {resource: frozenset(names) for resource, names in state.provided.items()}
        self._provided = {
            resource: np.fromiter((name in names for name in nodes.names), np.bool_, len(nodes))
            for resource, names in state.provided.items()
        }
        #: Whether this cycle allocates devices.
        self.allocates = False
        self._of_task: dict[str, DeviceAllocation] = {}
        self._shared: dict[str, _SharedClaim] = {}
        self._answers: dict[tuple[ClaimNeeds, bool], NodeAnswers] = {}
        self._memory = state.memory
        self._first_answers: dict[tuple[ClaimNeeds, bool], NodeAnswers] = {}
        self._accounts: tuple[DeviceUse, DeviceUse] | None = None
        self._staying: dict[str, int] = {}
        self._version: Count = np.zeros(0, dtype=np.int64)

    def _open(self) -> tuple[DeviceUse, DeviceUse]:
        """Return the current account and the later one, built on first use."""
        if self._accounts is None:
            today = DeviceUse(self.table)
            for held in self._held.values():
                today.add(self.table.grants_of(held), 1)
            later = today.copy()
            for key, held in self._held.items():
                self._staying[key] = held.staying
                if held.users and not held.staying:
                    later.add(self.table.grants_of(held), -1)
            self._accounts = today, later
            self._version = np.zeros(len(self.nodes), dtype=np.int64)
            state = (self.table, self.nodes, self._provided_names, today.fingerprint(), later.fingerprint())
            self._first_answers = self._memory.answers_at(state)
        return self._accounts

    def _views(self, *, later: bool) -> Sequence[DeviceUse]:
        accounts = self._open()
        return accounts[1:] if later else accounts

    # -- feasible nodes -----------------------------------------------------------------------------------------

    def usable(self, needs: ClaimNeeds) -> Mask:
        """Return the nodes from which the allocated claims can be used."""
        mask = np.ones(len(self.nodes), dtype=np.bool_)
        for terms in needs.bound:
            mask &= reachable(self.nodes, terms)
        return mask

    def satisfiable(self, needs: ClaimNeeds, *, later: bool = False) -> Mask:
        """Return the nodes where every unallocated claim gets its devices, now or once releasing pods are gone."""
        mask = self._candidate_nodes(needs, later=later)
        doubtful = mask & ~self._surely(needs, later=later)
        if not doubtful.any():
            return mask
        answer = self._answer(needs, doubtful, later=later)
        return mask & (~doubtful | answer.fits)

    def _candidate_nodes(self, needs: ClaimNeeds, *, later: bool) -> Mask:
        """Return the nodes that have enough devices for every request by itself."""
        mask = np.ones(len(self.nodes), dtype=np.bool_)
        for demand in needs.waiting:
            shared = self._shared.get(demand.shared)
            if shared is not None:
                mask &= shared.reach & self._is_free_today(shared, later=later)
                continue
            for alternatives in demand.requests:
                enough = np.zeros(len(self.nodes), dtype=np.bool_)
                for alternative in alternatives:
                    enough |= self.free(alternative, later=later) >= self.least(alternative)
                mask &= enough | self.is_exempt(alternatives[0])
        return mask

    def is_exempt(self, alternative: DeviceAlternative) -> Mask | np.bool_:
        """Return the nodes on which the request does not apply, as devices do not provide its extended resource."""
        if not alternative.resource:
            return np.False_
        provided = self._provided.get(alternative.resource)
        return np.True_ if provided is None else ~provided

    def _resources_at(self, row: int) -> list[str]:
        return [resource for resource, mask in self._provided.items() if mask[row]]

    def _is_free_today(self, shared: _SharedClaim, *, later: bool) -> bool:
        """Report whether a claim that was allocated for later can be used now: only if its devices are free."""
        if later or shared.now:
            return True
        today = self._open()[0]
        return not any(today.users[grant.device] for grant in shared.grants if not grant.is_admin)

    def least(self, alternative: DeviceAlternative) -> int:
        """Return the minimum number of devices; one may serve several requests if it can be shared."""
        is_elastic = alternative.takes_all or bool(
            (self.table.suited[alternative.suit].mask & self.table.is_shared).any()
        )
        return 1 if is_elastic else alternative.count

    def present(self, alternative: DeviceAlternative) -> Count:
        """Count matching devices per node, allocated or not."""
        return self.table.ground(self.nodes).per_node(self._suited(alternative))

    def _suited(self, alternative: DeviceAlternative) -> Mask:
        suited = self.table.suited[alternative.suit]
        mask = suited.mask.copy()
        mask[list(suited.faults)] = True
        return mask

    def free(self, alternative: DeviceAlternative, *, later: bool = False) -> Count:
        """Count free matching devices per node."""
        mask = self._suited(alternative)
        if not alternative.is_admin:
            for account in self._views(later=later):
                mask &= (account.users == 0) | self.table.is_shared
        return self.table.ground(self.nodes).per_node(mask)

    def _surely(self, needs: ClaimNeeds, *, later: bool) -> Mask:
        """Return the nodes where every request is satisfied even if all others are served first, without a search."""
        waiting = [demand for demand in needs.waiting if demand.shared not in self._shared]
        first = [alternatives[0] for demand in waiting for alternatives in demand.requests]
        is_long = any(
            sum(alternatives[0].count for alternatives in demand.requests) > MAX_DEVICES for demand in waiting
        )
        if is_long or any(demand.constraints for demand in waiting) or not all(map(self._is_simple, first)):
            return np.zeros(len(self.nodes), dtype=np.bool_)
        total, mask = sum(alternative.count for alternative in first), np.ones(len(self.nodes), dtype=np.bool_)
        for alternative in first:
            mask &= (self.free(alternative, later=later) >= total) | self.is_exempt(alternative)
        return mask

    def _is_simple(self, alternative: DeviceAlternative) -> bool:
        """Report whether counting devices is sufficient."""
        suited = self.table.suited[alternative.suit]
        limited = bool((suited.mask & self.table.is_limited).any())
        return not (alternative.takes_all or alternative.capacity or suited.faults or limited)

    def _answer(self, needs: ClaimNeeds, rows: Mask, *, later: bool) -> NodeAnswers:
        """Search on these nodes, unless a remembered result is still valid."""
        self._open()
        key = needs, later
        answer = self._answers.get(key)
        if answer is None:
            known = self._first_answers.get(key)
            answer = self._answers[key] = NodeAnswers.of_nodes(len(self.nodes)) if known is None else known.copy()
        stale = rows & (answer.at != self._version)
        if stale.any():
            postponed = self._search_on(needs, np.flatnonzero(stale).tolist(), answer, later=later)
            answer.at[stale] = self._version[stale]
            if not self._version.any():
                self._first_answers[key] = first = answer.copy()
                first.at[postponed] = -1
        return answer

    def _search_on(self, needs: ClaimNeeds, rows: Sequence[int], answer: NodeAnswers, *, later: bool) -> list[int]:
        """Enter the results for these nodes; return those whose search was postponed."""
        postponed: list[int] = []
        for row in rows:
            answer.problems.pop(row, None)
            try:
                answer.fits[row] = self._find(needs, row, later=later) is not None
            except NoSolution as stuck:
                answer.fits[row], answer.problems[row] = False, str(stuck)
                if isinstance(stuck, SearchPostponed):
                    postponed.append(row)
        return postponed

    def problems(self, needs: ClaimNeeds, rows: Mask) -> dict[str, Index]:
        """Return what kept the search on some of these nodes from completing, with the nodes; '' if it completed."""
        found = self._answer(needs, rows, later=False).problems
        stuck: dict[str, list[int]] = {}
        for row, problem in found.items():
            if rows[row]:
                stuck.setdefault(problem, []).append(row)
        complete = rows.copy()
        complete[[row for each in stuck.values() for row in each]] = False
        grouped = {problem: np.array(sorted(each), dtype=np.int64) for problem, each in stuck.items()}
        return {"": np.flatnonzero(complete), **grouped}

    def _find(self, needs: ClaimNeeds, row: int, *, later: bool) -> tuple[tuple[Grant, ...], ...] | None:
        """Find devices for every unallocated claim of a pod on a node, without allocating them; None if impossible."""
        for demand in needs.waiting:
            shared = self._shared.get(demand.shared)
            if shared is not None and not (shared.reach[row] and self._is_free_today(shared, later=later)):
                return None
        kinds = self._kinds_of(needs, self._resources_at(row))
        found = iter(self._search.find(kinds, row, self._views(later=later)) or ())
        grants = [
            self._shared[demand.shared].grants if demand.shared in self._shared else next(found, None)
            for demand in needs.waiting
        ]
        whole = tuple(each for each in grants if each is not None)
        return whole if len(whole) == len(grants) else None

    def _kinds_of(self, needs: ClaimNeeds, resources: Sequence[str]) -> NodeKinds:
        """Return the kinds of nodes for the claims that have no devices yet."""
        fresh = tuple(demand.where(resources) for demand in needs.waiting if demand.shared not in self._shared)
        return self._search.kinds(fresh)

    # -- allocation ---------------------------------------------------------------------------------------------

    def take(self, task: Task, row: int, *, later: bool = False) -> bool:
        """Allocate devices to the claims of a task on a node; on failure allocate nothing and return False."""
        needs = task.task_class.claims or NO_CLAIMS
        if not self.allocates or not needs.waiting:
            return True
        try:
            found = self._find(needs, row, later=later)
        except NoSolution:
            return False
        if found is None:
            return False
        self.restore(task, row, DeviceAllocation(found, later))
        return True

    def kept(self, task: Task) -> DeviceAllocation | None:
        """Return the devices of a task, for `restore`."""
        return self._of_task.get(task.uid)

    def restore(self, task: Task, row: int, allocation: DeviceAllocation | None) -> None:
        """Restore a placement with exactly the devices it had."""
        if allocation is None:
            return
        self._of_task[task.uid] = allocation
        for demand, grants in zip(self._waiting(task), allocation.grants, strict=True):
            self._enter(demand, grants, row, 1, later=allocation.later)

    def give_back(self, task: Task, row: int) -> None:
        """Release the devices of a task."""
        allocation = self._of_task.pop(task.uid, None)
        if allocation is None:
            return
        for demand, grants in zip(self._waiting(task), allocation.grants, strict=True):
            self._enter(demand, grants, row, -1, later=allocation.later)

    @staticmethod
    def _waiting(task: Task) -> tuple[ClaimDemand, ...]:
        return (task.task_class.claims or NO_CLAIMS).waiting

    def _enter(self, demand: ClaimDemand, grants: tuple[Grant, ...], row: int, sign: int, *, later: bool) -> None:
        """Pods that share a claim take its devices once; the last of them releases them."""
        today, to_be = self._open()
        takes_today, takes_later = not later, True
        if demand.shared:
            shared = self._shared.get(demand.shared)
            if shared is None:
                shared = self._shared[demand.shared] = _SharedClaim(grants, self._reach(grants, row))
            before = shared.now, shared.pods
            shared.now += sign * (not later)
            shared.pods += sign
            takes_today = (before[0] == 0) != (shared.now == 0)
            takes_later = (before[1] == 0) != (shared.pods == 0)
            if not shared.pods:
                del self._shared[demand.shared]
        if takes_today:
            today.add(grants, sign)
        if takes_later:
            to_be.add(grants, sign)
        self._note(grants, wide=bool(demand.shared))

    def _reach(self, grants: Sequence[Grant], row: int) -> Mask:
        if self._is_local(grants):
            mask = np.zeros(len(self.nodes), dtype=np.bool_)
            mask[row] = True
            return mask
        return self.table.ground(self.nodes).reach([grant.device for grant in grants])

    def _is_local(self, grants: Sequence[Grant]) -> bool:
        """Report whether the devices can be used from one node only."""
        return any(self.table.devices[grant.device].node or self.table.devices[grant.device].binds_to_node
                   for grant in grants)  # fmt: skip

    def _note(self, grants: Sequence[Grant], *, wide: bool) -> None:
        """Invalidate cached results of the nodes that reach these devices."""
        ground = self.table.ground(self.nodes)
        if wide or any(ground.is_wide[grant.device] for grant in grants):
            self._version += 1
            return
        for grant in grants:
            self._version[ground.row_of[grant.device]] += 1

    # -- releasing tasks ----------------------------------------------------------------------------------------

    def leave(self, task: Task, sign: int = 1) -> None:
        """Mark a task as releasing, or, with -1, undo that: the last user of a claim frees its devices."""
        for key in task.resource_claims:
            held = self._held.get(key)
            if held is None:
                continue
            later = self._open()[1]
            before = self._staying[key]
            self._staying[key] = before - sign
            grants = self.table.grants_of(held)
            if (before > 0) != (before - sign > 0):
                later.add(grants, -sign)
                self._note(grants, wide=True)

    # -- results ------------------------------------------------------------------------------------------------

    def order_of(self, task: Task) -> ClaimOrder | None:
        """Return what must be written before the task is bound."""
        if not self.allocates:
            return None
        allocation, keys = self._of_task.get(task.uid), task.resource_claims
        granted = list(zip(self._waiting(task), allocation.grants if allocation else (), strict=True))
        unused = {demand.name for demand, grants in granted if demand.is_extended and not grants}
        choices = tuple(self._choice(demand.name, grants) for demand, grants in granted if demand.name not in unused)
        claims = tuple((name, key) for name, key in zip(task.claim_names, keys, strict=True) if name not in unused)
        return ClaimOrder(claims, choices)

    def _named_portions(self, grant: Grant) -> tuple[tuple[str, int], ...] | None:
        device = self.table.devices[grant.device]
        if not device.is_shared or grant.is_admin:
            return None
        return tuple((device.capacity[name].name or name, amount) for name, amount in grant.portions)

    def _choice(self, name: str, grants: Sequence[Grant]) -> ClaimChoice:
        devices = self.table.devices
        allocation = tuple(
            AssignedDevice(
                grant.request,
                devices[grant.device].name,
                grant.is_admin,
                self._named_portions(grant),
            )
            for grant in grants
        )
        terms = [terms for grant in grants if (terms := devices[grant.device].terms) is not None]
        is_local = self._is_local(grants) or any(len(each) != 1 for each in terms)
        merged = None if is_local or not terms else (_merged([each[0] for each in terms]),)
        return ClaimChoice(name, allocation, is_local, merged)

    # -- fingerprint --------------------------------------------------------------------------------------------

    def fingerprint(self) -> bytes:
        """Return all mutable state, to prove that an undo restored it."""
        today, later = self._open()
        allocation = sorted((uid, repr(allocation)) for uid, allocation in self._of_task.items())
        shared = sorted((key, one.now, one.pods) for key, one in self._shared.items())
        state = repr((allocation, shared, sorted(self._staying.items()))).encode()
        return b"|".join((today.fingerprint(), later.fingerprint(), state))


def _merged(terms: Sequence[NodeTerm]) -> NodeTerm:
    """Return a term that matches where all of these match."""
    labels = dict.fromkeys(requirement for term in terms for requirement in term.labels)
    fields = dict.fromkeys(requirement for term in terms for requirement in term.fields)
    return NodeTerm(tuple(labels), tuple(fields))
