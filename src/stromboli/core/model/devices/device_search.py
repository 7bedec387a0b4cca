"""Exact search for devices on one node.

Requests are served in order, each with its first feasible alternative, devices in the order of their pools; on failure
the search backtracks. If all claims of a pod can be satisfied together, a solution is found, unless the search exceeds
its limit of steps.
"""

from __future__ import annotations

from collections.abc import Sequence

from stromboli.core.model.devices.claims import MAX_DEVICES, ClaimDemand, Constraint, DeviceAlternative
from stromboli.core.model.devices.device_table import DeviceTable, DeviceUse, Grant
from stromboli.core.model.nodes.table import NodeTable

MAX_STEPS = 20_000


class NoSolution(Exception):
    """The search cannot be completed on this node; the message describes why."""


class SearchLimitExceeded(NoSolution):
    """The search exceeded its limit of steps."""


class _ConstraintState:
    """Values that one constraint has seen so far."""

    def __init__(self, constraint: Constraint) -> None:
        self.constraint = constraint
        self.values: list[object] = []

    def filter(self, value: object) -> bool:
        if value is None:
            return False
        if self.constraint.is_distinct:
            return value not in self.values
        return not self.values or value == self.values[0]


class Search:
    """Search for one pod on one node, given the devices in use by others."""

    def __init__(
        self, table: DeviceTable, nodes: NodeTable, row: int, accounts: Sequence[DeviceUse], most: int = MAX_STEPS
    ) -> None:
        """A device is free if it is free in all accounts: the current one and the later one."""
        self._table = table
        self._ground = table.ground(nodes)
        self._row = row
        self._accounts = accounts
        #: Steps that are left.
        self.steps = most
        self._demands: Sequence[ClaimDemand] = ()
        self._bonds: list[list[_ConstraintState]] = []
        self._found: list[list[Grant]] = []
        #: The devices chosen for this pod so far: the number of uses of each, and the limited amounts.
        self._own: dict[int, int] = {}
        self._spent: list[dict[int, int]] = [{} for _ in accounts]
        self._candidates: dict[DeviceAlternative, list[int]] = {}

    def find(self, demands: Sequence[ClaimDemand]) -> tuple[tuple[Grant, ...], ...] | None:
        """Return the devices of each claim; None if there is no solution. Raises NoSolution."""
        self._demands = demands
        self._bonds = [[_ConstraintState(constraint) for constraint in demand.constraints] for demand in demands]
        self._found = [[] for _ in demands]
        if not self._serve(0, 0):
            return None
        return tuple(tuple(grants) for grants in self._found)

    def _serve(self, claim: int, request: int) -> bool:
        if claim == len(self._demands):
            return True
        requests = self._demands[claim].requests
        if request == len(requests):
            return self._serve(claim + 1, 0)
        return any(self._fulfil(claim, request, alternative) for alternative in requests[request])

    def _fulfil(self, claim: int, request: int, alternative: DeviceAlternative) -> bool:
        candidates = self._candidates_of(alternative)
        if alternative.takes_all:
            return self._fulfil_all(claim, request, alternative, candidates)
        if len(self._found[claim]) + alternative.count > MAX_DEVICES:
            return False
        return self._choose(claim, request, alternative, candidates, 0, alternative.count)

    def _candidates_of(self, alternative: DeviceAlternative) -> list[int]:
        known = self._candidates.get(alternative)
        if known is None:
            here = self._ground.at(self._row)
            suited = self._table.suited[alternative.suit]
            chosen = [d for d in here.tolist() if suited.mask[d] or d in suited.faults]
            known = self._candidates[alternative] = chosen
        return known

    def _fulfil_all(self, claim: int, request: int, alternative: DeviceAlternative, candidates: Sequence[int]) -> bool:
        """Grant all existing devices, every one of them free; impossible for an incomplete pool."""
        if pool := self._ground.unknown_at(self._row):
            raise NoSolution(f"pool {pool} is incomplete")
        if not candidates or len(self._found[claim]) + len(candidates) > MAX_DEVICES:
            return False
        taken: list[Grant] = []
        for device in candidates:
            grant = self._grant(claim, alternative, device)
            if grant is None:
                break
            self._take(claim, alternative, grant)
            taken.append(grant)
        if len(taken) == len(candidates) and self._serve(claim, request + 1):
            return True
        for grant in reversed(taken):
            self._give_back(claim, alternative, grant)
        return False

    def _choose(
        self,
        claim: int,
        request: int,
        alternative: DeviceAlternative,
        candidates: Sequence[int],
        start: int,
        wanted: int,
    ) -> bool:
        if not wanted:
            return self._serve(claim, request + 1)
        for place in range(start, len(candidates)):
            device = candidates[place]
            grant = self._grant(claim, alternative, device)
            if grant is None:
                continue
            self._take(claim, alternative, grant)
            further = place + (not self._table.is_shared[device] or alternative.is_admin)
            enough = wanted == 1 or self._are_enough(claim, alternative, candidates[further:], wanted - 1)
            if enough and self._choose(claim, request, alternative, candidates, further, wanted - 1):
                return True
            self._give_back(claim, alternative, grant)
        return False

    def _are_enough(self, claim: int, alternative: DeviceAlternative, candidates: Sequence[int], wanted: int) -> bool:
        """Report whether enough devices can remain among these; one shareable device may serve all."""
        for device in candidates:
            if (
                device in self._table.suited[alternative.suit].faults
                or self._grant(claim, alternative, device) is not None
            ):
                wanted -= 1
                if not wanted or self._table.is_shared[device]:
                    return True
        return False

    # -- one device ---------------------------------------------------------------------------------------------

    def _grant(self, claim: int, alternative: DeviceAlternative, device: int) -> Grant | None:
        """Return the device for the request, if it is available."""
        self.steps -= 1
        if self.steps < 0:
            raise SearchLimitExceeded("the device search exceeded its limit of steps")
        if not alternative.is_admin and not self._is_free(device):
            return None
        fault = self._table.suited[alternative.suit].faults.get(device)
        if fault is not None:
            raise NoSolution(fault)
        portions = self._table.portions(alternative, device)
        if portions is None or not self._fits_together(claim, alternative, device):
            return None
        grant = Grant(device, alternative.name, alternative.is_admin, () if alternative.is_admin else portions)
        return grant if alternative.is_admin or self._is_enough_left(grant) else None

    def _is_free(self, device: int) -> bool:
        if self._table.is_shared[device]:
            return True
        return not self._own.get(device) and not any(account.users[device] for account in self._accounts)

    def _fits_together(self, claim: int, alternative: DeviceAlternative, device: int) -> bool:
        attributes = self._table.devices[device].attributes
        return all(
            bond.filter(attributes.get(bond.constraint.attribute))
            for bond in self._bonds[claim]
            if bond.constraint.applies_to(alternative)
        )

    def _is_enough_left(self, grant: Grant) -> bool:
        if not self._table.is_limited[grant.device]:
            return True
        for account, spent in zip(self._accounts, self._spent, strict=True):
            needed = dict(self._table.capacities_of(grant))
            if not account.users[grant.device] and not self._own.get(grant.device):
                needed.update(self._table.counters_of(grant.device))
            if any(account.left[number] - spent.get(number, 0) < amount for number, amount in needed.items()):
                return False
        return True

    def _take(self, claim: int, alternative: DeviceAlternative, grant: Grant) -> None:
        self._enter(grant, 1)
        self._found[claim].append(grant)
        for bond in self._bonds[claim]:
            if bond.constraint.applies_to(alternative):
                bond.values.append(self._table.devices[grant.device].attributes.get(bond.constraint.attribute))

    def _give_back(self, claim: int, alternative: DeviceAlternative, grant: Grant) -> None:
        self._enter(grant, -1)
        self._found[claim].pop()
        for bond in self._bonds[claim]:
            if bond.constraint.applies_to(alternative):
                bond.values.pop()

    def _enter(self, grant: Grant, sign: int) -> None:
        if grant.is_admin:
            return
        device, table = grant.device, self._table
        own = self._own.get(device, 0)
        self._own[device] = own + sign
        if not table.is_limited[device]:
            return
        for account, spent in zip(self._accounts, self._spent, strict=True):
            if not account.users[device] and own == (0 if sign > 0 else 1):
                for number, amount in table.counters_of(device):
                    spent[number] = spent.get(number, 0) + sign * amount
            for number, amount in table.capacities_of(grant):
                spent[number] = spent.get(number, 0) + sign * amount
