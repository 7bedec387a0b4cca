"""drf: dominant resource fairness between jobs, and between queues in a tree with enableHierarchy.

Queues name their path (`volcano.sh/hierarchy: root/science/physics`) and the weight of each level
(`volcano.sh/hierarchy-weights: 1/2/4`); the leaves are jobs. The use of a node is the sum of its children's, each
scaled down to the smallest share among those with unmet demand, so that one greedy child does not penalise its
siblings. Shares are computed from the ledger on demand, and only where something changed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager

from stromboli.core.config.plugin import Event, EvictionContext, Key, Plugin, Victims
from stromboli.core.model.jobs.job import Job
from stromboli.core.model.queues.queue import HIERARCHY, HIERARCHY_WEIGHTS, ROOT, Queue
from stromboli.core.model.resources.resources import Amounts, dominant_share
from stromboli.core.model.tasks.task import Task
from stromboli.core.session.session import Session

ShareKey = tuple[tuple[bool, float], ...]


class _Node:
    __slots__ = ("allocated", "children", "job", "saturated", "share", "stale", "weight")

    def __init__(self, weight: float, job: Job | None = None) -> None:
        self.weight = weight
        self.job = job
        self.children: dict[str, _Node] = {}
        self.allocated: list[float] = []
        self.share = 0.0
        self.saturated = False
        self.stale = True


class ShareTree:
    def __init__(self, session: Session) -> None:
        self._session = session
        self._total = session.shareable
        self._root = _Node(1.0)
        self._paths: dict[str, list[_Node]] = {}
        self._supposed: dict[str, list[int]] = {}
        self._exhausted: frozenset[int] = frozenset()
        for queue in session.queues.values():
            self._paths[queue.name] = self._add_queue(queue)
        for job in session.jobs.values():
            if job.queue in self._paths:
                self._paths[job.queue][-1].children[f"job {job.key}"] = _Node(1.0, job)

    def _add_queue(self, queue: Queue) -> list[_Node]:
        """Return the tree nodes from below the root down to that of the queue."""
        names = [name for name in queue.annotations.get(HIERARCHY, "").split("/") if name]
        weights = queue.annotations.get(HIERARCHY_WEIGHTS, "").split("/")
        if not names:
            names, weights = [ROOT, queue.name], ["1", str(queue.weight)]
        node, path = self._root, []
        for level, name in enumerate(names[1:], start=1):
            weight = _weight(weights[level] if level < len(weights) else "1")
            node = node.children.setdefault(f"queue {name}", _Node(weight))
            path.append(node)
        return path or [self._root]

    def changed(self, job: str) -> None:
        """Record that the allocation of a job changed; the values of its ancestors become stale."""
        queue = self._session.jobs[job].queue
        self._root.stale = True
        for node in self._paths.get(queue, ()):
            node.stale = True
        leaf = self._paths[queue][-1].children.get(f"job {job}") if queue in self._paths else None
        if leaf is not None:
            leaf.job, leaf.stale = self._session.jobs[job], True

    @contextmanager
    def supposing(self, task: Task, sign: int) -> Iterator[None]:
        """Evaluate as if the task were placed (1) or evicted (-1)."""
        change = self._supposed.setdefault(task.job, [0] * len(self._total))
        for dimension, amount in task.task_class.request:
            change[dimension] += sign * amount
        self.changed(task.job)
        try:
            yield
        finally:
            for dimension, amount in task.task_class.request:
                change[dimension] -= sign * amount
            self.changed(task.job)

    def key(self, queue: Queue) -> ShareKey:
        """Unsaturated before saturated, then the smaller weighted share, level by level."""
        self._refresh()
        return tuple((node.saturated, node.share / node.weight) for node in self._paths[queue.name])

    # -- shares -------------------------------------------------------------------------------------------------

    def _refresh(self) -> None:
        if not self._root.stale:
            return
        allocated = self._session.ledger.queues[ROOT].allocated
        exhausted = frozenset(d for d, total in enumerate(self._total) if allocated[d] >= total)
        if exhausted != self._exhausted:
            self._exhausted = exhausted
            self._forget(self._root)
        self._derive(self._root)

    def _forget(self, node: _Node) -> None:
        node.stale = True
        for child in node.children.values():
            self._forget(child)

    def _derive(self, node: _Node) -> None:
        if not node.stale:
            return
        node.stale = False
        if node.job is not None:
            self._derive_leaf(node, node.job)
        else:
            for child in node.children.values():
                self._derive(child)
            self._combine(node)
        node.share = max((a / t for a, t in zip(node.allocated, self._total, strict=True) if t and a), default=0.0)

    def _derive_leaf(self, node: _Node, job: Job) -> None:
        change = self._supposed.get(job.key)
        held = job.allocated if change is None else [a + b for a, b in zip(job.allocated, change, strict=True)]
        node.allocated = [float(amount) for amount in held]
        node.saturated = any(
            requested and (d in self._exhausted or (held[d] and held[d] >= requested))
            for d, requested in enumerate(job.requested)
        )

    def _combine(self, node: _Node) -> None:
        children = node.children.values()
        level = min((child.share for child in children if child.share and not child.saturated), default=1.0)
        node.saturated = all(child.saturated for child in children)
        node.allocated = [0.0] * len(self._total)
        for child in children:
            if child.share:
                scale = 1.0 if child.saturated else min(level, 1.0) / child.share
                for dimension, amount in enumerate(child.allocated):
                    node.allocated[dimension] += amount * scale


def _weight(text: str) -> float:
    try:
        return max(float(text), 1.0)
    except ValueError:
        return 1.0


#: Shares that differ by less are equal.
_CLOSE = 1e-6


class Drf(Plugin):
    name = "drf"

    def unused_extension_points(self) -> frozenset[str]:
        """Without a hierarchy, drf does not order queues or select victims between them."""
        return (
            frozenset()
            if self.hierarchy
            else frozenset(("queue_order", "reclaimable", "evictable", "on_allocate", "on_deallocate"))
        )

    def open(self, session: Session) -> None:
        self._session = session
        self._total = session.shareable
        self._jobs = session.jobs
        self.queue_order_reaches_others = self.hierarchy
        if self.hierarchy:
            self._tree = ShareTree(session)

    # -- jobs ---------------------------------------------------------------------------------------------------

    def job_order(self, job: Job) -> Key:
        return dominant_share(job.allocated, self._total)

    def preemptable(self, preemptor: Task, candidates: Sequence[Task]) -> Victims:
        """Victims whose job keeps at least the share that the preemptor's job would get."""
        gained = self._jobs[preemptor.job].allocated[:]
        _add(gained, preemptor, 1)
        mine = dominant_share(gained, self._total)
        left: dict[str, Amounts] = {}
        victims = []
        for task in candidates:
            allocated = left.setdefault(task.job, self._jobs[task.job].allocated[:])
            _add(allocated, task, -1)
            theirs = dominant_share(allocated, self._total)
            if mine < theirs or abs(mine - theirs) <= _CLOSE:
                victims.append(task)
        return victims

    def justification(self, preemptor: Task, victim: Task) -> str:
        mine, theirs = self._shares(preemptor, victim)
        if self._jobs[victim.job].queue != self._jobs[preemptor.job].queue:
            return (
                f"queue {self._jobs[victim.job].queue} comes after queue {self._jobs[preemptor.job].queue}, also then"
            )
        return f"PodGroup {victim.job} would keep a share of {theirs:.0%}, {preemptor.job} would have {mine:.0%}"

    def veto(self, preemptor: Task, victim: Task) -> str:
        mine, theirs = self._shares(preemptor, victim)
        if self._jobs[victim.job].queue != self._jobs[preemptor.job].queue:
            return (
                f"queue {self._jobs[victim.job].queue} would then come before queue {self._jobs[preemptor.job].queue}"
            )
        return f"PodGroup {victim.job} would keep a share of {theirs:.0%} only, {preemptor.job} would have {mine:.0%}"

    def _shares(self, preemptor: Task, victim: Task) -> tuple[float, float]:
        """Return the share of the preemptor's job with it, and of the victim's job without it."""
        gained, left = self._jobs[preemptor.job].allocated[:], self._jobs[victim.job].allocated[:]
        _add(gained, preemptor, 1)
        _add(left, victim, -1)
        return dominant_share(gained, self._total), dominant_share(left, self._total)

    # -- queues in a tree ---------------------------------------------------------------------------------------

    def queue_order(self, queue: Queue) -> Key:
        return self._tree.key(queue)

    def reclaimable(self, preemptor: Task, candidates: Sequence[Task]) -> Victims:
        """Victims whose queue, without them, still comes after the preemptor's queue with the preemptor."""
        with self._tree.supposing(preemptor, 1):
            return self._of_queues_after(self._jobs[preemptor.job], candidates)

    def evictable(self, context: EvictionContext, candidates: Sequence[Task]) -> Victims:
        """Apply `reclaimable` to all tasks that a job needs to start; within a queue every candidate is evictable."""
        if context.kind != "reclaim":
            return candidates
        waiting = [task for task in context.job.tasks.values() if self._session.ledger.is_pending(task)]
        with ExitStack() as supposed:
            for task in waiting[: max(1, context.job.tasks_missing)]:
                supposed.enter_context(self._tree.supposing(task, 1))
            return self._of_queues_after(context.job, candidates)

    def _of_queues_after(self, job: Job, candidates: Sequence[Task]) -> list[Task]:
        """Return victims whose queue, without them, comes after the queue of a job."""
        mine = self._session.queue_of(job)
        victims = []
        for task in candidates:
            theirs = self._session.queue_of(self._jobs[task.job])
            with self._tree.supposing(task, -1):
                if self._tree.key(mine) < self._tree.key(theirs):
                    victims.append(task)
        return victims

    def on_allocate(self, event: Event) -> None:
        self._tree.changed(event.tasks[0].job)

    def on_deallocate(self, event: Event) -> None:
        self._tree.changed(event.tasks[0].job)


def _add(amounts: Amounts, task: Task, sign: int) -> None:
    for dimension, amount in task.task_class.request:
        amounts[dimension] += sign * amount
