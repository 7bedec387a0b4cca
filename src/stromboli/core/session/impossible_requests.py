"""Requests that can never be satisfied: larger than every node, or than the whole cluster when it is empty.

The check is a bound from below. It counts plain amounts of nodes, not devices that plugins assign, and ignores every
other constraint, so that a job that merely waits for capacity is never reported.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, MutableMapping, Sequence
from functools import cached_property, partial
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from stromboli.core.model.jobs.job import Job, role_ready
from stromboli.core.model.nodes.empty_capacity import EmptyCapacity, empty_capacity
from stromboli.core.model.reasons import IMPOSSIBLE, Code, Reason
from stromboli.core.model.resources.resources import BASE_RESOURCES, PODS, UNOFFERED, Amounts, Request, ResourceAxis
from stromboli.core.model.tasks.task import ALLOCATED_STATUSES, Task, TaskStatus
from stromboli.core.model.tasks.task_class import TaskClass

if TYPE_CHECKING:
    from stromboli.core.session.session import Session

#: Maximum number of resource names in a message.
_MAX_LISTED = 8
#: Count for the minimum of a job, and need capacity.
_LIVE = frozenset((TaskStatus.PENDING, TaskStatus.PIPELINED, *ALLOCATED_STATUSES))


class ImpossibleRequests:
    """Finds the jobs of a session that cannot start however long they wait."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._found: dict[str, Reason | None] = {}
        #: By class and counts: jobs of equal pods often differ only by name.
        self._found_for_equal_pods: dict[tuple[object, ...], Reason | None] = {}

    @cached_property
    def capacity(self) -> EmptyCapacity:
        """The capacity of the empty nodes."""
        session = self._session
        return empty_capacity(session.nodes, session.snapshot.layout, session.snapshot.amounts)

    @cached_property
    def _too_large_by_class(self) -> MutableMapping[TaskClass, Reason | None]:
        """Valid as long as the node table is: jobs that never fit wait through many cycles."""
        known: MutableMapping[TaskClass, Reason | None] = self._session.nodes.remember(
            (ImpossibleRequests, self._session.snapshot.layout.resources), lambda _: WeakKeyDictionary()
        )
        return known

    def find(self, job: Job) -> Reason | None:
        """Return why the job can never start or, if it has started, why some of its pods can never; None if they can.

        Valid from the end of the cycle on.
        """
        if job.key not in self._found:
            self._found[job.key] = self._find(job)
        return self._found[job.key]

    def find_for(self, task: Task) -> Reason | None:
        """Return why a task can never start: because of its job or, if that has started, of its own request."""
        job = self._session.jobs[task.job]
        found = self.find(job)
        if found is None or not job.is_ready:
            return found
        return self._too_large_of(task.task_class)

    def _find(self, job: Job) -> Reason | None:
        session = self._session
        if not self.capacity.nodes or job.spec.fault or job.queue not in session.queues:
            return None
        found, refusal = _naming(self._of_members(job), job.classes), session.refusals.get(job.key)
        if found is not None or refusal is None:
            return found
        return next((reason for reason in refusal.reasons if reason.code in IMPOSSIBLE), None)

    def _of_members(self, job: Job) -> Reason | None:
        if not job.tasks:
            return self.exceeded_by(job.min_resources or ())
        classes = job.classes
        if len(classes) > 1 or job.role_minimums_apply:
            return self._of_classes(job, classes)
        key = (*classes, job.min_available, *job.counts)
        try:
            return self._found_for_equal_pods[key]
        except KeyError:
            found = self._found_for_equal_pods[key] = self._of_equal_pods(job, *classes)
            return found

    def _of_equal_pods(self, job: Job, task_class: TaskClass) -> Reason | None:
        """Return the same as `_of_classes`: a class that exceeds every node is the reason if any pod must be placed."""
        if task_class.best_effort or self.capacity.copies(_plain(task_class)):
            return self._of_classes(job, (task_class,))
        counts = job.counts
        if self._starts_singly(job):
            number = counts[TaskStatus.PENDING]
        else:
            live = sum(counts[status] for status in _LIVE)
            number = _within(job.min_available - counts[TaskStatus.SUCCEEDED], live)
        return self._too_large_of(task_class) if number else None

    def _of_classes(self, job: Job, classes: Iterable[TaskClass]) -> Reason | None:
        if self._has_places_for_all(job, classes):
            return None
        if self._starts_singly(job):
            pending = {task.task_class for task in job.tasks.values() if self._session.ledger.is_pending(task)}
            return self._too_large(_plain(each) for each in sorted(pending, key=lambda each: each.number))
        return self._of_gang(_Gang(self._session, job))

    def _starts_singly(self, job: Job) -> bool:
        """Report whether each pending task may start without the others."""
        return not self._session.program.flat["job_ready"] or (job.is_ready and not job.roles_short(role_ready))

    def _has_places_for_all(self, job: Job, classes: Iterable[TaskClass]) -> bool:
        """Report whether the empty nodes have capacity for every task, as they do for most jobs."""
        if any(amount > total for amount, total in zip(job.requested, self.capacity.total, strict=False)):
            return False
        return all(self.capacity.copies(_plain(each)) >= len(job.tasks) for each in classes)

    def _of_gang(self, gang: _Gang) -> Reason | None:
        needed = {request: gang.copies_needed(request) for request in gang.requests}
        return (
            self._too_large(request for request, number in needed.items() if number > 0)
            or self._too_much(gang)
            or self._too_many(needed)
        )

    def rules_out(self, job: Job) -> bool:
        """Report whether the job can never start, in the middle of a cycle: without refusals, which are incomplete."""
        return bool(self.capacity.nodes) and (self._of_members(job) is not None or self._exceeds_queue(job))

    def _exceeds_queue(self, job: Job) -> bool:
        """Report whether the minimum of the job is larger than the capability of its queue, or of one above it."""
        session = self._session
        limits = [session.queues[each.name].capability for each in session.ledger.queues[job.queue].chain]
        gang = _Gang(session, job) if any(limits) else None
        return gang is not None and any(
            gang.amount_needed(dimension) > amount for limit in limits for dimension, amount in limit
        )

    # -- reasons ------------------------------------------------------------------------------------------------

    def exceeded_by(self, minimum: Iterable[tuple[int, int]]) -> Reason | None:
        """Return how an amount of `minResources` exceeds all nodes together; None if none does."""
        if not self.capacity.nodes:
            return Reason(Code.NO_NODES, "the cluster has no nodes")
        return self._over_total("minResources requests", minimum)

    def _too_large_of(self, task_class: TaskClass) -> Reason | None:
        """Return how a class exceeds every node."""
        known = self._too_large_by_class
        if task_class not in known:
            known[task_class] = _naming(self._too_large([_plain(task_class)]), [task_class])
        return known[task_class]

    def _too_large(self, requests: Iterable[Request]) -> Reason | None:
        """Return how one of the requests exceeds every node."""
        axis, largest = self._session.axis, self.capacity.largest
        request = next((each for each in requests if not self.capacity.copies(each)), None)
        if request is None:
            return None
        over = [(d, amount) for d, amount in request if amount > largest[d]]
        if over:
            return self._compared(Code.EXCEEDS_EVERY_NODE, "a pod requests", over, "the largest node has", largest)
        amounts = " and ".join(axis.short(d, amount) for d, amount in request if d != PODS)
        detail = f"a pod requests {axis.describe(request)}, but no node has all of it"
        return Reason(Code.EXCEEDS_EVERY_NODE, detail, short=f"no node has {amounts}")

    def _too_much(self, gang: _Gang) -> Reason | None:
        """Return how the sum of the requests exceeds the cluster."""
        dimensions = sorted({d for request in gang.requests for d, _ in request})
        needed = ((d, gang.amount_needed(d)) for d in dimensions)
        return self._over_total(f"the {gang.needed} pods that must start together request", needed)

    def _over_total(self, subject: str, needed: Iterable[tuple[int, int]]) -> Reason | None:
        total = self.capacity.total
        over = [(d, amount) for d, amount in needed if amount > total[d]]
        holder = "the cluster has" if self._session.nodes.excluded_nodes is None else "the shard has"
        return self._compared(Code.EXCEEDS_CLUSTER, subject, over, holder, total) if over else None

    def _compared(self, code: Code, subject: str, over: Sequence[tuple[int, int]], holder: str, has: Amounts) -> Reason:
        """Return the reason for amounts above those of the holder: the largest node, or the cluster."""
        axis = self._session.axis
        if missing := [axis.names[d] for d, _ in over if not has[d]]:
            text = f"no node has {', '.join(missing)}"
            return Reason(Code.NO_NODE_HAS_RESOURCE, text, short=text)
        worst, amount = max(over, key=lambda each: each[1] / has[each[0]])
        short = partial(_short_of, axis, worst, amount, holder, has[worst])
        detail = f"{subject} {_listed(axis, over)}, but {holder} {_listed(axis, [(d, has[d]) for d, _ in over])}"
        return Reason(code, detail, short=short)

    def _too_many(self, needed: Mapping[Request, int]) -> Reason | None:
        """Return which number of equal pods exceeds the places for them."""
        axis, copies = self._session.axis, self.capacity.copies
        request = next((request for request, number in needed.items() if number > copies(request)), None)
        if request is None:
            return None
        number, places = needed[request], copies(request)
        detail = f"{number} pods that request {axis.describe(request)} must start together"
        short = f"needs {number} pods at once, empty nodes fit {places}"
        return Reason(Code.EXCEEDS_CLUSTER, f"{detail}, but only {places} fit on the empty nodes", short=short)


