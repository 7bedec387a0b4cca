"""Search for the smallest change that lets a waiting job start, by trials.

A candidate is first tried in its largest size: most do not help, which costs one trial. If it helps, the smallest
sufficient size is found by doubling and bisection. When no single change is enough, changes are accumulated until the
job starts, and unnecessary ones are removed again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from stromboli.planner.candidates import RemedyCandidate, candidates_for
from stromboli.planner.changes import ObjectChange, combine
from stromboli.planner.job_context import JobContext
from stromboli.planner.trials import Trials

MAX_TRIALS = 60
_MAX_ALTERNATIVES = 3


@dataclass(slots=True)
class Remedies:
    """The result of the search. Every change is verified to reach the goal."""

    smallest: ObjectChange | None = None
    #: Larger changes of other kinds.
    alternatives: list[ObjectChange] = field(default_factory=list)
    trials: int = 0
    #: Whether the search ended at its limit.
    stopped_early: bool = False
    #: Whether the job starts without a change, once terminating pods are gone.
    starts_by_itself: bool = False


class _OutOfTrials(Exception):
    """The limit of trials is reached."""


def find_remedies(context: JobContext, trials: Trials, max_trials: int = MAX_TRIALS) -> Remedies:
    """Search with at most this number of trials, and within the work limit of the trials."""
    search = _Search(context, trials, min(max_trials, trials.affordable))
    try:
        search.run()
    except _OutOfTrials:
        search.remedies.stopped_early = True
    smallest = search.found[0] if search.found else None
    return replace(search.remedies, smallest=smallest, alternatives=search.found[1:], trials=search.used)


class _Search:
    def __init__(self, context: JobContext, trials: Trials, max_trials: int) -> None:
        self._job_context = context
        self._trials = trials
        self._left = max_trials
        self.used = 0
        self.remedies = Remedies()
        self.found: list[ObjectChange] = []

    def run(self) -> None:
        if self._job_context.job.pipelined_count and self._works(()):
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

    def _works(self, changes: Sequence[ObjectChange]) -> bool:
        if not self._left:
            raise _OutOfTrials
        self._left -= 1
        self.used += 1
        return self._trials.reaches(self._job_context.goal, combine(changes) if changes else None)

    def _try(self, candidate: RemedyCandidate) -> None:
        if self._works([candidate.make(candidate.sizes)]):
            self.found.append(candidate.make(candidate.sizes))
            self.found[-1] = candidate.make(self._smallest_size(candidate, ()))

    def _smallest_size(self, candidate: RemedyCandidate, others: Sequence[ObjectChange]) -> int:
        """Return the smallest size that works together with the others, or is known to when the trials run out."""
        fails, works = 0, candidate.sizes
        while works - fails > 1 and self._left:
            size = min(fails * 2, (fails + works) // 2) or 1
            if self._works([*others, candidate.make(size)]):
                works = size
            else:
                fails = size
        self.remedies.stopped_early |= works - fails > 1
        return works

    # -- combined changes ---------------------------------------------------------------------------------------

    def _combine(self, candidates: Sequence[RemedyCandidate]) -> None:
        pile = self._accumulate(candidates)
        if not pile:
            return
        self._keep(pile)
        for candidate in reversed(pile[:-1]):
            fewer = [other for other in pile if other is not candidate]
            if self._works([other.make(other.sizes) for other in fewer]):
                pile = fewer
                self._keep(pile)
        changes = [candidate.make(candidate.sizes) for candidate in pile]
        for place, candidate in enumerate(pile):
            others = [change for other, change in enumerate(changes) if other != place]
            changes[place] = candidate.make(self._smallest_size(candidate, others))
            self.found = [combine(changes)]

    def _accumulate(self, candidates: Sequence[RemedyCandidate]) -> list[RemedyCandidate]:
        """Accumulate candidates in their largest size until the goal is reached; empty if it is not."""
        pile: list[RemedyCandidate] = []
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

    def _keep(self, pile: Sequence[RemedyCandidate]) -> None:
        self.found = [combine([candidate.make(candidate.sizes) for candidate in pile])]
