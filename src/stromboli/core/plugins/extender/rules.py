"""The rules about nodes: one call to an extender covers all nodes, once per class and cycle."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from stromboli.core.model.ledger.ledger import Ledger
from stromboli.core.model.nodes.amounts import Rows
from stromboli.core.model.nodes.table import Index, Mask, NodeTable, Vector
from stromboli.core.model.reasons import Code, Reason
from stromboli.core.model.tasks.task_class import TaskClass
from stromboli.core.search.class_cache import ClassCache
from stromboli.core.search.node_rules import Locality, NodeFilter, NodeScorer


@dataclass(frozen=True, slots=True)
class ExtenderVerdict:
    """The nodes that the extender rejects, with reasons; or the failure of the call, which rejects all nodes."""

    refused: Mapping[str, str]
    failure: str = ""


Concerned = Callable[[TaskClass], bool]


class Refusals(NodeFilter):
    locality = Locality.ROW  # it does not change during a cycle, but may in the next one

    def __init__(self, concerned: Concerned, ask: Callable[[TaskClass], ExtenderVerdict]) -> None:
        self._applicable = concerned
        self._verdicts: ClassCache[ExtenderVerdict] = ClassCache(lambda task_class, _: ask(task_class))
        self._masks: ClassCache[Mask] = ClassCache(self._mask)

    def applies_to(self, task_class: TaskClass, ledger: Ledger) -> bool:
        return self._applicable(task_class)

    def filter(self, task_class: TaskClass, rows: Rows, ledger: Ledger) -> Mask:
        mask = self._masks.of(task_class, ledger)
        return mask.copy() if rows.index is None else mask[rows.index]

    def _mask(self, task_class: TaskClass, ledger: Ledger) -> Mask:
        verdict = self._verdicts.of(task_class, ledger)
        mask = np.full(len(ledger.nodes), not verdict.failure)
        mask[_rows(ledger.nodes, verdict.refused)] = False
        return mask

    def refusals(self, task_class: TaskClass, ledger: Ledger, refused: Mask) -> Iterable[tuple[Reason, Index]]:
        verdict = self._verdicts.of(task_class, ledger)
        if verdict.failure:
            yield Reason(Code.PLUGIN_FAILED, f"extender did not answer: {verdict.failure}"), np.flatnonzero(refused)
            return
        by_message: dict[str, list[str]] = {}
        for node, why in verdict.refused.items():
            by_message.setdefault(why or "no reason reported", []).append(node)
        for why, nodes in by_message.items():
            rows = [row for row in _rows(ledger.nodes, nodes) if refused[row]]
            if rows:
                yield Reason(Code.PLUGIN_REFUSED, f"refused by the extender: {why}"), np.array(rows, dtype=np.int64)


class Scores(NodeScorer):
    locality = Locality.ROW

    def __init__(self, concerned: Concerned, ask: Callable[[TaskClass], Mapping[str, float]]) -> None:
        self._applicable = concerned
        self._ask = ask
        self._scores: ClassCache[Vector] = ClassCache(self._vector)

    def applies_to(self, task_class: TaskClass, ledger: Ledger) -> bool:
        return self._applicable(task_class)

    def scores(self, task_class: TaskClass, rows: Rows, ledger: Ledger, candidates: Mask | None) -> Vector:
        scores = self._scores.of(task_class, ledger)
        return scores if rows.index is None else scores[rows.index]

    def _vector(self, task_class: TaskClass, ledger: Ledger) -> Vector:
        scores, index = np.zeros(len(ledger.nodes)), ledger.nodes.index
        for node, score in self._ask(task_class).items():
            if node in index:
                scores[index[node]] = score
        return scores


def _rows(nodes: NodeTable, names: Iterable[str]) -> list[int]:
    """Return the rows of nodes; unknown names are ignored."""
    return [nodes.index[name] for name in names if name in nodes.index]
