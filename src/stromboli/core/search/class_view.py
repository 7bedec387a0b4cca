"""The state of one class of tasks in a cycle: which nodes can take a task, and their scores.

The result is a vector of scores, minus infinity where a node is refused. It is computed once for all nodes and then
updated: the ledger logs which rows changed, and only those are evaluated again. Static results outlive the cycle.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from stromboli.core.model.ledger.ledger import Ledger
from stromboli.core.model.nodes.amounts import Rows
from stromboli.core.model.nodes.table import Index, Mask, Vector
from stromboli.core.model.reasons import Reason
from stromboli.core.model.tasks.task_class import TaskClass
from stromboli.core.search.fixed_filters import AVOIDED_NODES, SHARD_FILTER
from stromboli.core.search.lookahead import Lookahead
from stromboli.core.search.node_rules import Locality, NodeFilter, NodeScorer, SiteScorer, SiteScores
from stromboli.core.search.placements_ahead import PlacementsAhead
from stromboli.core.search.ranking import Ranking, ranking_of
from stromboli.core.search.row_scores import RowScores
from stromboli.core.session.program import Program
from stromboli.core.session.refusals import NodeRefusals

#: Scores are rounded to this grid (per point), so that equal nodes compare as equal despite rounding noise.
GRID = np.array(1024.0)
REFUSED = -np.inf
_REFUSED = np.array(REFUSED)

Rule = TypeVar("Rule", NodeFilter, NodeScorer)


@dataclass(slots=True)
class StaticAnswer:
    """The results that depend on node facts alone."""

    #: Sum of static scores, minus infinity where a static rule refuses.
    scores: Vector
    admitted: Mask
    #: Whether some accepted node could take a task of the class if it were empty.
    possible: bool
    #: Which rule refused which nodes; messages are built on demand.
    refused_by: Sequence[tuple[NodeFilter, Mask]] = ()
    _groups: list[tuple[Reason, Index]] | None = None
    #: Why the class is not possible, cached by the search.
    refusal: NodeRefusals | None = None

    def groups(self, task_class: TaskClass, ledger: Ledger) -> list[tuple[Reason, Index]]:
        """Return why nodes were refused, each reason with its nodes."""
        if self._groups is None:
            refusals = (rule.refusals(task_class, ledger, refused) for rule, refused in self.refused_by)
            self._groups = [group for groups in refusals for group in groups]
        return self._groups


class ClassView:
    """The current results of one class in one cycle."""

    __slots__ = (
        "_is_steady", "_most_changed", "_program", "_row_scores", "_static", "ahead", "capacity", "capacity_at",
        "cluster_filters", "cluster_scorers", "fresh", "is_local", "ledger", "lookahead", "possible", "ranking",
        "reaches_over_cluster", "refusal", "request", "row_filters", "row_scorers", "site_scorer", "site_scores",
        "task_class",
    )  # fmt: skip

    def __init__(self, task_class: TaskClass, program: Program, ledger: Ledger) -> None:
        self.task_class = task_class
        self.ledger = ledger
        #: The request as 0-d arrays, which NumPy handles faster than Python numbers.
        self.request = tuple((d, np.array(amount, dtype=np.int64)) for d, amount in task_class.request)
        self._program = program
        self._static: StaticAnswer | None = program.statics_for(ledger.nodes).get(task_class)
        #: Whether some node could take a task of the class if it were empty. Otherwise rules are not evaluated.
        self.possible = self._is_possible()
        filters, scorers = program.filters_by_locality, program.scorers_by_locality
        self.row_filters = self._applicable(filters[Locality.ROW])
        self.row_scorers = self._applicable(scorers[Locality.ROW])
        #: Built with the first score of a node.
        self._row_scores: RowScores | None = None
        self.cluster_filters = self._applicable(filters[Locality.CLUSTER])
        self.cluster_scorers = self._applicable(scorers[Locality.CLUSTER])
        #: Whether the result for a node depends on other nodes.
        self.reaches_over_cluster = bool(self.cluster_filters or self.cluster_scorers)
        #: Whether the best node is that with the highest score, and its score depends on that node alone.
        self.is_local = ledger.nodes.last is None and not (self.reaches_over_cluster or program.flat["best_node"])
        #: Whether members of the class leave the results of all these rules unchanged; None if it was not asked.
        self._is_steady: bool | None = None
        #: The only rule that depends on other nodes, if it is by site.
        self.site_scorer = _only_site_scorer(self.cluster_filters, self.cluster_scorers)
        #: Its scores, once a task of the class was placed by site.
        self.site_scores: SiteScores | None = None
        self.ranking: Ranking | None = None
        #: Scores of further copies, once some were placed inside a domain.
        self.lookahead: Lookahead | None = None
        #: Nodes for copies that are probably placed next.
        self.ahead = PlacementsAhead()
        #: With more changes than this, all nodes are evaluated.
        self._most_changed = len(ledger.nodes) // 3
        #: Position in the ledger's log up to which the scores are valid.
        self.fresh = 0
        #: Copies that fit when the class was last refused, why not more, and the ledger's `freed` at that time.
        self.capacity = 0
        self.capacity_at = -1
        self.refusal: NodeRefusals | None = None

    def _is_possible(self) -> bool:
        if self._static is None and _exceeds_every_node(self.task_class, self.ledger):
            return False
        return self.static.possible

    def _applicable(self, rules: Sequence[Rule]) -> list[Rule]:
        """Return the rules that apply to the class."""
        task_class, ledger = self.task_class, self.ledger
        return [rule for rule in rules if rule.applies_to(task_class, ledger)] if self.possible else []

    @property
    def static(self) -> StaticAnswer:
        """The results that depend on node facts alone, evaluated when they are first read."""
        if self._static is None:
            self._static = static_answer_of(self.task_class, self._program, self.ledger)
        return self._static

    def refresh(self) -> Ranking:
        """Return the current scores of all nodes."""
        ledger = self.ledger
        log, ranking = ledger.log, self.ranking
        changed, not_placed = log.position - self.fresh, self.ahead.drop() if self.ahead.rows else []
        row_scores = self._row_scores
        is_outdated = row_scores is not None and row_scores.is_scored_as_used is not ledger.is_scored_as_used
        if ranking is None or is_outdated or changed > self._most_changed:
            ranking, self.lookahead = ranking_of(self.evaluate(ledger.candidate_rows)), None
            self.ranking = ranking
        elif changed or not_placed:
            index = log.since(self.fresh)
            if not_placed:
                index = np.concatenate((index, np.array(not_placed, dtype=np.int64)))
            if self.lookahead is not None:
                self.lookahead.forget(index.tolist())
            ranking.replace(index, self.evaluate(ledger.rows(index, certain=True)))
        self.fresh = log.position
        return ranking

    def settle(self) -> None:
        """Mark the rows of the copies just placed as up to date: their scores were written already."""
        self.fresh = self.ledger.log.position

    def evaluate(self, rows: Rows) -> Vector:
        """Return scores of these rows, minus infinity where the class does not fit or is refused."""
        task_class, ledger = self.task_class, self.ledger
        fits = self.fits(rows)
        for rule in self.row_filters:
            fits &= rule.filter(task_class, rows, ledger)
        static = self._static or self.static
        if rows.index is not None:
            total: Vector = static.scores[rows.index]
        elif np.count_nonzero(fits & static.admitted):
            total = static.scores.copy()
        else:
            return np.full(len(rows), REFUSED)
        if self._row_scores is None or self._row_scores.is_scored_as_used is not ledger.is_scored_as_used:
            self._row_scores = RowScores(self.row_scorers, task_class, ledger)
        self._row_scores.add_to(total, rows, ledger)
        total *= GRID
        np.rint(total, out=total)
        np.putmask(total, np.logical_not(fits, out=fits), _REFUSED)
        return total

    def fits(self, rows: Rows) -> Mask:
        """Return which rows have the request of the class idle, and not nominated for waiting tasks."""
        fits = rows.have_idle(self.request)
        if self.ledger.holds_nominated:
            for dimension, amount in self.request:
                fits &= rows.future_idle(dimension) >= amount
        return fits

    def fits_later(self, rows: Rows) -> Mask:
        """Return which rows will have the request idle once all releasing pods are gone."""
        fits = self.static.admitted.copy()
        for dimension, amount in self.task_class.request:
            fits &= rows.future_idle(dimension) >= amount
        return fits

    def evaluate_later(self) -> Vector:
        """Return the scores of all nodes for pipelining."""
        rows, task_class, ledger = self.ledger.future_rows, self.task_class, self.ledger
        fits = self.fits_later(rows)
        for rule in (*self.row_filters, *self.cluster_filters):
            if not fits.any():
                break
            fits &= rule.filter(task_class, rows, ledger)
        total = self.static.scores
        for scorer in self.row_scorers:
            total = total + scorer.scores(task_class, rows, ledger, None)
        return np.where(fits, np.rint(total * GRID), REFUSED)

    def over_cluster(self, scores: Vector, wanted: int) -> tuple[Vector, int]:
        """Add the rules that depend on other nodes to the scores; return for how many of the copies they are valid.

        Steady rules change with the range of the candidates' scores. A copy makes at most one node unusable, so the
        range stays while more candidates than copies are at both ends.
        """
        rows, task_class, ledger = self.ledger.all_rows, self.task_class, self.ledger
        admitted = scores > REFUSED
        for rule in self.cluster_filters:
            if not admitted.any():
                break
            admitted &= rule.filter(task_class, rows, ledger)
        total, copies = scores, wanted if wanted > 1 and self.is_steady else 1
        for scorer in self.cluster_scorers:
            points = scorer.scores(task_class, rows, ledger, admitted)
            total = total + np.rint(points * GRID)
            if copies > 1:
                copies = min(copies, _least_at_ends(points if admitted.all() else points[admitted]))
        return np.where(admitted, total, REFUSED) if self.cluster_filters else total, copies

    @property
    def is_steady(self) -> bool:
        """Whether copies of the class leave the results of the rules that depend on other nodes unchanged."""
        if self._is_steady is None:
            self._is_steady = all(rule.is_steady(self.task_class, self.ledger) for rule in self._cluster_rules)
        return self._is_steady

    @property
    def is_neutral(self) -> bool:
        """Whether the rules that depend on other nodes change nothing at present, whatever copies are placed."""
        rules, task_class, ledger = self._cluster_rules, self.task_class, self.ledger
        return all(rule.is_neutral(task_class, ledger) for rule in rules) and self.is_steady

    @property
    def _cluster_rules(self) -> list[NodeFilter | NodeScorer]:
        return [*self.cluster_filters, *self.cluster_scorers]


def _least_at_ends(points: Vector) -> int:
    """Return how many of the points are equal to the lowest, or how many to the highest, whichever are fewer."""
    if not len(points):
        return 0
    return int(min(np.count_nonzero(points == points.min()), np.count_nonzero(points == points.max())))


def _only_site_scorer(filters: Sequence[NodeFilter], scorers: Sequence[NodeScorer]) -> SiteScorer | None:
    only = scorers[0] if len(scorers) == 1 and not filters else None
    return only if isinstance(only, SiteScorer) else None


def _exceeds_every_node(task_class: TaskClass, ledger: Ledger) -> bool:
    """Report whether one amount of the request is larger than any node, by maxima that are found once per table."""
    layout, amounts = ledger.layout, ledger.amounts
    largest: list[int] = ledger.nodes.remember(
        ("largest", layout.resources), lambda _: amounts[layout.allocatable :].max(axis=1, initial=0).tolist()
    )
    for dimension, amount in task_class.request:  # noqa: SIM110 - called for every class, and twice as fast
        if amount > largest[dimension]:
            return True
    return False


def static_answer_of(task_class: TaskClass, program: Program, ledger: Ledger) -> StaticAnswer:
    """Evaluate the static rules for all nodes, and keep the result as long as the node table is valid."""
    rows = ledger.all_rows
    admitted = np.ones(len(rows), dtype=np.bool_)
    refused_by = []
    for rule in (SHARD_FILTER, AVOIDED_NODES, *program.filters_by_locality[Locality.STATIC]):
        if rule.applies_to(task_class, ledger):
            refused = admitted & ~rule.filter(task_class, rows, ledger)
            if refused.any():
                refused_by.append((rule, refused))
                admitted &= ~refused
    large_enough = admitted.copy()
    for dimension, amount in task_class.request:
        large_enough &= rows.allocatable(dimension) >= amount
    possible, scores = bool(large_enough.any()), np.zeros(len(rows))
    for scorer in program.scorers_by_locality[Locality.STATIC] if possible else ():
        if scorer.applies_to(task_class, ledger):
            scores = scores + scorer.scores(task_class, rows, ledger, admitted)
    answer = StaticAnswer(np.where(admitted, scores, REFUSED), admitted, possible, refused_by)
    program.statics_for(ledger.nodes)[task_class] = answer
    return answer
