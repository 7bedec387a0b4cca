"""The cost of preemption plans, and how many nodes are compared."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from stromboli.core.model.jobs.job import Job
from stromboli.core.model.resources.resources import Request
from stromboli.core.model.tasks.task import Task
from stromboli.core.session.session import Session

#: Smaller is evicted first: the position of the queue, the priorities of job and task, whether it is not spare, and the
#: position in the order of victims, if one is configured.
Grade = tuple[Any, ...]
#: Returns the position of a task of a job; the last argument is whether it is not spare. Smaller is evicted first.
VictimOrder = Callable[[Job, Task, bool], Any]
#: Lower bounds of the most important victim's grade, the number of victims, and the age of their work. Among equals,
#: members with higher numbers are evicted first.
Bound = tuple[Grade, int, float, int]
#: Smaller is cheaper.
Cost = tuple[Any, ...]

#: The number of nodes that are compared after the first suitable one, if they could be cheaper.
_MAX_COMPARED = 32
#: As in kube-scheduler: the number of victims counts more than priorities, which may be negative.
_ABOVE_PRIORITIES = 1 << 31


@dataclass(frozen=True, slots=True)
class CostComparison:
    """By the most important victim, their number, the sum of their priorities, and the age of their work."""

    def limit(self, nodes: int) -> int:
        """Return how many suitable nodes to compare, if preemption is possible on `nodes` nodes."""
        return 1 + _MAX_COMPARED

    def cost(self, session: Session, top: Grade, victims: Sequence[Task], short: Request = ()) -> Cost:
        """`short` is the shortage that the victims make up for, if it is on one node."""
        jobs = session.jobs
        importance = sum([jobs[task.job].spec.priority + task.priority for task in victims])
        return top, len(victims), importance, -sum([task.created for task in victims])

    def could_beat(self, bound: Bound, best: Cost) -> bool:
        """Report whether a node with this lower bound could be cheaper than the best so far."""
        return bound[:2] < best[:2]


BY_COST = CostComparison()


@dataclass(frozen=True, slots=True)
class KubeCostComparison(CostComparison):
    """As kube-scheduler compares: by the highest priority among the victims, the sum of their priorities, their number,
    and the latest start among the most important. Only some of the nodes are compared.
    """

    percentage: int
    min_nodes: int
    max_nodes: int

    def limit(self, nodes: int) -> int:
        number = min(max(nodes * self.percentage // 100, self.min_nodes), self.max_nodes)
        return max(1, number)

    def cost(self, session: Session, top: Grade, victims: Sequence[Task], short: Request = ()) -> Cost:
        priorities = [max(session.jobs[task.job].priority, task.priority) for task in victims]
        highest = max(priorities, default=0)
        starts = [
            task.placed_at or task.created
            for task, priority in zip(victims, priorities, strict=True)
            if priority == highest
        ]
        total = sum(priority + _ABOVE_PRIORITIES for priority in priorities)
        return highest, total, len(victims), -min(starts, default=0.0)

    def could_beat(self, bound: Bound, best: Cost) -> bool:
        return True
