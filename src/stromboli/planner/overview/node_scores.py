"""Why this node: the points of every scorer for the pods of a job, and the rules that reject other nodes.

The points are those of the first pod of each class at the start of a cycle. They include the weights, and nodes with
equal sums are taken in the order of their rows, as the search does.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
import numpy as np

from stromboli import kube
from stromboli.core.model.jobs.job import Job
from stromboli.core.model.nodes.table import Mask, Vector
from stromboli.core.model.tasks.task import Task
from stromboli.core.model.tasks.task_class import TaskClass
from stromboli.core.search.class_view import GRID, REFUSED
from stromboli.core.search.node_rules import Locality, NodeScorer
from stromboli.core.session.session import Session
from stromboli.core.topology.sub_jobs import has_topology_constraints


@dataclass(frozen=True, slots=True)
class NodeScore:
    node: str
    total: float
    #: Points by scorer.
    points: Mapping[str, float]

    def as_plain(self) -> dict[str, Any]:
        return {"node": self.node, "total": self.total, "points": dict(self.points)}


@dataclass(frozen=True, slots=True)
class Rejection:
    reason: str
    nodes: Sequence[str]


@dataclass(frozen=True, slots=True)
class ClassScores:
    """The candidate nodes of pods that no rule can distinguish, the best first."""

    pods: Sequence[str]
    request: Mapping[str, str]
    candidates: Sequence[NodeScore]
    rejections: Sequence[Rejection]
    #: The node that the search takes first; empty for none.
    chosen: str
    #: Whether a network domain is chosen before the nodes in it.
    in_domain: bool

    @property
    def scorers(self) -> list[str]:
        """The scorers that give points to any node, in the order of the configuration."""
        scorers = list(self.candidates[0].points) if self.candidates else []
        return [scorer for scorer in scorers if any(each.points[scorer] for each in self.candidates)]

    def as_plain(self) -> dict[str, Any]:
        """Return the scores for JSON and YAML."""
        return {
            "pods": list(self.pods),
            "request": dict(self.request),
            "chosen": self.chosen,
            "domainFirst": self.in_domain,
            "candidates": [each.as_plain() for each in self.candidates],
            "rejected": [{"reason": each.reason, "nodes": list(each.nodes)} for each in self.rejections],
        }


def without_nodes(objects: Sequence[kube.KubeObject], pods: frozenset[str]) -> list[kube.KubeObject]:
    """Return the objects with these pods waiting again, as before they were placed."""
    return [_waiting(entry) if isinstance(entry, kube.Pod) and entry.key in pods else entry for entry in objects]


def _waiting(pod: kube.Pod) -> kube.Pod:
    if pod.status.is_finished:
        return pod
    status = kube.PodStatus(phase="Pending")
    spec = msgspec.structs.replace(pod.spec, node_name=None)
    return msgspec.structs.replace(pod, spec=spec, status=status)


def node_scores(session: Session, job: Job) -> list[ClassScores]:
    """Return the scores of the waiting pods of a job in an open session, by class."""
    classes: dict[int, list[Task]] = {}
    for task in sorted(job.tasks.values(), key=session.task_order_key):
        if session.ledger.is_pending(task):
            classes.setdefault(task.task_class.number, []).append(task)
    return [class_scores(session, job, tasks) for tasks in classes.values()]


def class_scores(session: Session, job: Job, tasks: Sequence[Task]) -> ClassScores:
    """Return the scores of equal pods of a job."""
    names, first = session.nodes.names, tasks[0]
    task_class = first.task_class
    session.search.current_task = first
    total = _totals(session, task_class)
    points = _points(session, task_class, total > REFUSED) if (total > REFUSED).any() else {}
    order = sorted(np.flatnonzero(total > REFUSED).tolist(), key=lambda row: (-total[row], row))
    chosen = session.search.find_nodes(first, 1)
    return ClassScores(
        pods=[task.key for task in tasks],
        request={session.axis.names[d]: session.axis.format(d, amount) for d, amount in task_class.request},
        candidates=[_score(names[row], row, points, total) for row in order],
        rejections=list(_rejections(session, task_class)),
        chosen=names[chosen[0]] if chosen else "",
        in_domain=has_topology_constraints(job),
    )


def _score(name: str, row: int, points: Mapping[str, Vector], total: Vector) -> NodeScore:
    return NodeScore(name, float(total[row]), {scorer: float(values[row]) for scorer, values in points.items()})


def _rejections(session: Session, task_class: TaskClass) -> Iterator[Rejection]:
    names = session.nodes.names
    groups = session.search.refusals(task_class).groups
    for reason, index in sorted(groups, key=lambda group: (-len(group[1]), group[0].detail)):
        yield Rejection(reason.detail, [names[row] for row in index.tolist()])


def _totals(session: Session, task_class: TaskClass) -> Vector:
    """Return the sums by which the search ranks nodes, rounded as there; minus infinity for rejected nodes."""
    view = session.search.view(task_class)
    if not view.possible:
        return np.full(len(session.nodes), REFUSED)
    scores = view.evaluate(session.ledger.all_rows)
    return (view.over_cluster(scores, 1)[0] if view.reaches_over_cluster else scores) / GRID


def _points(session: Session, task_class: TaskClass, candidates: Mask) -> dict[str, Vector]:
    """Return the points of each scorer that applies to the class."""
    ledger, static = session.ledger, session.search.view(task_class).static
    seen = {Locality.STATIC: static.admitted, Locality.CLUSTER: candidates}
    points: dict[str, Vector] = {}
    for scorer in session.program.scorers:
        if scorer.applies_to(task_class, ledger):
            scores = scorer.scores(task_class, ledger.all_rows, ledger, seen.get(scorer.locality))
            points[title_of_scorer(scorer)] = points.get(title_of_scorer(scorer), np.zeros(len(scores))) + scores
    return points


def title_of_scorer(scorer: NodeScorer) -> str:
    """Return the plugin, and for one of several rules of a plugin also the rule: `nodeorder/least-requested`."""
    rule = type(scorer).__name__
    if rule.startswith("_"):  # the only answer of the plugin
        return scorer.name
    return f"{scorer.name}/{re.sub('(?<!^)(?=[A-Z])', '-', rule).lower()}"
