"""Placement of k copies of a class whose scores also depend on sites, exactly as one by one would.

The score of a node is its own score plus that of its site. Inside a site all nodes get the same addition, so the order
in which copies go to its nodes is that of their own scores (see batch placement), whatever happens elsewhere. Step by
step, the best site gets as many copies as one by one would place there before another site is better.
"""

from __future__ import annotations

import numpy as np

from stromboli.core.model.nodes.table import Index, Vector
from stromboli.core.search.batch_placement import CopySequence, sequence_of_copies
from stromboli.core.search.class_view import GRID, REFUSED, ClassView
from stromboli.core.search.node_rules import SiteScores
from stromboli.core.search.ranking import Ranking


def place_by_site(view: ClassView, ranking: Ranking, wanted: int, by_site: SiteScores) -> list[int]:
    """Return node rows for up to `wanted` copies, in the order of placement. If more than one is wanted, the scores are
    updated as if the copies were placed.
    """
    if not len(by_site.sites):
        return []
    placement = SitePlacement(view, ranking.scores, wanted, by_site)
    if wanted == 1:
        site = placement.best_site()
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
        self._sites = by_site.sites
        #: By site, the own score of the best node, that with the score of the site, and its row if it was looked up.
        ordered = scores if self._sites.is_in_order else scores[self._sites.order]
        self._best: Vector = np.maximum.reduceat(ordered, self._sites.starts)
        self._totals: Vector = self._best + _on_grid(by_site.now())
        self._first_rows: dict[int, int] = {}
        #: By site, the order of copies inside it, and how many were placed.
        self.used: dict[int, tuple[CopySequence, int]] = {}

    def place_all(self) -> list[int]:
        found: list[int] = []
        while len(found) < self._wanted:
            site = self.best_site()
            if site < 0:
                break
            found += self._place_in(site, self._wanted - len(found))
        return found

    def best_site(self) -> int:
        """Return the site of the best node, -1 if every node is refused."""
        totals = self._totals
        site = int(totals.argmax())
        if totals[site] == REFUSED:
            return -1
        level = (totals == totals[site]).nonzero()[0]
        return site if len(level) == 1 else min(level.tolist(), key=self.first_row)

    def first_row(self, site: int) -> int:
        """Return the best node of a site, the lowest row among equals."""
        row = self._first_rows.get(site)
        if row is None:
            rows = self._sites.rows(site)
            row = self._first_rows[site] = int(rows[self._scores[rows].argmax()])
        return row

    def _place_in(self, site: int, wanted: int) -> list[int]:
        """Place copies in the best site as long as it is the best."""
        sequence, before = self.used.get(site) or (self._sequence(site, wanted), 0)
        rows, scores = sequence.nodes[before:], sequence.scores[before:]
        most = min(wanted, len(rows))
        if most == wanted and self._stays_best(site, scores[:most]):
            self.used[site] = sequence, before + wanted
            return rows[:wanted].tolist()
        points = _on_grid(self._by_site.with_copies(site, most + 1))
        copies = self._copies_until_beaten(site, rows[:most], scores[:most], points)
        self.used[site] = sequence, before + copies
        if copies == wanted:
            return rows[:copies].tolist()
        self._by_site.add(site, copies)
        more = copies < len(rows)
        self._best[site] = scores[copies] if more else REFUSED
        self._first_rows[site] = int(rows[copies]) if more else -1
        near = self._sites.nearby(site).sites
        self._totals[near] = self._best[near] + points[:, copies]
        return rows[:copies].tolist()

    def _sequence(self, site: int, wanted: int) -> CopySequence:
        rows = self._sites.rows(site)
        return sequence_of_copies(self._view, rows[Ranking(self._scores[rows]).best(wanted)], wanted)

    def _stays_best(self, site: int, scores: Vector) -> bool:
        """Report whether all copies surely go to the site: its best node is ahead even with the lowest own score."""
        totals = self._totals
        total = totals[site]
        totals[site] = REFUSED
        beyond, totals[site] = totals.max(), total
        lowest = total - self._best[site] + scores.min()
        return bool(lowest > beyond) and self._by_site.only_grows(site, len(scores))

    def _copies_until_beaten(self, site: int, rows: Index, scores: Vector, points: Vector) -> int:
        """Return how many copies go to the site before a node of another site is better: at least one."""
        near, far = self._sites.nearby(site).sites, self._totals.copy()
        far[near] = REFUSED
        own = scores + points[0, : len(rows)]
        others = self._best[near[1:], None] + points[1:, : len(rows)]
        highest = np.maximum(others.max(axis=0, initial=REFUSED), far.max())
        for copy in (highest >= own).nonzero()[0].tolist():
            if copy and highest[copy] > own[copy]:
                return int(copy)
            level = [*(far == own[copy]).nonzero()[0].tolist(), *near[1:][others[:, copy] == own[copy]].tolist()]
            if copy and min(map(self.first_row, level)) < rows[copy]:
                return int(copy)
        return len(rows)


def _on_grid(points: Vector) -> Vector:
    return np.rint(points * GRID)