class _Gang:
    """The members of a job that count for its minimum, by role and request."""

    def __init__(self, session: Session, job: Job) -> None:
        applies = job.role_minimums_apply
        self._live: Counter[tuple[str, Request]] = Counter()
        done: Counter[str] = Counter()
        for role, task_class, status, number in _members(session, job, by_role=applies):
            if status == TaskStatus.SUCCEEDED or task_class.best_effort:
                done[role] += number
            elif status in _LIVE:
                self._live[role, _plain(task_class)] += number
        self.requests = list(dict.fromkeys(request for _, request in self._live))
        self._sizes: Counter[str] = Counter()
        for (role, _), number in self._live.items():
            self._sizes[role] += number
        #: The number of members that need capacity, in all and by role; 0 while fewer pods exist.
        self.needed = _within(job.min_available - done.total(), self._live.total())
        minimums = job.spec.min_task_member if applies else {}
        self._minimums = {role: _within(each - done[role], self._sizes[role]) for role, each in minimums.items()}

    def copies_needed(self, request: Request) -> int:
        """Return the least number of members with this request: the others are too few for the minimum."""
        alike = {role: number for (role, other), number in self._live.items() if other == request}
        by_role = sum(
            max(self._minimums.get(role, 0) - (self._sizes[role] - number), 0) for role, number in alike.items()
        )
        others = self._live.total() - sum(alike.values())
        return min(max(self.needed - others, by_role), sum(alike.values()))

    def amount_needed(self, dimension: int) -> int:
        """Return the least amount of a resource that the minimum needs: the smallest requests count."""
        by_role: dict[str, list[tuple[int, int]]] = {}
        for (role, request), number in self._live.items():
            by_role.setdefault(role, []).append((dict(request).get(dimension, 0), number))
        total, rest = 0, list[tuple[int, int]]()
        for role, members in by_role.items():
            part, left = _smallest(members, self._minimums.get(role, 0))
            total, rest = total + part, rest + left
        return total + _smallest(rest, self.needed - sum(self._minimums.values()))[0]


