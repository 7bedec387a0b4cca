"""Small worlds for rules about nodes: nodes, kinds of pods, and where some of them stand.

A `Kind` is a task class with the labels of its pods; the world numbers the terms, fills the books and the
tallies and gives every kind its class, as the cache does from manifests.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import SimpleNamespace
from typing import Any

import numpy as np

from stromboli.core.config.plugin import Plugin
from stromboli.core.model.jobs.job import Job, JobSpec
from stromboli.core.model.ledger.ledger import Ledger
from stromboli.core.model.nodes.amounts import AmountLayout
from stromboli.core.model.nodes.table import Mask, Node, NodeTable, Taint
from stromboli.core.model.resources.resources import BASE_RESOURCES, ResourceAxis, request_of
from stromboli.core.model.snapshot import Snapshot
from stromboli.core.model.tasks.host_ports import PortSet
from stromboli.core.model.tasks.pod_terms import Counted, OwnedTerm, PodTerm, TermRegistry
from stromboli.core.model.tasks.selectors import LabelSelector, NodeTerm, Requirement
from stromboli.core.model.tasks.task import Task, TaskStatus
from stromboli.core.model.tasks.task_class import AffinityTerm, SpreadConstraint, TaskClass
from stromboli.core.search.node_rules import NodeFilter, NodeScorer

GPU = "nvidia.com/gpu"
GIB = 1 << 30
NAMESPACE = "default"
JOB = f"{NAMESPACE}/job"


@dataclass(frozen=True)
class Machine:
    """A node with what it has: amounts by the names of resources, as the books count them."""

    facts: Node
    allocatable: Mapping[str, int]


def machine(
    name: str, *, cpu: int = 4000, memory: int = 8 * GIB, pods: int = 110, gpu: int = 0, **facts: Any
) -> Machine:
    return Machine(Node(name, **facts), {"cpu": cpu, "memory": memory, "pods": pods, GPU: gpu})


def zoned(names: str, **facts: Any) -> list[Machine]:
    """`a:x b:y c` are three nodes, two of them with a label `zone`."""
    machines = []
    for word in names.split():
        name, _, zone = word.partition(":")
        machines.append(machine(name, labels={"zone": zone} if zone else {}, **facts))
    return machines


@dataclass(frozen=True, eq=False)
class Kind:
    """Pods that are alike."""

    request: Mapping[str, int] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)
    #: Fields of the task class.
    facts: Mapping[str, Any] = field(default_factory=dict)

    def fact(self, name: str) -> Any:
        return self.facts.get(name, ())


def kind(labels: str = "", *, request: Mapping[str, int] | None = None, **facts: Any) -> Kind:
    """Pods with labels like `app=web tier=front`."""
    pairs = dict(pair.split("=") for pair in labels.split())
    asked = {"cpu": 100, "memory": GIB // 8} if request is None else request
    spread = tuple(replace(s, matches_itself=s.term.matches(NAMESPACE, pairs)) for s in facts.pop("spread", ()))
    return Kind(asked, pairs, facts | {"spread": spread})


def selecting(labels: str) -> PodTerm:
    """Pods of the namespace with all of these labels."""
    clauses = tuple(Requirement(k, "In", (v,)) for k, v in (pair.split("=") for pair in labels.split()))
    return PodTerm(LabelSelector(clauses), frozenset((NAMESPACE,)))


def near(labels: str, topology_key: str = "zone") -> AffinityTerm:
    return AffinityTerm(selecting(labels), topology_key)


def spread(labels: str, topology_key: str = "zone", *, max_skew: int = 1, hard: bool = True, **more: Any) -> Any:
    return SpreadConstraint(selecting(labels), topology_key, max_skew, hard, **more)


def labelled(**labels: str) -> NodeTerm:
    return NodeTerm(tuple(Requirement(key, "In", (value,)) for key, value in labels.items()))


def taint(text: str) -> Taint:
    """`key=value:effect`, as kubectl writes it."""
    pair, _, effect = text.partition(":")
    key, _, value = pair.partition("=")
    return Taint(key, value, effect)


class World:
    """Machines, kinds, and pods of these kinds on machines: `placed` gives (kind, name of the node)."""

    def __init__(
        self, machines: Iterable[Machine], kinds: Sequence[Kind], placed: Iterable[tuple[Kind, str]] = ()
    ) -> None:
        self.axis = ResourceAxis((*BASE_RESOURCES, GPU))
        self.machines = sorted(machines, key=lambda each: each.facts.name)
        self.nodes = NodeTable(each.facts for each in self.machines)
        self.placed = list(placed)
        self.kinds = list(dict.fromkeys((*kinds, *(each for each, _ in self.placed))))
        self.terms = TermRegistry()
        for each in self.kinds:
            self._register(each)
        self.classes = {each: self._class_of(each, number) for number, each in enumerate(self.kinds)}

    def _register(self, each: Kind) -> None:
        preferred = [term for _, term in each.fact("preferred_affinity")]
        for asked in (*each.fact("affinity"), *each.fact("anti_affinity"), *preferred, *each.fact("spread")):
            self.terms.number(asked.term)
        for owned in _counted(each):
            self.terms.number(owned)

    def _class_of(self, each: Kind, number: int) -> TaskClass:
        amounts = {self.axis.dimension(name): amount for name, amount in each.request.items()}
        scored = (amounts.get(0, 0) or 100, amounts.get(1, 0) or 200 << 20)
        feeds = {*self.terms.matching(NAMESPACE, each.labels), *map(self.terms.number, _counted(each))}
        affinity = each.fact("affinity")
        return TaskClass(
            number=number,
            request=request_of(amounts | {2: 1}),
            scored_request=scored,
            feeds=tuple(sorted(feeds)),
            matches_own_affinity=all(term.term.matches(NAMESPACE, each.labels) for term in affinity),
            **{**each.facts, "ports": PortSet(each.fact("ports"))},
        )

    @cached_property
    def tasks(self) -> dict[Kind, list[Task]]:
        """A few pending pods of every kind."""
        return {
            each: [
                Task(f"{c.number}-{i}", NAMESPACE, f"pod-{c.number}-{i}", JOB, c.number * 8 + i, c) for i in range(8)
            ]
            for each, c in self.classes.items()
        }

    @cached_property
    def ledger(self) -> Ledger:
        return Ledger(self._snapshot(AmountLayout(len(self.axis))))

    def _snapshot(self, layout: AmountLayout) -> Snapshot:
        tallies: dict[int, Any] = {}
        amounts = layout.empty(len(self.machines))
        for column, each in enumerate(self.machines):
            for name, amount in each.allocatable.items():
                for start in (layout.idle, layout.allocatable):
                    amounts[start + self.axis.dimension(name), column] = amount
        for placed, name in self.placed:
            column = self.nodes.index[name]
            amounts[: layout.changing, column] += layout.effect(self.classes[placed], TaskStatus.RUNNING)
            for number in self.classes[placed].feeds:
                tally = tallies.setdefault(number, np.zeros(len(self.machines), dtype=np.int32))
                tally[column] += 1
        job = Job(JobSpec(JOB, "uid", NAMESPACE, "job", "queue"), len(self.axis))
        size = 8 * len(self.kinds)
        return Snapshot(
            axis=self.axis, nodes=self.nodes, layout=layout, amounts=amounts, terms=self.terms, tallies=tallies,
            status=np.zeros(size, dtype=np.int8), node_of=np.full(size, -1, dtype=np.int32), jobs={JOB: job},
            waiting=(JOB,), queues={}, queue_usage={}, unqueued=[],
        )  # fmt: skip

    # -- asking -------------------------------------------------------------------------------------------------

    def open(self, plugin: Plugin) -> Plugin:
        snapshot = SimpleNamespace(size=self.ledger.layout.resources, amounts=self.ledger.amounts.copy())
        facts = {"axis": self.axis, "ledger": self.ledger, "nodes": self.ledger.nodes, "snapshot": snapshot}
        plugin.open(SimpleNamespace(**facts, shared_gpus=None, warnings=[]))  # type: ignore[arg-type]
        return plugin

    def place(self, each: Kind, rows: Sequence[int]) -> None:
        """Allocate pending pods of a kind on these rows."""
        pending = [task for task in self.tasks[each] if self.ledger.is_pending(task)]
        self.ledger.place(pending[: len(rows)], rows, TaskStatus.ALLOCATED)

    def admitted(self, rule: NodeFilter, each: Kind) -> str:
        """The names of the nodes that a rule lets the kind use."""
        return self.named(self.mask(rule, each))

    def mask(self, rule: NodeFilter, each: Kind) -> Mask:
        task_class = self.classes[each]
        if not rule.applies_to(task_class, self.ledger):
            return np.ones(len(self.nodes), dtype=np.bool_)
        return rule.filter(task_class, self.ledger.all_rows, self.ledger)

    def refusals(self, rule: NodeFilter, each: Kind) -> dict[str, str]:
        """Reason -> names of the nodes refused for it."""
        refused = ~self.mask(rule, each)
        groups = rule.refusals(self.classes[each], self.ledger, refused) if refused.any() else ()
        return {str(reason): self._names(rows) for reason, rows in groups}

    def scores(self, rule: NodeScorer, each: Kind, candidates: str | None = None) -> dict[str, float]:
        task_class = self.classes[each]
        if not rule.applies_to(task_class, self.ledger):
            return dict.fromkeys(self.nodes.names, 0.0)
        mask = self.nodes.where(lambda node: candidates is None or node.name in candidates.split())
        scores = rule.scores(task_class, self.ledger.all_rows, self.ledger, mask)
        return dict(zip(self.nodes.names, scores.tolist(), strict=True))

    def named(self, mask: Mask) -> str:
        return self._names(np.flatnonzero(mask))

    def _names(self, rows: Any) -> str:
        return " ".join(self.nodes.names[row] for row in rows)


def _counted(each: Kind) -> list[Counted]:
    """What pods of the kind are counted for, beside the terms that select them."""
    ports = [PortSet(each.fact("ports"))] if each.fact("ports") else []
    return [*_owned(each), *ports]


def _owned(each: Kind) -> list[OwnedTerm]:
    avoided = [OwnedTerm(term.term, term.topology_key, 0) for term in each.fact("anti_affinity")]
    preferred = [OwnedTerm(term.term, term.topology_key, w) for w, term in each.fact("preferred_affinity")]
    return avoided + preferred


def build(plugin: type[Plugin], **given: object) -> Plugin:
    """A plugin with arguments; a double underscore in a name stands for a dot."""
    named = {key.replace("__", "."): value for key, value in given.items()}
    return plugin(type(plugin.arguments)(named))
