"""The pending tasks of a job in order, and how many of them the cycle has served."""

from __future__ import annotations

from collections.abc import Sequence

from stromboli.core.model.tasks.task import Task


class PendingTasks:
    """Tasks in the order in which they are served. Taking from it moves a position; an attempt can be restarted."""

    __slots__ = ("_position", "_tasks")

    def __init__(self, tasks: Sequence[Task]) -> None:
        self._tasks = tasks
        self._position = 0

    def __bool__(self) -> bool:
        return self._position < len(self._tasks)

    def __len__(self) -> int:
        return len(self._tasks) - self._position

    @property
    def first(self) -> Task:
        return self._tasks[self._position]

    @property
    def mark(self) -> int:
        return self._position

    def return_to(self, mark: int) -> None:
        self._position = mark

    def take_run(self, limit: int) -> Sequence[Task]:
        """The next tasks that no rule distinguishes, at most `limit`. A nominated task is a run of its own."""
        tasks, start = self._tasks, self._position
        first = tasks[start]
        end, limit = start + 1, min(start + limit, len(tasks))
        if not first.nominated_node:
            task_class = first.task_class
            while end < limit and tasks[end].task_class is task_class and not tasks[end].nominated_node:
                end += 1
        self._position = end
        return tasks[start:end]

    def put_nominated_first(self) -> None:
        """Serve nominated tasks first: a failed member before them would make their evictions useless."""
        self._tasks = sorted(self.rest, key=lambda task: not task.nominated_node)
        self._position = 0

    @property
    def rest(self) -> Sequence[Task]:
        return self._tasks[self._position :]

    def drop(self, served: set[str]) -> None:
        """Remove tasks that were served out of order."""
        self._tasks = [task for task in self.rest if task.uid not in served]
        self._position = 0