def _members(session: Session, job: Job, *, by_role: bool) -> Iterator[tuple[str, TaskClass, int, int]]:
    """Yield role, class and status of members with their number: the job has counted members that are all equal."""
    if len(job.classes) == 1 and not by_role:
        (task_class,) = job.classes
        for status, number in enumerate(job.counts[: len(TaskStatus)]):
            if number:
                yield "", task_class, status, number
        return
    codes = session.ledger.codes
    for task in job.tasks.values():
        yield task.role if by_role else "", task.task_class, codes[task.row], 1


def _naming(reason: Reason | None, classes: Iterable[TaskClass]) -> Reason | None:
    """Return the reason with the names that share a dimension, instead of the name of the dimension."""
    if reason is None or UNOFFERED not in reason.detail:
        return reason
    names = sorted({name for task_class in classes for name in task_class.unoffered})
    listed = ", ".join(names[:_MAX_LISTED]) or "some of the named resources"
    if len(names) > _MAX_LISTED:
        listed += f" and {len(names) - _MAX_LISTED} more"
    text = reason.detail.replace(UNOFFERED, listed)
    return Reason(reason.code, text, short=text)


def _short_of(axis: ResourceAxis, dimension: int, amount: int, holder: str, has: int) -> str:
    return f"needs {axis.short(dimension, amount)}, {holder.removeprefix('the ')} {axis.format(dimension, has)}"


def _listed(axis: ResourceAxis, amounts: Iterable[tuple[int, int]]) -> str:
    return ", ".join(f"{axis.names[d]} {axis.format(d, amount)}" for d, amount in amounts)


def _within(needed: int, members: int) -> int:
    return needed if 0 < needed <= members else 0


def _smallest(members: list[tuple[int, int]], number: int) -> tuple[int, list[tuple[int, int]]]:
    """Return the sum of the smallest amounts of a number of members, and the other members."""
    total, rest = 0, []
    for amount, count in sorted(members):
        taken = min(count, max(number, 0))
        total, number = total + taken * amount, number - taken
        rest.append((amount, count - taken))
    return total, rest


def _plain(task_class: TaskClass) -> Request:
    """Return the part of a request that only amounts of nodes decide: plugins account for shared devices."""
    if task_class.devices is None:
        return task_class.request
    return tuple((d, amount) for d, amount in task_class.request if d < len(BASE_RESOURCES))
