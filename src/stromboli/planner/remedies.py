"""The smallest change that lets a waiting job start, found by trying.

A candidate is first tried in its largest size: most are no help at all, and that costs one trial. If it helps,
the smallest size that still does is searched by doubling and then by halving. When no single change is enough,
changes are piled up until the job starts, and those that turn out to be needless are taken away again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from stromboli.planner.candidates import Candidate, candidates_for
from stromboli.planner.changes import Change, together
from stromboli.planner.job_context import JobContext
from stromboli.planner.trials import Trials

MAX_TRIALS = 60
_MAX_ALTERNATIVES = 3


@dataclass(slots=True)
class Remedies:
    """What was found. Every change in here was tried and reaches the goal."""

    smallest: Change | None = None
    #: Of other kinds, and larger.
    alternatives: list[Change] = field(default_factory=list)
    trials: int = 0
    #: Whether there was more to try than could be afforded.
    stopped_early: bool = False
    #: Whether the job starts by itself, once what is being released is gone.
    starts_by_itself: bool = False


class _OutOfTrials(Exception):
    """No more trials can be afforded."""


def find_remedies(situation: JobContext, trials: Trials, max_trials: int = MAX_TRIALS) -> Remedies:
    """Search within the given number of trials, and within what the trials can afford."""
    search = _Search(situation, trials, min(max_trials, trials.affordable))
    try:
        search.run()
    except _OutOfTrials:
        search.remedies.stopped_early = True
    found = search.found
    return replace(
        search.remedies, smallest=found[0] if found else None, alternatives=found[1:], trials=search.used
    )  # fmt: skip


class _Search:
    def __init__(self, situation: JobContext, trials: Trials, max_trials: int) -> None:
        self._job_context = situation
        self._trials = trials
        self._left = max_trials
        self.used = 0
        self.remedies = Remedies()
        self.found: list[Change] = []

    def run(self) -> None:
        if self._job_context.holds_capacity and self._works(()):
            self.remedies.starts_by_itself = True
            return
        candidates = list(candidates_for(self._job_context))
        for candidate in candidates:
            if len(self.found) > _MAX_ALTERNATIVES:
                return
            if all(candidate.kind != change.kind for change in self.found):
                self._try(candidate)
        if not self.found:
            self._combine(candidates)

    def _works(self, changes: Sequence[Change]) -> bool:
        if not self._left:
            raise _OutOfTrials
        self._left -= 1
        self.used += 1
        return self._trials.reaches(self._job_context.goal, together(changes) if changes else None)

    def _try(self, candidate: Candidate) -> None:
        if self._works([candidate.make(candidate.sizes)]):
            self.found.append(candidate.make(candidate.sizes))
            size = self._smallest_size(candidate, ())
            self.found[-1] = candidate.make(size)

    def _smallest_size(self, candidate: Candidate, others: Sequence[Change]) -> int:
        """The smallest size that works together with the others; the largest is known to.

        When trials run out on the way, the smallest that has been seen to work is still better than the largest.
        """
        fails, works = 0, candidate.sizes
        while works - fails > 1 and self._left:
            size = min(fails * 2, (fails + works) // 2) or 1
            if self._works([*others, candidate.make(size)]):
                works = size
            else:
                fails = size
        self.remedies.stopped_early |= works - fails > 1
        return works

    # -- several changes at once --------------------------------------------------------------------------------

    def _combine(self, candidates: Sequence[Candidate]) -> None:
        pile = self._accumulate(candidates)
        if not pile:
            return
        self._keep(pile)
        for candidate in reversed(pile[:-1]):
            fewer = [other for other in pile if other is not candidate]
            if self._works([other.make(other.sizes) for other in fewer]):
                pile = fewer
                self._keep(pile)
        self._shrink(pile)

    def _accumulate(self, candidates: Sequence[Candidate]) -> list[Candidate]:
        """As many candidates as it takes, in their largest size, or none at all."""
        pile: list[Candidate] = []
        edited: set[tuple[object, ...]] = set()
        for candidate in candidates:
            places = {(edit.kind, edit.key, edit.path) for edit in candidate.make(candidate.sizes).edits}
            if places & edited:
                continue
            edited |= places
            pile.append(candidate)
            if len(pile) > 1 and self._works([other.make(other.sizes) for other in pile]):
                return pile
        return []

    def _shrink(self, pile: Sequence[Candidate]) -> None:
        changes = [candidate.make(candidate.sizes) for candidate in pile]
        for place, candidate in enumerate(pile):
            others = [change for other, change in enumerate(changes) if other != place]
            changes[place] = candidate.make(self._smallest_size(candidate, others))
            self.found = [together(changes)]

    def _keep(self, pile: Sequence[Candidate]) -> None:
        self.found = [together([candidate.make(candidate.sizes) for candidate in pile])]
