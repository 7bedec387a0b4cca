"""Adapts a plugin's methods about nodes to the rules that the node search uses.

A plugin may return several rules (`node_filters`, `node_scorers`), or override `predicate`, `node_order`,
`batch_node_order` or `node_map`; those are adapted here. The mixins `PerNodePredicate` and `PerNodeOrder` evaluate one
node at a time.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import CodeType

import numpy as np

from stromboli.core.config.plugin import Plugin, Scores
from stromboli.core.model.ledger.ledger import Ledger
from stromboli.core.model.nodes.amounts import Rows
from stromboli.core.model.nodes.table import Mask, Node, Vector
from stromboli.core.model.reasons import Code, Reason
from stromboli.core.model.tasks.task_class import TaskClass
from stromboli.core.search.node_rules import Locality, NodeFilter, NodeScorer


class InvalidAnswer(TypeError):
    """A plugin returned a value of the wrong type or shape; `code` is that of its method."""

    def __init__(self, message: str, method: object = None) -> None:
        super().__init__(message)
        self.code: CodeType | None = getattr(method, "__code__", None)


class _PredicateFilter(NodeFilter):
    def __init__(self, plugin: Plugin) -> None:
        self._plugin = plugin
        self.locality = plugin.locality
        self.name = plugin.name

    def filter(self, task_class: TaskClass, rows: Rows, ledger: Ledger) -> Mask:
        return checked_mask(self._plugin.predicate(task_class, rows), len(rows), self._plugin)

    def refusal(self, task_class: TaskClass) -> Reason:
        detail = self._plugin.predicate_reason(task_class)
        return Reason(Code.PLUGIN_REFUSED, detail, short=detail.removeprefix("node(s) ").removeprefix("were "))


class _NodeOrderScorer(NodeScorer):
    def __init__(self, plugin: Plugin) -> None:
        self._plugin = plugin
        self.locality = plugin.locality
        self.name = plugin.name

    def scores(self, task_class: TaskClass, rows: Rows, ledger: Ledger, candidates: Mask | None) -> Vector:
        return checked_vector(self._plugin.node_order(task_class, rows), len(rows), self._plugin, "node_order")


class _BatchNodeOrderScorer(NodeScorer):
    """A score that depends on the remaining candidates."""

    locality = Locality.CLUSTER
    method = "batch_node_order"

    def __init__(self, plugin: Plugin) -> None:
        self._plugin = plugin
        self.name = plugin.name

    def scores(self, task_class: TaskClass, rows: Rows, ledger: Ledger, candidates: Mask | None) -> Vector:
        assert candidates is not None  # noqa: S101 - rules over the cluster always get the candidates
        return checked_vector(self._ask(task_class, rows, candidates), len(rows), self._plugin, self.method)

    def _ask(self, task_class: TaskClass, rows: Rows, candidates: Mask) -> Vector:
        return self._plugin.batch_node_order(task_class, rows, candidates)


class _MapReduceScorer(_BatchNodeOrderScorer):
    method = "node_reduce"

    def _ask(self, task_class: TaskClass, rows: Rows, candidates: Mask) -> Vector:
        mapped = checked_vector(self._plugin.node_map(task_class, rows), len(rows), self._plugin, "node_map")
        return self._plugin.node_reduce(task_class, np.floor(mapped), candidates)


def checked_mask(answer: object, length: int, plugin: Plugin) -> Mask:
    mask = np.asarray(answer)
    if mask.dtype != np.bool_ or mask.shape not in ((length,), ()):
        raise InvalidAnswer("predicate must return one boolean per node", plugin.predicate)
    return mask if mask.shape else np.full(length, bool(mask))


def checked_vector(answer: object, length: int, plugin: Plugin, method: str) -> Vector:
    """Return scores as floats. A score that is not finite would win or lose against every rule, so it is rejected."""
    vector = np.asarray(answer, dtype=np.float64)
    if vector.shape not in ((length,), ()):
        message = f"{method} must return one score per node, got shape {vector.shape}"
        raise InvalidAnswer(message, getattr(plugin, method))
    if not np.isfinite(vector).all():
        raise InvalidAnswer(f"{method} must return finite numbers", getattr(plugin, method))
    return vector if vector.shape else np.full(length, float(vector))


def overrides(plugin: Plugin, question: str) -> bool:
    return getattr(type(plugin), question) is not getattr(Plugin, question)


def filters_of(plugin: Plugin) -> list[NodeFilter]:
    rules = list(plugin.node_filters())
    for rule in rules:
        rule.name = plugin.name
    if overrides(plugin, "predicate"):
        rules.append(_PredicateFilter(plugin))
    return rules


def scorers_of(plugin: Plugin) -> list[NodeScorer]:
    rules = list(plugin.node_scorers())
    for rule in rules:
        rule.name = plugin.name
    if overrides(plugin, "node_order"):
        rules.append(_NodeOrderScorer(plugin))
    if overrides(plugin, "batch_node_order"):
        rules.append(_BatchNodeOrderScorer(plugin))
    if overrides(plugin, "node_map"):
        rules.append(_MapReduceScorer(plugin))
    return rules


@dataclass(frozen=True, slots=True)
class NodeView:
    """One node for rules that evaluate one at a time: its facts and its amounts by dimension."""

    facts: Node
    idle: Mapping[int, int]
    used: Mapping[int, int]
    allocatable: Mapping[int, int]


def node_views(rows: Rows) -> list[NodeView]:
    """Return the rows one by one. Slow: a rule over columns does the same in a hundredth of the time."""
    index = range(len(rows.nodes)) if rows.index is None else rows.index.tolist()
    dimensions = range(rows.resources)
    return [
        NodeView(
            rows.nodes.nodes[node],
            {d: int(rows.idle(d)[entry]) for d in dimensions},
            {d: int(rows.used(d)[entry]) for d in dimensions},
            {d: int(rows.allocatable(d)[entry]) for d in dimensions},
        )
        for entry, node in enumerate(index)
    ]


class PerNodePredicate:
    """Mixin: override `filter_node` for one node at a time."""

    def filter_node(self, task_class: TaskClass, node: NodeView) -> bool:
        return True

    def predicate(self, task_class: TaskClass, rows: Rows) -> Mask:
        return np.array([self.filter_node(task_class, node) for node in node_views(rows)], dtype=np.bool_)


class PerNodeOrder:
    """Mixin: override `score_node` for one node at a time."""

    def score_node(self, task_class: TaskClass, node: NodeView) -> float:
        return 0.0

    def node_order(self, task_class: TaskClass, rows: Rows) -> Scores:
        return np.array([self.score_node(task_class, node) for node in node_views(rows)], dtype=np.float64)
