"""Results of device searches, remembered across nodes and cycles.

A search reads little of a node: which of its devices match each request, which are free, and how their attributes and
limited amounts relate. Nodes that agree in this are equal, so one search serves all of them: its solution is stored by
the position of the devices and holds until devices or their users change. Failures are remembered as well, which makes
an unsatisfiable claim cheap however many nodes and cycles it is tried in.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field

import numpy as np

from stromboli.core.model.devices.claims import ClaimDemand, ClaimNeeds
from stromboli.core.model.devices.device_search import MAX_STEPS, NoSolution, Search, SearchLimitExceeded
from stromboli.core.model.devices.device_table import DeviceTable, DeviceUse, Grant
from stromboli.core.model.nodes.table import Index, Mask, NodeTable

#: Steps of all searches of a cycle, and of those for one kind of pod when these are used up: simple searches, which
#: take a few steps per device, go on beside any number of hard ones.
MAX_STEPS_PER_CYCLE = 100_000
MAX_FURTHER_STEPS = 1_000
_MAX_REMEMBERED = 20_000


class SearchPostponed(NoSolution):
    """The searches of the cycle have reached their limit; a later cycle continues."""

    def __init__(self) -> None:
        super().__init__("the device searches of this cycle reached their limit of steps; the next cycle continues")


Demands = tuple[ClaimDemand, ...]
Solution = tuple[tuple[Grant, ...], ...]


@dataclass(slots=True)
class NodeAnswers:
    """Results by node, with the versions of the nodes they are valid for (-1 for none), and what stopped a search."""

    fits: Mask
    at: Index
    problems: dict[int, str] = field(default_factory=dict)

    @classmethod
    def of_nodes(cls, number: int) -> NodeAnswers:
        return cls(np.zeros(number, dtype=np.bool_), np.full(number, -1, dtype=np.int64))

    def copy(self) -> NodeAnswers:
        return NodeAnswers(self.fits.copy(), self.at.copy(), dict(self.problems))


class SearchMemory:
    """Outcomes by demands, kind of node and devices in use: a solution by positions, None, or an error message."""

    def __init__(self) -> None:
        self._outcomes: dict[Hashable, Solution | str | None] = {}
        self._numbers: dict[Hashable, int] = {}
        #: Numbers are not reused, so that those of a table stay valid when the memory is cleared.
        self._count = 0
        #: Results for all nodes at the start of a cycle, and the state for which they are valid.
        self._answers: dict[tuple[ClaimNeeds, bool], NodeAnswers] = {}
        self._state: Sequence[object] = ()

    def answers_at(self, state: Sequence[object]) -> dict[tuple[ClaimNeeds, bool], NodeAnswers]:
        """Return the results for all nodes in this state, to be read and completed."""
        if len(state) != len(self._state) or any(one != other for one, other in zip(state, self._state, strict=True)):
            self._state, self._answers = state, {}
        return self._answers

    def number(self, content: Hashable) -> int:
        """Return a number that identifies this content."""
        known = self._numbers.get(content)
        if known is None:
            self._count += 1
            known = self._numbers[content] = self._count
        return known

    def __contains__(self, key: Hashable) -> bool:
        return key in self._outcomes

    def __getitem__(self, key: Hashable) -> Solution | str | None:
        return self._outcomes[key]

    def __setitem__(self, key: Hashable, outcome: Solution | str | None) -> None:
        self._outcomes[key] = outcome

    def trim(self) -> None:
        """Forget everything if it is too much. Not during a cycle, which relies on what it has found."""
        if len(self._outcomes) + len(self._numbers) > _MAX_REMEMBERED:
            self._outcomes.clear()
            self._numbers.clear()


@dataclass(slots=True)
class NodeKind:
    """What the search for some demands reads of a node."""

    number: int
    #: The devices that match a request, in order, and the limited amounts that they consume.
    devices: Index
    limits: Index


class NodeKinds:
    """The kinds of nodes for some demands: valid as long as the table of devices."""

    def __init__(self, table: DeviceTable, nodes: NodeTable, demands: Demands, memory: SearchMemory) -> None:
        self.nodes, self.demands, self.memory = nodes, demands, memory
        self._table, self._ground = table, table.ground(nodes)
        self._kinds: dict[int, NodeKind] = {}
        self._demanded = memory.number(demands)
        requests = [request for demand in demands for request in demand.requests]
        self._alternatives = tuple(dict.fromkeys(each for request in requests for each in request))
        self._attributes = tuple(dict.fromkeys(each.attribute for demand in demands for each in demand.constraints))
        self._takes_all = any(each.takes_all for each in self._alternatives)
        self._states_capacity = any(each.capacity for each in self._alternatives)
        suited = [table.suited[each.suit] for each in self._alternatives]
        self._faults = [each.faults for each in suited if each.faults]
        #: By device and alternative, whether the device matches.
        self._matches: Mask = np.zeros((len(table.devices), len(suited)), dtype=np.bool_)
        for place, each in enumerate(suited):
            self._matches[:, place] = each.mask
            self._matches[list(each.faults), place] = True

    def at(self, row: int) -> NodeKind:
        known = self._kinds.get(row)
        if known is None:
            known = self._kinds[row] = self._read(row)
        return known

    def _read(self, row: int) -> NodeKind:
        here = self._ground.at(row)
        devices = here[self._matches[here].any(axis=1)]
        chosen = devices.tolist()
        limits = {device: self._limits_of(device) for device in chosen if self._table.is_limited[device]}
        numbers = dict.fromkeys(number for each in limits.values() for _, number, _ in each)
        places = {number: place for place, number in enumerate(numbers)}
        facts = (
            self._matches[devices].tobytes(),
            self._table.is_shared[devices].tobytes(),
            tuple(tuple((what, places[n], amount) for what, n, amount in limits.get(d, ())) for d in chosen),
            tuple(self._portions_of(device) for device in chosen),
            tuple(tuple(faults.get(device) for device in chosen) for faults in self._faults),
            tuple(self._pattern(attribute, chosen) for attribute in self._attributes),
            self._ground.unknown_at(row) if self._takes_all else "",
        )
        number = self.memory.number((self._demanded, facts))
        return NodeKind(number, devices, np.array(list(places), dtype=np.int64))

    def _portions_of(self, device: int) -> tuple[object, ...]:
        """Return for each alternative that states capacities what the device would give of them."""
        if not self._states_capacity and not self._table.is_shared[device]:
            return ()
        return tuple(self._table.portions(alternative, device) for alternative in self._alternatives)

    def _limits_of(self, device: int) -> list[tuple[str, int, int]]:
        """Return the limited amounts of a device: capacities by name, counters with the consumed amount."""
        table = self._table
        counters = [("", number, amount) for number, amount in table.counters_of(device)]
        capacity = table.devices[device].capacity if table.is_shared[device] else ()
        return counters + [(name, table.capacity_number[device, name], 0) for name in capacity]

    def _pattern(self, attribute: str, devices: Sequence[int]) -> tuple[int, ...]:
        """Return which devices have equal values of an attribute: the place of the first equal one, -1 without."""
        values = [self._table.devices[device].attributes.get(attribute) for device in devices]
        return tuple(-1 if value is None else values.index(value) for value in values)


class BoundedSearch:
    """The device searches of one cycle."""

    def __init__(self, table: DeviceTable, nodes: NodeTable, memory: SearchMemory) -> None:
        self._table, self._nodes, self._memory = table, nodes, memory
        memory.trim()
        self._left = MAX_STEPS_PER_CYCLE
        #: Further steps, by demands.
        self._further: dict[int, int] = {}
        self._undecided: set[Hashable] = set()

    def kinds(self, demands: Demands) -> NodeKinds:
        known = self._table.kinds.get(demands)
        if not isinstance(known, NodeKinds) or known.nodes is not self._nodes or known.memory is not self._memory:
            known = self._table.kinds[demands] = NodeKinds(self._table, self._nodes, demands, self._memory)
        return known

    def find(self, kinds: NodeKinds, row: int, accounts: Sequence[DeviceUse]) -> Solution | None:
        """Return devices for the demands on a node; None if there are none. Raises NoSolution."""
        kind = kinds.at(row)
        used = [part for a in accounts for part in (a.users[kind.devices].tobytes(), a.left[kind.limits].tobytes())]
        key = (kind.number, *used)
        if key in self._undecided:
            raise SearchPostponed
        if key not in self._memory:
            self._memory[key] = self._search(key, kinds, row, accounts)
        outcome = self._memory[key]
        if isinstance(outcome, str):
            raise NoSolution(outcome)
        return None if outcome is None else _moved(outcome, kind.devices.tolist())

    def _search(
        self, key: Hashable, kinds: NodeKinds, row: int, accounts: Sequence[DeviceUse]
    ) -> Solution | str | None:
        """Search within the steps that are left. Raises NoSolution if they are too few for an answer."""
        further = self._further.get(id(kinds), MAX_FURTHER_STEPS)
        allowed = min(MAX_STEPS, max(self._left, further))
        search = Search(self._table, self._nodes, row, accounts, allowed)
        try:
            found = search.find(kinds.demands)
        except SearchLimitExceeded as error:
            if allowed < MAX_STEPS:
                self._undecided.add(key)
                raise SearchPostponed from None
            return str(error)
        except NoSolution as error:
            return str(error)
        finally:
            used = allowed - max(search.steps, 0)
            self._left -= used
            if self._left < 0:
                self._further[id(kinds)] = further - used
        if found is None:
            return None
        places = {device: place for place, device in enumerate(kinds.at(row).devices.tolist())}
        return _moved(found, places)


def _moved(solution: Solution, devices: Sequence[int] | dict[int, int]) -> Solution:
    """Return a solution with each device replaced by the one at its place."""
    return tuple(
        tuple(Grant(devices[each.device], each.request, each.is_admin, each.portions) for each in grants)
        for grants in solution
    )
