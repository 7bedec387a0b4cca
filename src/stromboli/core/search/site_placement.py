"""Placement of k copies of a class whose scores also depend on sites, exactly as one by one would.

The score of a node is its own score plus that of its site. Inside a site all nodes get the same addition, so the order
in which copies go to its nodes is that of their own scores (see batch placement), whatever happens elsewhere. Step by
step, the best site gets as many copies as one by one would place there before another site is better.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from stromboli.core.model.nodes.table import Vector
from stromboli.core.search.batch_placement import CopySequence, sequence_of_copies
from stromboli.core.search.class_view import GRID, REFUSED, ClassView
from stromboli.core.search.node_rules import SiteScores
from stromboli.core.search.ranking import Ranking

_GRID = float(GRID)
#: Scores of sites that share domains grow alike, but each is rounded to the grid, before and after.
_ROUNDING = 2


def place_by_site(view: ClassView, ranking: Ranking, wanted: int, by_site: SiteScores) -> list[int]:
    """Return node rows for up to `wanted` copies, in the order of placement. If more than one is wanted, the scores are
    updated as if the copies were placed.
    """
    if not len(by_site.sites):
        return []
    placement = SitePlacement(view, ranking.scores, wanted, by_site)
    if wanted == 1:
        site, _ = placement.best_site()
        return [placement.first_row(site)] if site >= 0 else []
    rows = placement.place_all()
    for sequence, taken in placement.used.values():
        ranking.replace(sequence.candidates, sequence.scores_after(taken))
    if view.lookahead is not None:
        view.lookahead.forget(rows)
    return rows


class SitePlacement:
    """The state of one batch."""

    def __init__(self, view: ClassView, scores: Vector, wanted: int, by_site: SiteScores) -> None:
        self._view = view
        self._scores = scores
        self._wanted = wanted
        self._by_site = by_site
        self._sites = sites = by_site.sites
        #: By site, the own score of the best node, that with the score of the site, and its row if it was looked up.
        ordered = scores if sites.is_in_order else scores[sites.order]
        self._best: Vector = np.maximum.reduceat(ordered, sites.starts)
        self._totals: Vector = self._best + np.rint(by_site.now() * GRID)
        self._first_rows: dict[int, int] = {}
        #: By site, the order of copies inside it, and how many were placed.
        self.used: dict[int, tuple[CopySequence, int]] = {}

    def place_all(self) -> list[int]:
        found: list[int] = []
        while len(found) < self._wanted:
            site, beyond = self.best_site()
            if site < 0:
                break
            found += self._place_in(site, beyond, self._wanted - len(found))
        return found

    def best_site(self) -> tuple[int, float]:
        """Return the site of the best node, -1 if every node is refused, and the highest total of all other sites."""
        totals = self._totals
        site = int(totals.argmax())
        total = totals.item(site)
        if total == REFUSED:
            return -1, REFUSED
        totals[site] = REFUSED
        beyond = totals.item(totals.argmax())
        totals[site] = total
        if beyond == total:
            site = min((totals == total).nonzero()[0].tolist(), key=self.first_row)
        return site, beyond

    def first_row(self, site: int) -> int:
        """Return the best node of a site, the lowest row among equals."""
        row = self._first_rows.get(site)
        if row is None:
            inside = self._sites.part_of(self._scores, site)
            row = self._first_rows[site] = int(self._sites.rows(site)[inside.argmax()])
        return row

    def _place_in(self, site: int, beyond: float, wanted: int) -> list[int]:
        """Place copies in the best site as long as it is the best."""
        sequence, before = self.used.get(site) or (self._sequence(site, wanted), 0)
        rows, scores = sequence.nodes[before:].tolist(), sequence.scores[before:].tolist()
        most = min(wanted, len(rows))
        copies = self._copies_until_beaten(site, beyond, rows[:most], scores[:most])
        self.used[site] = sequence, before + copies
        if copies < wanted:
            self._continue(site, copies, rows[copies:], scores[copies:])
        return rows[:copies]

    def _continue(self, site: int, copies: int, rows: Sequence[int], scores: Sequence[float]) -> None:
        """Count the copies, after which the best node of the site is the first of the rows."""
        self._by_site.add(site, copies)
        self._best[site] = scores[0] if scores else REFUSED
        self._first_rows[site] = rows[0] if rows else -1
        near = self._sites.nearby(site).sites
        if len(near) == 1:
            self._totals[site] = self._best.item(site) + round(self._by_site.of_one(site, 0) * _GRID)
        else:
            self._totals[near] = self._best[near] + np.rint(self._by_site.with_copies(site, 1)[:, 0] * GRID)

    def _sequence(self, site: int, wanted: int) -> CopySequence:
        inside = Ranking(self._sites.part_of(self._scores, site))
        return sequence_of_copies(self._view, self._sites.rows(site)[inside.best(wanted)], wanted)

    def _copies_until_beaten(self, site: int, beyond: float, rows: Sequence[int], scores: Sequence[float]) -> int:
        """Return how many copies go to the site before a node of another site is better: at least one."""
        grows = self._by_site.only_grows(site, len(rows))
        points = self._totals.item(site) - self._best.item(site)
        if self._sites.is_alone(site):
            return self._copies_alone(site, beyond, rows, scores, points if grows else REFUSED)
        if grows and min(scores) + points > beyond + _ROUNDING:
            return len(rows)
        return self._copies_beside(site, rows, scores)

    def _copies_alone(
        self, site: int, beyond: float, rows: Sequence[int], scores: Sequence[float], least: float
    ) -> int:
        """Do so for a site whose copies change the score of no other; `least` is the least score of the site, if that
        only grows.
        """
        grows = least > REFUSED
        for copy in range(1, len(rows)):
            own = scores[copy]
            if own + least > beyond:
                continue
            points = round(self._by_site.of_one(site, copy) * _GRID)
            if own + points < beyond:
                return copy
            if own + points == beyond and self._first_other_row(site, beyond) < rows[copy]:
                return copy
            least = points if grows else REFUSED
        return len(rows)

    def _first_other_row(self, site: int, total: float) -> int:
        """Return the first of the best nodes of other sites with this total."""
        level = (self._totals == total).nonzero()[0].tolist()
        return min(self.first_row(other) for other in level if other != site)

    def _copies_beside(self, site: int, rows: Sequence[int], scores: Sequence[float]) -> int:
        """Do so for a site whose copies change the scores of others as well."""
        points = np.rint(self._by_site.with_copies(site, len(rows)) * GRID)
        near, far = self._sites.nearby(site).sites, self._totals.copy()
        far[near] = REFUSED
        own = scores + points[0]
        others = self._best[near[1:], None] + points[1:]
        highest = np.maximum(others.max(axis=0, initial=REFUSED), far.max())
        for copy in (highest >= own).nonzero()[0].tolist():
            if copy and highest[copy] > own[copy]:
                return int(copy)
            level = [*(far == own[copy]).nonzero()[0].tolist(), *near[1:][others[:, copy] == own[copy]].tolist()]
            if copy and min(map(self.first_row, level)) < rows[copy]:
                return int(copy)
        return len(rows)
