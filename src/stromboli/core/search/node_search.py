"""Node search: combines filters, scores and capacity."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial

import numpy as np

from stromboli.core.config.combining import first_answer
from stromboli.core.model.ledger.ledger import Ledger
from stromboli.core.model.nodes.amounts import Amount
from stromboli.core.model.nodes.table import Index, Mask, Vector
from stromboli.core.model.reasons import Code, Reason
from stromboli.core.model.resources.resources import PODS, ResourceAxis, short_name
from stromboli.core.model.tasks.task import Task
from stromboli.core.model.tasks.task_class import TaskClass
from stromboli.core.search.batch_placement import place_copies, place_copies_beside
from stromboli.core.search.class_view import GRID, REFUSED, ClassView, static_answer_of
from stromboli.core.search.node_rules import SiteScores
from stromboli.core.search.ranking import Ranking
from stromboli.core.search.site_placement import place_by_site
from stromboli.core.session.program import Program
from stromboli.core.session.refusals import NodeRefusals

#: Score vectors kept for classes that are not in use. Beyond it the oldest are computed again.
_KEPT_BYTES = 256 << 20
_CAPACITY_NOMINATED = Reason(Code.CAPACITY_NOMINATED, "node(s) had capacity nominated for other pods")
#: Maximum number of names that no node offers in the reasons of a pod.
_MAX_UNOFFERED_NAMES = 8


class NodeSearch:
    """Finds nodes for classes of tasks, in the whole cluster or inside a domain."""

    def __init__(
        self, program: Program, ledger: Ledger, axis: ResourceAxis, check_time: Callable[[], None] = lambda: None
    ) -> None:
        self._program = program
        self._ledger = ledger
        self._axis = axis
        #: Called before every search: raises when the job under work has no time left.
        self._check_time = check_time
        self._views: dict[int, ClassView] = {}
        self._max_views = max(8, _KEPT_BYTES // (8 * max(1, len(ledger.nodes))))
        self._best_node = program.flat["best_node"]
        #: Nodes that come after all others, if there are any.
        self._last = ledger.nodes.last
        #: The task for which nodes are being searched, for CLUSTER rules that look beyond its class.
        self.current_task: Task | None = None

    def view(self, task_class: TaskClass) -> ClassView:
        view = self._views.get(task_class.number)
        if view is None:
            view = self._views[task_class.number] = ClassView(task_class, self._program, self._ledger)
            if len(self._views) > self._max_views:
                del self._views[next(iter(self._views))]
        return view

    def admitted_by_facts(self, task_class: TaskClass) -> Mask:
        """Return the nodes that labels, taints and other fixed facts admit for a class, whatever runs there."""
        known = self._program.statics_for(self._ledger.nodes).get(task_class)
        return (known or static_answer_of(task_class, self._program, self._ledger)).admitted

    def known_capacity(self, view: ClassView) -> int | None:
        """Return how many copies fit when the class was last refused, if nothing has been freed since."""
        if not view.possible:
            return 0
        return view.capacity if view.capacity_at == self._ledger.freed else None

    def known_refusal(self, view: ClassView) -> NodeRefusals | Callable[[], NodeRefusals] | None:
        """Return why not more copies fit; for a class that no node could ever take, a function that finds out."""
        return view.refusal if view.possible else partial(self._impossible, view)

    def _impossible(self, view: ClassView) -> NodeRefusals:
        """Describe why no node could take the class even if it were empty."""
        static, ledger = view.static, self._ledger
        if static.refusal is None:
            groups = list(static.groups(view.task_class, ledger))
            groups += self._short_of(view.task_class, static.admitted, ledger.all_rows.allocatable)[0]
            static.refusal = NodeRefusals(len(ledger.nodes), tuple(_grouped(groups, None)))
        return static.refusal

    def remember_capacity(self, view: ClassView, capacity: int) -> None:
        """Only valid while the ledger has nothing that may still be rolled back."""
        view.capacity, view.capacity_at = capacity, self._ledger.freed

    # -- choosing -----------------------------------------------------------------------------------------------

    def find_nodes(self, task: Task, wanted: int, within: Mask | None = None) -> list[int]:
        """Return rows for up to `wanted` tasks like this one, idle now, best first.

        More than one only if placing one by one would choose the same; call again for the rest. The caller places them
        at once and then calls `settle`.
        """
        if self._last is None:
            return self._find_nodes(task, wanted, within)
        return next(filter(None, (self._find_nodes(task, wanted, group) for group in self.groups(within))), [])

    def take_nodes(self, task: Task, wanted: int, within: Mask | None = None) -> list[int]:
        """Return the same as `find_nodes`, for a caller that certainly places the tasks at once. If it is called again
        and again for one class, it searches for several calls in one step.
        """
        if within is not None:
            return self.find_nodes(task, wanted, within)
        return self.take_of(self.view(task.task_class), task, wanted)

    def take_of(self, view: ClassView, task: Task, wanted: int) -> list[int]:
        """Return the same as `take_nodes` in the whole cluster, with the view of the task's class."""
        if not (view.is_local or self._is_local_now(view)):
            return self.find_nodes(task, wanted)
        ahead, position, copies = view.ahead, self._ledger.log.position, wanted
        if ahead.position == position:
            if ahead.rows:
                return ahead.take(wanted)
            copies = ahead.copies_to_place(wanted)
        self._check_time()
        ranking = view.refresh()
        rows = place_copies(view, ranking, copies) if copies > 1 else ranking.first_as_list()
        return ahead.keep(rows, wanted, position)

    def _is_local_now(self, view: ClassView) -> bool:
        """Report whether the search may ignore that rules depend on other nodes."""
        return self._last is None and not self._best_node and view.site_scorer is None and view.is_neutral

    def takes_many(self, view: ClassView, wanted: int) -> bool:
        """Report whether nodes for so many tasks of a possible class are found in one step, and may exist."""
        if view.capacity_at == self._ledger.freed:
            return False
        if view.is_local:
            return True
        is_at_once = wanted == 1 or view.site_scorer is not None or view.is_steady
        return is_at_once and self._last is None and not self._best_node

    def groups(self, within: Mask | None) -> tuple[Mask | None, ...]:
        """Split the candidate nodes into groups; all nodes of a group come before the next group."""
        if self._last is None:
            return (within,)
        groups = (~self._last, self._last) if within is None else (within & ~self._last, within & self._last)
        return tuple(group for group in groups if group.any())

    def _find_nodes(self, task: Task, wanted: int, within: Mask | None) -> list[int]:
        self._check_time()
        view = self.view(task.task_class)
        ranking = view.refresh()
        if view.reaches_over_cluster or self._best_node:
            by_site = self._scores_by_site(view, task) if within is None else None
            if by_site is not None:
                return place_by_site(view, ranking, wanted, by_site)
            return self._over_cluster(view, task, ranking, wanted, within)
        if within is not None:
            return place_copies(view, ranking, wanted, within.nonzero()[0])
        return place_copies(view, ranking, wanted) if wanted > 1 else ranking.first_as_list()

    def _scores_by_site(self, view: ClassView, task: Task) -> SiteScores | None:
        """Return the scores by site if nothing else depends on other nodes."""
        scorer = view.site_scorer
        if scorer is None or self._best_node or not scorer.is_by_site(task):
            return None
        if view.site_scores is None:
            view.site_scores = scorer.by_site(view.task_class)
        return view.site_scores

    def settle(self, task_class: TaskClass, rows: list[int]) -> None:
        """Mark the rows that `find_nodes` returned as taken."""
        if len(rows) > 1:
            self.view(task_class).settle()

    def find_future_node(self, task: Task, within: Mask | None = None) -> int:
        """Return the row to wait on: the best that fits once all releasing pods are gone; -1 for none."""
        ledger = self._ledger
        if not ledger.has_releasing:
            return -1
        self._check_time()
        view, self.current_task = self.view(task.task_class), task
        scores = view.evaluate_later()
        for scorer in view.cluster_scorers:
            admitted = scores > REFUSED
            scores = scores + np.rint(scorer.scores(task.task_class, ledger.future_rows, ledger, admitted) * GRID)
        rows = (self._choose(task, _inside(scores, group)) for group in self.groups(within))
        return next((row for row in rows if row >= 0), -1)

    def _over_cluster(
        self, view: ClassView, task: Task, ranking: Ranking, wanted: int, within: Mask | None
    ) -> list[int]:
        """Return one row, or as many as the rules that depend on other nodes allow to choose in one step."""
        scores, copies, self.current_task = _inside(ranking.scores, within), 1, task
        if view.reaches_over_cluster:
            scores, copies = view.over_cluster(scores, wanted)
        if copies > 1 and not self._best_node:
            return place_copies_beside(view, ranking, copies, scores)
        row = self._choose(task, scores)
        return [row] if row >= 0 else []

    def _choose(self, task: Task, scores: Vector) -> int:
        best = Ranking(scores).first()
        if best < 0 or not self._best_node:
            return best
        chosen = first_answer(self._best_node, task, self._named(scores))
        return best if chosen is None else self._row_named(chosen, scores, best)

    def _named(self, scores: Vector) -> Mapping[str, float]:
        """Return scores by node name, in points rather than in grid steps."""
        names = self._ledger.nodes.names
        return {names[row]: float(scores[row] / GRID) for row in np.flatnonzero(scores > REFUSED).tolist()}

    def _row_named(self, name: str, scores: Vector, best: int) -> int:
        """Return the chosen node, unless the plugin named one that was not a candidate."""
        row = self._ledger.nodes.index.get(name, -1)
        return row if row >= 0 and scores[row] > REFUSED else best

    def accepts(self, task: Task, row: int) -> bool:
        """Report whether this node can take the task now or later, for a nominated node."""
        view, ledger = self.view(task.task_class), self._ledger
        rows = ledger.rows(np.array([row], dtype=np.int64), later=True)
        if not view.static.admitted[row]:
            return False
        if any((rows.future_idle(d) < amount).any() for d, amount in task.task_class.request):
            return False
        if not all(rule.filter(task.task_class, rows, ledger).all() for rule in view.row_filters):
            return False
        return all(rule.filter(task.task_class, ledger.future_rows, ledger)[row] for rule in view.cluster_filters)

    def fits_now(self, task_class: TaskClass, row: int) -> bool:
        """Report whether a node that accepts the class has the capacity now."""
        view, ledger = self.view(task_class), self._ledger
        rows = ledger.rows(np.array([row], dtype=np.int64))
        if not view.fits(rows)[0] or not all(rule.filter(task_class, rows, ledger)[0] for rule in view.row_filters):
            return False
        return all(rule.filter(task_class, ledger.all_rows, ledger)[row] for rule in view.cluster_filters)

    # -- explaining ---------------------------------------------------------------------------------------------

    def refusals(self, task_class: TaskClass, within: Mask | None = None) -> NodeRefusals:
        """Describe why no node takes the class now: every node under the first rule that refuses it.

        Best-effort tasks do not wait for a slot: for them only idle capacity counts.
        """
        self._check_time()
        view, ledger = self.view(task_class), self._ledger
        if not len(ledger.nodes):
            return NodeRefusals(0, ())
        groups = list(view.static.groups(task_class, ledger))
        waits = (ledger.has_releasing or ledger.holds_nominated) and not task_class.best_effort
        rows = ledger.future_rows if waits else ledger.all_rows
        capacity = rows.future_idle if waits else rows.idle
        admitted = view.static.admitted
        kept = self._kept_from(task_class, admitted) if ledger.holds_nominated else None
        if kept is not None and kept.any():
            groups.append((_CAPACITY_NOMINATED, np.flatnonzero(kept)))
            admitted = admitted & ~kept
        short, left = self._short_of(task_class, admitted, capacity)
        groups.extend(short)
        for rule in (*view.row_filters, *view.cluster_filters):
            refused = left & ~rule.filter(task_class, rows, ledger)
            if refused.any():
                groups.extend(rule.refusals(task_class, ledger, refused))
                left &= ~refused
        return NodeRefusals(len(ledger.nodes), tuple(_grouped(groups, within)))

    def _kept_from(self, task_class: TaskClass, admitted: Mask) -> Mask:
        """Return the nodes that lack only the capacity nominated for other tasks."""
        rows, held = self._ledger.all_rows, self._ledger.nominated
        lacks, would_do = np.zeros(len(rows), dtype=np.bool_), admitted.copy()
        for dimension, amount in task_class.request:
            free = rows.future_idle(dimension)
            lacks |= free < amount
            would_do &= free + held[dimension] >= amount
        return would_do & lacks

    def _short_of(
        self, task_class: TaskClass, admitted: Mask, capacity: Callable[[int], Amount]
    ) -> tuple[list[tuple[Reason, Index]], Mask]:
        """Return which resources the accepted nodes lack, possibly several each, and which nodes lack none."""
        left, groups = admitted.copy(), list[tuple[Reason, Index]]()
        for dimension, amount in task_class.request:
            short = admitted & (capacity(dimension) < amount)
            if short.any():
                nodes = np.flatnonzero(short)
                groups.extend((reason, nodes) for reason in self._shortages(dimension, task_class))
                left &= ~short
        return groups, left

    def _shortages(self, dimension: int, task_class: TaskClass) -> Iterator[Reason]:
        if dimension == PODS:
            yield Reason(Code.TOO_MANY_PODS, "Too many pods", short="too many pods")
            return
        names: Sequence[str] = (self._axis.names[dimension],)
        if dimension == self._axis.unoffered and task_class.unoffered:
            names = _first_of(task_class.unoffered)
        for name in names:
            short = f"insufficient {short_name(name)}"
            yield Reason(Code.INSUFFICIENT_RESOURCE, f"Insufficient {name}", short=short)


def _first_of(names: Sequence[str]) -> Sequence[str]:
    """Return the first names and the number of the others: a pod may make up any number of them."""
    more = len(names) - _MAX_UNOFFERED_NAMES
    return names if more <= 1 else (*names[:_MAX_UNOFFERED_NAMES], f"{more} more resources that no node offers")


def _inside(scores: Vector, within: Mask | None) -> Vector:
    return scores if within is None else np.where(within, scores, REFUSED)


def _grouped(groups: list[tuple[Reason, Index]], within: Mask | None) -> Iterator[tuple[Reason, Index]]:
    """Merge groups by reason, restricted to the candidate nodes. Groups of the same nodes share one array: a task may
    name very many resources that no node offers.
    """
    merged: dict[Reason, list[Index]] = {}
    inside: dict[int, Index] = {}
    for reason, nodes in groups:
        if within is not None and id(nodes) not in inside:
            inside[id(nodes)] = nodes[within[nodes]]
        merged.setdefault(reason, []).append(nodes if within is None else inside[id(nodes)])
    for reason, parts in merged.items():
        nodes = parts[0] if len(parts) == 1 else np.concatenate(parts)
        if len(nodes):
            yield reason, nodes
