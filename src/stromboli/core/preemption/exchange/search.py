"""The search for a cheaper set of victims: branch and bound over placements, then over victims.

Placements come first, because they state what each node lacks. A node that lacks something needs a minimum of victims
of its own, and the sum of these minimums ends most branches.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate

from stromboli.core.preemption.units import EvictionUnit

#: Amounts of the resources that the preemptors request.
Amounts = Sequence[int]
IMPOSSIBLE = 1 << 30


@dataclass(frozen=True, slots=True, eq=False)
class VictimOption:
    """A unit of eviction, and what it releases by place of the node."""

    unit: EvictionUnit
    job: str
    is_whole: bool
    size: int
    releases: dict[int, Amounts]
    #: Equal options are interchangeable.
    kind: tuple[object, ...]


@dataclass(frozen=True, slots=True)
class VictimProblem:
    """Preemptors, nodes and victims. Nodes are places in `free`."""

    #: What each preemptor requests, and the places on which it may be; equal ones follow each other.
    requests: Sequence[Amounts]
    allowed: Sequence[Sequence[int]]
    free: Sequence[Amounts]
    #: By place, what each pod releases that may be evicted alone or with its gang.
    members: Sequence[Sequence[Amounts]]
    options: Sequence[VictimOption]
    #: By job, how many members may be evicted alone.
    spare: dict[str, int]


@dataclass(frozen=True, slots=True)
class CheaperPlan:
    options: list[VictimOption]
    #: The place of each preemptor.
    places: list[int]

    @property
    def number(self) -> int:
        return sum(option.size for option in self.options)


@dataclass(slots=True)
class Steps:
    """The work that is left to spend."""

    left: int

    def spend(self) -> bool:
        self.left -= 1
        return self.left >= 0


@dataclass(slots=True)
class VictimSearch:
    """Yields plans with fewer victims than `limit`, which the caller lowers."""

    problem: VictimProblem
    limit: int
    steps: Steps
    _left: list[list[int]] = field(init=False)
    _bounds: list[int] = field(init=False)
    _places: list[int] = field(default_factory=list)
    _at: list[list[VictimOption]] = field(init=False)
    #: By place and resource, what the largest 0, 1, 2, … members there release.
    _largest: list[list[list[int]]] = field(init=False)

    def __post_init__(self) -> None:
        problem, number = self.problem, len(self.problem.free)
        self._left = [list(amounts) for amounts in problem.free]
        self._at = [[option for option in problem.options if place in option.releases] for place in range(number)]
        self._largest = [_prefix_sums(members, len(problem.requests[0])) for members in problem.members]
        self._bounds = [0] * number

    def _bound(self, place: int) -> int:
        """Return how many victims the node needs at least."""
        needed = 0
        for dimension, amount in enumerate(self._left[place]):
            if amount < 0:
                prefix = self._largest[place][dimension]
                while needed < len(prefix) and prefix[needed] < -amount:
                    needed += 1
                if needed == len(prefix):
                    return IMPOSSIBLE
        return needed

    def plans(self) -> Iterator[CheaperPlan]:
        yield from self._place(0, 0, 0)

    def _place(self, done: int, first: int, bound: int) -> Iterator[CheaperPlan]:
        """Place the preemptors after the first `done`; one that equals the one before, on no earlier node than that."""
        requests = self.problem.requests
        if done == len(requests):
            yield from self._cover([], 0)
            return
        request = requests[done]
        is_same = done + 1 < len(requests) and requests[done + 1] == request
        for position, place in enumerate(self.problem.allowed[done][first:], first):
            if not self.steps.spend():
                return
            before, left = self._bounds[place], self._left[place]
            for dimension, amount in enumerate(request):
                left[dimension] -= amount
            self._bounds[place] = now = self._bound(place)
            if bound - before + now < self.limit:
                self._places.append(place)
                yield from self._place(done + 1, position if is_same else 0, bound - before + now)
                self._places.pop()
            self._bounds[place] = before
            for dimension, amount in enumerate(request):
                left[dimension] += amount

    def _cover(
        self, chosen: list[VictimOption], number: int, excluded: frozenset[VictimOption] = frozenset()
    ) -> Iterator[CheaperPlan]:
        """Add victims until no node lacks anything."""
        short = [place for place in set(self._places) if min(self._left[place]) < 0]
        if not short:
            yield CheaperPlan(list(chosen), list(self._places))
            return
        bounds = {place: self._bound(place) for place in short}
        if number + sum(bounds.values()) >= self.limit:
            return
        place = max(short, key=lambda each: (bounds[each], each))
        tried = set[tuple[object, ...]]()
        for option in self._at[place]:
            if option.kind in tried or option in excluded or number + option.size >= self.limit:
                continue
            if not self._is_possible(option, chosen, place) or not self.steps.spend():
                continue
            tried.add(option.kind)
            self._release(option, 1)
            yield from self._cover([*chosen, option], number + option.size, excluded)
            self._release(option, -1)
            excluded |= {option}

    def _is_possible(self, option: VictimOption, chosen: Sequence[VictimOption], place: int) -> bool:
        """Report whether the option releases what the node lacks, and may be evicted with the others of its job."""
        of_job = [each for each in chosen if each.job == option.job]
        if of_job and (option.is_whole or option in of_job or any(each.is_whole for each in of_job)):
            return False
        if not option.is_whole and len(of_job) >= self.problem.spare[option.job]:
            return False
        released = option.releases[place]
        return any(left < 0 and released[d] for d, left in enumerate(self._left[place]))

    def _release(self, option: VictimOption, sign: int) -> None:
        for place, amounts in option.releases.items():
            left = self._left[place]
            for dimension, amount in enumerate(amounts):
                left[dimension] += sign * amount


def _prefix_sums(members: Sequence[Amounts], resources: int) -> list[list[int]]:
    columns = [sorted((amounts[d] for amounts in members), reverse=True) for d in range(resources)]
    return [list(accumulate(column, initial=0)) for column in columns]
