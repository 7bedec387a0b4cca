"""Which devices go to which request: an exact search on one node.

Requests are served in order, each with the first way that can be had, devices in the order of their pools; what turns
out to be wrong is taken back and the next is tried. If there is a way to satisfy all claims of a pod it is found,
unless the search takes more steps than anybody gets.
"""

from __future__ import annotations

from collections.abc import Sequence

from stromboli.core.model.devices.claims import MAX_DEVICES, ClaimDemand, Constraint, Wish
from stromboli.core.model.devices.device_table import DeviceTable, Grant
from stromboli.core.model.devices.device_usage import DeviceUse
from stromboli.core.model.nodes.table import NodeTable

MAX_STEPS = 20_000


class NoSolution(Exception):
    """The search cannot go on at this node; carries why."""


class SearchLimitExceeded(NoSolution):
    """The search took too long."""


class _ConstraintState:
    """What one constraint has seen so far."""

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
    """The search for one pod at one node, over devices as they are used by others."""

    def __init__(
        self, table: DeviceTable, nodes: NodeTable, row: int, accounts: Sequence[DeviceUse], most: int = MAX_STEPS
    ) -> None:
        """A device is free if it is so by all accounts: today's, and those of a later time."""
        self._table = table
        self._ground = table.ground(nodes)
        self._row = row
        self._accounts = accounts
        self._steps = most
        self._demands: Sequence[ClaimDemand] = ()
        self._bonds: list[list[_ConstraintState]] = []
        self._found: list[list[Grant]] = []
        #: What this pod takes itself: how often each device, and how much of what is limited.
        self._own: dict[int, int] = {}
        self._spent: list[dict[int, int]] = [{} for _ in accounts]
        self._candidates: dict[Wish, list[int]] = {}

    def find(self, demands: Sequence[ClaimDemand]) -> tuple[tuple[Grant, ...], ...] | None:
        """By claim, the devices it gets; None when there is no way. Raises Stuck."""
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
        return any(self._fulfil(claim, request, wish) for wish in requests[request])

    def _fulfil(self, claim: int, request: int, wish: Wish) -> bool:
        candidates = self._candidates_of(wish)
        if wish.takes_all:
            return self._fulfil_all(claim, request, wish, candidates)
        if len(self._found[claim]) + wish.count > MAX_DEVICES:
            return False
        return self._choose(claim, request, wish, candidates, 0, wish.count)

    def _candidates_of(self, wish: Wish) -> list[int]:
        known = self._candidates.get(wish)
        if known is None:
            here = self._ground.at(self._row)
            suited = self._table.suited[wish.suit]
            chosen = [d for d in here.tolist() if suited.mask[d] or d in suited.faults]
            known = self._candidates[wish] = chosen
        return known

    def _fulfil_all(self, claim: int, request: int, wish: Wish, candidates: Sequence[int]) -> bool:
        """All devices there are, every one of them free; of a pool of which not all is known nobody can say that."""
        if pool := self._ground.unknown_at(self._row):
            raise NoSolution(f"not all slices of pool {pool} are there")
        if not candidates or len(self._found[claim]) + len(candidates) > MAX_DEVICES:
            return False
        taken: list[Grant] = []
        for device in candidates:
            grant = self._grant(claim, wish, device)
            if grant is None:
                break
            self._take(claim, wish, grant)
            taken.append(grant)
        if len(taken) == len(candidates) and self._serve(claim, request + 1):
            return True
        for grant in reversed(taken):
            self._give_back(claim, wish, grant)
        return False

    def _choose(self, claim: int, request: int, wish: Wish, candidates: Sequence[int], start: int, wanted: int) -> bool:
        if not wanted:
            return self._serve(claim, request + 1)
        for place in range(start, len(candidates)):
            device = candidates[place]
            grant = self._grant(claim, wish, device)
            if grant is None:
                continue
            self._take(claim, wish, grant)
            further = place + (not self._table.is_shared[device] or wish.is_admin)
            enough = wanted == 1 or self._are_enough(claim, wish, candidates[further:], wanted - 1)
            if enough and self._choose(claim, request, wish, candidates, further, wanted - 1):
                return True
            self._give_back(claim, wish, grant)
        return False

    def _are_enough(self, claim: int, wish: Wish, candidates: Sequence[int], wanted: int) -> bool:
        """Whether so many more could be found among these at all; one that several may have may be enough for all."""
        for device in candidates:
            if device in self._table.suited[wish.suit].faults or self._grant(claim, wish, device) is not None:
                wanted -= 1
                if not wanted or self._table.is_shared[device]:
                    return True
        return False

    # -- one device ---------------------------------------------------------------------------------------------

    def _grant(self, claim: int, wish: Wish, device: int) -> Grant | None:
        """The device for the request, if it can be had as things stand."""
        self._steps -= 1
        if self._steps < 0:
            raise SearchLimitExceeded("the search for devices took too many steps")
        if not wish.is_admin and not self._is_free(device):
            return None
        fault = self._table.suited[wish.suit].faults.get(device)
        if fault is not None:
            raise NoSolution(fault)
        portions = self._table.portions(wish, device)
        if portions is None or not self._fits_together(claim, wish, device):
            return None
        grant = Grant(device, wish.name, wish.is_admin, () if wish.is_admin else portions)
        return grant if wish.is_admin or self._is_enough_left(grant) else None

    def _is_free(self, device: int) -> bool:
        if self._table.is_shared[device]:
            return True
        return not self._own.get(device) and not any(account.users[device] for account in self._accounts)

    def _fits_together(self, claim: int, wish: Wish, device: int) -> bool:
        attributes = self._table.devices[device].attributes
        return all(
            bond.filter(attributes.get(bond.constraint.attribute))
            for bond in self._bonds[claim]
            if bond.constraint.applies_to(wish)
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

    def _take(self, claim: int, wish: Wish, grant: Grant) -> None:
        self._enter(grant, 1)
        self._found[claim].append(grant)
        for bond in self._bonds[claim]:
            if bond.constraint.applies_to(wish):
                bond.values.append(self._table.devices[grant.device].attributes.get(bond.constraint.attribute))

    def _give_back(self, claim: int, wish: Wish, grant: Grant) -> None:
        self._enter(grant, -1)
        self._found[claim].pop()
        for bond in self._bonds[claim]:
            if bond.constraint.applies_to(wish):
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
