"""A reference scheduler: one queue, one job, one task, one node after the other.

It decides what the default configuration decides (priority, gang, overcommit, drf, predicates, proportion, nodeorder,
binpack; enqueue, allocate, backfill) and shares no code with it: plain dictionaries, no columns, no batches, no caches.
It covers resources, node selectors and affinity, taints, host ports, roles, gates, nominated nodes, best-effort pods
and releasing pods; not inter-pod rules, sub-groups, images and volumes.

Floats are computed in the written order of the formulas, so that equal means equal to the last bit.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from stromboli import kube
from tests.properties.cycle import recount

Amounts = dict[str, int]

GROUP_NAME, ROLE = "scheduling.k8s.io/group-name", "volcano.sh/task-spec"
PENDING, ALLOCATED, BINDING, PIPELINED, BOUND, RUNNING, RELEASING, SUCCEEDED, FAILED, UNKNOWN = range(10)
PLACED = (ALLOCATED, BINDING, BOUND, RUNNING)
READY = (*PLACED, SUCCEEDED)
GPU = "nvidia.com/gpu"
EVERYTHING = 1 << 62
MANY_PODS = 1 << 31
CRUMB = 1e-3


# -- reading objects --------------------------------------------------------------------------------------------------


def amounts_of(resources: Mapping[str, Any] | None) -> Amounts:
    return {name: amount for name, amount in recount.amounts_of(resources).items() if amount}


def seconds(text: str | None) -> float:
    return datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp() if text else 0.0


@dataclass(eq=False)
class Node:
    facts: kube.KubeNode
    allocatable: Amounts
    used: Counter[str] = field(default_factory=Counter)
    releasing: Counter[str] = field(default_factory=Counter)
    held: Counter[str] = field(default_factory=Counter)
    #: cpu and memory in use for scorers: containers without requests count with a default.
    scored: Counter[str] = field(default_factory=Counter)
    ports: Counter[int] = field(default_factory=Counter)

    @property
    def name(self) -> str:
        return self.facts.metadata.name

    @property
    def labels(self) -> Mapping[str, str]:
        return self.facts.metadata.labels or {}

    def idle(self, resource: str) -> int:
        return self.allocatable.get(resource, 0) - self.used[resource]

    def idle_later(self, resource: str) -> int:
        return self.idle(resource) + self.releasing[resource] - self.held[resource]

    def add(self, task: Task, status: int, sign: int) -> None:
        """Add a task in this status, or, with -1, remove it."""
        for resource, amount in task.request.items():
            self.used[resource] += sign * amount * (status != PIPELINED)
            self.releasing[resource] += sign * amount * (status == RELEASING)
            self.held[resource] += sign * amount * (status == PIPELINED)
        for resource, amount in task.scored.items():
            self.scored[resource] += sign * amount
        for port in task.ports:
            self.ports[port] += sign


@dataclass(eq=False)
class Task:
    pod: kube.Pod
    job: str
    status: int
    node: Node | None
    request: Amounts
    scored: Amounts
    ports: tuple[int, ...]

    @property
    def key(self) -> str:
        return f"{self.pod.metadata.namespace}/{self.pod.metadata.name}"

    @property
    def role(self) -> str:
        return (self.pod.metadata.annotations or {}).get(ROLE, "")

    @property
    def is_gated(self) -> bool:
        return bool(self.pod.spec.scheduling_gates)

    @property
    def is_best_effort(self) -> bool:
        return set(self.request) == {"pods"}

    @property
    def order(self) -> tuple[Any, ...]:
        """Members of an indexed set by index, others after them by age."""
        created, parts = seconds(self.pod.metadata.creation_timestamp), self.pod.metadata.name.rsplit("-", 2)
        numbered = len(parts) == 3 and parts[2].isdecimal()
        return (
            (0, int(parts[2]), created, self.pod.metadata.uid) if numbered else (1, 0, created, self.pod.metadata.uid)
        )


@dataclass(eq=False)
class Job:
    group: kube.PodGroup
    priority: int
    phase: str
    tasks: list[Task] = field(default_factory=list)

    def __post_init__(self) -> None:
        spec = self.group.spec
        self.queue = spec.queue or "default"
        self.minimum = spec.min_member or 0
        self.role_minimums = dict(spec.min_task_member or {})
        self.min_resources = None if spec.min_resources is None else amounts_of(spec.min_resources)

    def count(self, *statuses: int, role: str | None = None) -> int:
        return sum(1 for task in self.tasks if task.status in statuses and role in (None, task.role))

    def best_effort_waiting(self, role: str | None = None) -> int:
        """Count waiting best-effort tasks, which are never required."""
        waiting = (task for task in self.tasks if task.status == PENDING and task.is_best_effort)
        return sum(1 for task in waiting if role in (None, task.role))

    def has_enough(self, *statuses: int) -> bool:
        """Report whether tasks in these statuses are enough to start, in total and per role."""
        if self.count(*statuses) + self.best_effort_waiting() < self.minimum:
            return False
        roles = self.role_minimums.items() if self.role_minimums_apply else ()
        return all(self.count(*statuses, role=role) + self.best_effort_waiting(role) >= least for role, least in roles)

    @property
    def waits_for_release_only(self) -> bool:
        """Report whether it can start once releasing pods are gone, so that its other tasks are served later."""
        return self.count(*READY, PIPELINED) >= self.minimum and self.has_enough(*READY, PIPELINED)

    @property
    def role_minimums_apply(self) -> bool:
        return self.minimum >= sum(self.role_minimums.values())

    @property
    def is_valid(self) -> bool:
        """Report whether enough tasks are placed or can be placed."""
        able = (*READY, PIPELINED, PENDING)
        roles = self.role_minimums.items() if self.role_minimums_apply else ()
        return self.count(*able) >= self.minimum and all(self.count(*able, role=r) >= least for r, least in roles)

    def can_do_without(self, failed: Sequence[str]) -> bool:
        """Report whether it can still start after tasks of these roles found no node."""
        if self.minimum >= len(self.tasks):
            return False
        if self.role_minimums and not self.role_minimums_apply:
            left = sum(1 for task in self.tasks if task.status == PENDING and task.role not in failed)
            return self.count(*READY) + left >= self.minimum
        return all(
            self.count(*READY, role=role) + self.best_effort_waiting(role) >= self.role_minimums.get(role, 0)
            for role in failed
        )

    @property
    def holds(self) -> Counter[str]:
        return total_of(task.request for task in self.tasks if task.status in (*PLACED, PIPELINED))

    @property
    def asks(self) -> Counter[str]:
        return total_of(task.request for task in self.tasks if task.status in (*PLACED, PENDING))

    @property
    def missing(self) -> Amounts:
        """Return the part of its minimum that it does not hold, without requests of its gated tasks."""
        holds, gated = self.holds, [task.request for task in self.tasks if task.is_gated]
        missing = {r: max(amount - holds[r], 0) for r, amount in (self.min_resources or {}).items()}
        for request in gated:
            missing = {r: max(amount - request.get(r, 0), 0) for r, amount in missing.items()}
        return missing


def total_of(requests: Iterable[Mapping[str, int]]) -> Counter[str]:
    total: Counter[str] = Counter()
    for request in requests:
        total.update(request)
    return total


# -- the world --------------------------------------------------------------------------------------------------------


class Reference:
    """Reads objects and decides on them once."""

    def __init__(self, objects: Iterable[kube.KubeObject], scheduler_names: Sequence[str]) -> None:
        given = list(objects)
        found = sorted((o for o in given if isinstance(o, kube.KubeNode)), key=lambda node: node.metadata.name)
        self.nodes = [Node(node, {"pods": MANY_PODS} | amounts_of(node.status.allocatable)) for node in found]
        self.priorities = {o.metadata.name: o.value or 0 for o in given if isinstance(o, kube.PriorityClass)}
        queues = {"default": kube.KubeQueue(metadata=kube.ObjectMeta(name="default", uid="default"))}
        queues |= {o.metadata.name: o for o in given if isinstance(o, kube.KubeQueue)}
        self.queues = dict(sorted(queues.items()))
        self.jobs: dict[str, Job] = {}
        for group in (o for o in given if isinstance(o, kube.PodGroup)):
            self._add_job(group)
        #: What pods without a queue hold.
        self.unqueued: Counter[str] = Counter()
        pods = [o for o in given if isinstance(o, kube.Pod)]
        for pod in sorted(pods, key=lambda pod: (seconds(pod.metadata.creation_timestamp), pod.key)):
            self._add_pod(pod, scheduler_names)
        self.total = total_of(node.allocatable for node in self.nodes)
        self.shareable = {name: max(amount - self.unqueued[name], 0) for name, amount in self.total.items()}
        self.promised: dict[str, Counter[str]] = defaultdict(Counter)
        for job in self.jobs.values():
            if job.phase == "Inqueue" or (job.phase == "Running" and job.count(*PLACED) >= job.minimum):
                self._promise(job)
        self.deserved, self.ceilings = self._divide()

    def _add_job(self, group: kube.PodGroup) -> None:
        priority = self.priorities.get(group.spec.priority_class_name or "", 0)
        key = f"{group.metadata.namespace}/{group.metadata.name}"
        self.jobs[key] = Job(group, priority, group.status.phase or "Pending")

    def _add_pod(self, pod: kube.Pod, scheduler_names: Sequence[str]) -> None:
        is_ours = pod.spec.scheduler_name in scheduler_names
        if not (is_ours or pod.spec.node_name):
            return
        name = (pod.metadata.annotations or {}).get(GROUP_NAME, "")
        if not name and is_ours:
            name = self._group_of_plain(pod)
        job = f"{pod.metadata.namespace}/{name}" if name else ""
        node = next((node for node in self.nodes if node.name == pod.spec.node_name), None)
        containers = pod.spec.containers or ()
        asked = [amounts_of(c.resources.requests if c.resources else None) for c in containers]
        request = dict(total_of([*asked, {"pods": 1}]))
        assumed = [{"cpu": 100 * ("cpu" not in a), "memory": 200 * 2**20 * ("memory" not in a)} for a in asked]
        scored = total_of([{r: request.get(r, 0) for r in ("cpu", "memory")}, *assumed])
        ports = tuple({port.host_port for c in containers for port in c.ports or () if port.host_port})
        task = Task(pod, job, status_of(pod), node, request, dict(scored), ports)
        if node is not None and task.status in (*PLACED, RELEASING, UNKNOWN):
            node.add(task, task.status, 1)
            if not job and task.status != RELEASING:
                self.unqueued.update(request)
        if job:
            self.jobs[job].tasks.append(task)

    def _group_of_plain(self, pod: kube.Pod) -> str:
        """Assign pods without a group to a group of their owner, with a minimum of one."""
        owner = next((o.uid for o in pod.metadata.owner_references or () if o.controller), None)
        name = f"podgroup-{owner or pod.metadata.name}"
        if f"{pod.metadata.namespace}/{name}" not in self.jobs:
            resources = (pod.spec.containers or [])[0].resources
            spec = kube.PodGroupSpec(min_member=1, min_resources=resources.requests if resources else None)
            created = pod.metadata.creation_timestamp
            metadata = kube.ObjectMeta(
                name=name, namespace=pod.metadata.namespace, uid=name, creation_timestamp=created
            )
            self._add_job(kube.PodGroup(metadata=metadata, spec=spec))
        return name

    # -- queues -----------------------------------------------------------------------------------------------------

    def _line_of(self, queue: str) -> list[str]:
        """Return the queue and its ancestors, below the root."""
        line: list[str] = []
        while queue in self.queues and queue not in line:
            line.append(queue)
            queue = self.queues[queue].spec.parent or ""
        return [*line, "root"]

    def _jobs_below(self, queue: str) -> list[Job]:
        return [job for job in self.jobs.values() if queue in self._line_of(job.queue)]

    def allocated(self, queue: str) -> Counter[str]:
        return total_of(job.holds for job in self._jobs_below(queue))

    def _promise(self, job: Job) -> None:
        for queue in self._line_of(job.queue):
            self.promised[queue].update(job.missing)

    def _divide(self) -> tuple[dict[str, Amounts], dict[str, Amounts]]:
        """Water-filling: the remainder is divided by weight among the unsatisfied queues, repeatedly."""
        used = [queue for queue in self.queues if any(job.queue == queue for job in self.jobs.values())]
        guarantees = self._guarantees()
        guaranteed = total_of(guarantees.values())
        names = sorted({*self.total, *(r for job in self.jobs.values() for r in job.asks), *guaranteed})
        limits, ceilings = (
            {queue: self._limit(queue, amounts, guarantees[queue], guaranteed, names) for queue in used}
            for amounts in (self.shareable, self.total)
        )
        requests = {queue: total_of(job.asks for job in self._jobs_below(queue)) for queue in used}
        deserved = {queue: dict.fromkeys(names, 0.0) for queue in used}
        remaining = {name: float(self.shareable.get(name, 0)) for name in names}
        content: set[str] = set()
        while weight := float(sum(self.queues[q].spec.weight or 1 for q in used if q not in content)):
            before = {queue: dict(deserved[queue]) for queue in used}
            for queue in used:
                if queue in content:
                    continue
                part = (self.queues[queue].spec.weight or 1) / weight
                for name in names:
                    more = deserved[queue][name] + part * remaining[name]
                    more = min(more, limits[queue][name], requests[queue][name])
                    deserved[queue][name] = max(more, guarantees[queue].get(name, 0))
            for queue in used:
                satisfied = all(requests[queue][name] <= deserved[queue][name] + CRUMB for name in names)
                if satisfied or deserved[queue] == before[queue]:
                    content.add(queue)
            left = {}
            for name in names:
                given = 0.0
                for queue in used:
                    given += deserved[queue][name] - before[queue][name]
                left[name] = max(remaining[name] - given, 0.0)
            if all(amount < CRUMB for amount in left.values()) or left == remaining:
                break
            remaining = left
        whole = {queue: {name: math.floor(deserved[queue][name] + CRUMB) for name in names} for queue in used}
        return whole, ceilings

    def _guarantees(self) -> dict[str, Amounts]:
        """Return the guarantees: if the cluster cannot keep all of them, each is cut in proportion."""
        possible = {
            name: {
                resource: min(amount, self.total.get(resource) or amount)
                for resource, amount in amounts_of(
                    queue.spec.guarantee.resource if queue.spec.guarantee else None
                ).items()
            }
            for name, queue in self.queues.items()
        }
        below_root = [name for name, queue in self.queues.items() if queue.spec.parent not in self.queues]
        wanted = total_of(possible[name] for name in below_root)
        over = {name for name, amount in wanted.items() if amount > self.total.get(name, 0) > 0}
        return {
            queue: {
                name: amount * self.total[name] // wanted[name] if name in over else amount
                for name, amount in amounts.items()
            }
            for queue, amounts in possible.items()
        }

    def _limit(
        self, queue: str, amounts: Amounts, guarantee: Amounts, guaranteed: Counter[str], names: Sequence[str]
    ) -> Amounts:
        """Return the limit of a queue: its capability, and what the guarantees of others leave."""
        given = self.queues[queue].spec.capability or {}
        capability = dict.fromkeys((name for name in given if name not in ("cpu", "memory")), 0) | amounts_of(given)
        return {
            name: min(
                max(amounts.get(name, 0) - guaranteed[name], 0) + guarantee.get(name, 0),
                capability.get(name, EVERYTHING),
            )
            for name in names
        }

    def is_open(self, queue: str) -> bool:
        return (self.queues[queue].status.state or "Open") == "Open"

    def is_overused(self, queue: str) -> bool:
        allocated = self.allocated(queue)
        return all(amount <= allocated[name] for name, amount in self.deserved[queue].items() if amount)

    def may_take(self, queue: str, task: Task) -> bool:
        allocated, deserved = self.allocated(queue), self.deserved[queue]
        wanted = ((name, amount) for name, amount in task.request.items() if name != "pods")
        return self.is_open(queue) and all(allocated[name] + amount <= deserved[name] for name, amount in wanted)

    # -- orders -----------------------------------------------------------------------------------------------------

    def queue_key(self, queue: str) -> tuple[Any, ...]:
        allocated, share = self.allocated(queue), 0.0
        for name, amount in self.deserved[queue].items():
            share = max(share, allocated[name] / amount) if amount else share
        facts = self.queues[queue]
        return (
            -(facts.spec.priority or 0), share, seconds(facts.metadata.creation_timestamp), queue
        )  # fmt: skip

    def job_key(self, job: Job) -> tuple[Any, ...]:
        share = 0.0
        for name, amount in job.holds.items():
            whole = self.shareable.get(name, 0)
            share = max(share, amount / whole if whole else 1.0) if amount else share
        is_ready = job.count(*READY) + job.best_effort_waiting() >= job.minimum
        metadata = job.group.metadata
        key = f"{metadata.namespace}/{metadata.name}"
        is_torn = bool(job.count(*READY)) and not is_ready
        return -job.priority, not is_torn, is_ready, share, seconds(metadata.creation_timestamp), key

    def task_key(self, task: Task) -> tuple[Any, ...]:
        spec = task.pod.spec
        priority = (
            spec.priority if spec.priority is not None else self.priorities.get(spec.priority_class_name or "", 1)
        )
        return (-priority, *task.order)

    # -- the cycle --------------------------------------------------------------------------------------------------

    def run(self) -> tuple[dict[str, str], dict[str, str]]:
        """Return where pods are bound, and where they are pipelined."""
        known = [job for job in self.jobs.values() if job.queue in self.queues]
        looked_at = [job for job in known if job.count(PENDING) or job.phase in ("Pending", "Inqueue")]
        before = {task.key for job in looked_at for task in job.tasks if task.status != PENDING}
        self._enqueue([job for job in looked_at if job.phase == "Pending"])
        admitted = [job for job in looked_at if job.phase != "Pending" and job.is_valid]
        self._allocate(admitted)
        self._backfill(admitted)
        tasks = [task for job in looked_at for task in job.tasks if task.key not in before]
        binds = {task.key: task.node.name for task in tasks if task.node and task.status == BINDING}
        return binds, {task.key: task.node.name for task in tasks if task.node and task.status == PIPELINED}

    def _enqueue(self, jobs: Sequence[Job]) -> None:
        lines = self._lines(jobs)
        for queue in sorted(lines, key=self.queue_key):
            for job in sorted(lines[queue], key=self.job_key):
                if job.min_resources is None or self._may_enter(job):
                    job.phase = "Inqueue"
                    self._promise(job)

    def _may_enter(self, job: Job) -> bool:
        """The cluster admits at most 1.2 times its capacity, and a queue at most its limit."""
        used = total_of(node.used for node in self.nodes)
        queue, allocated = job.queue, self.allocated(job.queue)
        elastic: Counter[str] = Counter()
        for other in self._jobs_below(queue):
            least = other.min_resources or {}
            elastic.update({name: max(amount - least.get(name, 0), 0) for name, amount in other.holds.items()})
        for name, amount in (job.min_resources or {}).items():
            if name == "pods":
                continue
            if self.promised["root"][name] + amount > round(self.total[name] * 1.2) - used[name]:
                return False
            promised = amount + allocated[name] + self.promised[queue][name] - elastic[name]
            if promised > self.ceilings[queue].get(name, 0):
                return False
        return self.is_open(queue)

    @staticmethod
    def _lines(jobs: Iterable[Job]) -> dict[str, list[Job]]:
        lines: dict[str, list[Job]] = {}
        for job in jobs:
            lines.setdefault(job.queue, []).append(job)
        return lines

    def _allocate(self, jobs: Sequence[Job]) -> None:
        """Serve the best queue with its best job until there are none. Positions are kept."""
        waiting = {id(job): self._wanting(job) for job in jobs}
        lines = {
            queue: [(self.job_key(job), job) for job in members]
            for queue, members in self._lines(job for job in jobs if waiting[id(job)]).items()
        }
        queues = {queue: self.queue_key(queue) for queue in lines}
        self._nominate(jobs)
        while queues:
            queue = min(queues, key=lambda name: queues[name])
            if not lines[queue] or self.is_overused(queue):
                del queues[queue]
                continue
            place = min(lines[queue], key=lambda place: place[0])
            lines[queue].remove(place)
            job = place[1]
            if self._attempt_with_nominations(job, waiting[id(job)]) and waiting[id(job)]:
                lines[queue].append((self.job_key(job), job))
            queues[queue] = self.queue_key(queue)

    def _nominate(self, jobs: Sequence[Job]) -> None:
        """Keep nominated capacity for its pods, highest priority first."""
        self.nominations: list[tuple[Job, Task, Node]] = []
        for job in sorted(jobs, key=lambda job: (-job.priority, *_age(job))):
            if not self.is_overused(job.queue):
                pending = [task for task in job.tasks if task.status == PENDING and not task.is_gated]
                for task in sorted(pending, key=lambda task: task.order):
                    node = self._nominated(task)
                    if node is not None:
                        self._keep(job, task, node)

    def _keep(self, job: Job, task: Task, node: Node) -> None:
        if self.may_take(job.queue, task) and accepts(node, task) and has_capacity(node, task, later=True):
            node.add(task, PIPELINED, 1)
            self.nominations.append((job, task, node))

    def _attempt_with_nominations(self, job: Job, waiting: list[Task]) -> bool:
        if any(holder is job for holder, _, _ in self.nominations):  # nominated tasks come first
            waiting.sort(key=lambda task: not task.pod.status.nominated_node_name)
        with self._nominations_released_to(job):
            return self._attempt(job, waiting)

    @contextmanager
    def _nominations_released_to(self, job: Job) -> Iterator[None]:
        """Serve a job with its own nominated capacity and that of lower-priority jobs of its queue; the rest stays
        nominated.
        """
        opened = [
            r for r in self.nominations if r[0] is job or (r[0].queue == job.queue and r[0].priority < job.priority)
        ]
        self.nominations = [nomination for nomination in self.nominations if nomination not in opened]
        for _, task, node in opened:
            node.add(task, PIPELINED, -1)
        yield
        can_start = job.has_enough(*READY) or job.has_enough(*READY, PIPELINED)
        for holder, task, node in sorted(opened, key=lambda nomination: nomination[0] is job):
            if task.status == PENDING and (holder is not job or can_start):
                self._keep(holder, task, node)

    def _nominated(self, task: Task) -> Node | None:
        return next((node for node in self.nodes if node.name == task.pod.status.nominated_node_name), None)

    def _wanting(self, job: Job) -> list[Task]:
        tasks = [t for t in job.tasks if t.status == PENDING and not t.is_gated and not t.is_best_effort]
        return sorted(tasks, key=self.task_key)

    def _attempt(self, job: Job, waiting: list[Task]) -> bool:
        """Place tasks until the job can start, now or once releasing pods are gone: all that it needs, or none."""
        placed: list[Task] = []
        failed: list[str] = []
        while waiting:
            task = waiting.pop(0)
            if (task.role and task.role in failed) or not self.may_take(job.queue, task):
                pass
            elif self._place(task):
                placed.append(task)
                if job.has_enough(*READY) or job.waits_for_release_only:
                    break
            else:
                failed += [task.role] if task.role else []
                if not job.can_do_without(failed or [task.role]):
                    break
        if job.has_enough(*READY):
            self._commit(job.tasks)
            return True
        if placed and not job.has_enough(*READY, PIPELINED):
            for task in placed:
                self._take_back(task)
            return False
        return bool(placed) and job.waits_for_release_only

    def _backfill(self, jobs: Sequence[Job]) -> None:
        """Place best-effort tasks on any allowed node, once their job has its minimum."""
        lines = self._lines(jobs)
        for queue in sorted(lines, key=self.queue_key):
            for job in sorted(lines[queue], key=self.job_key):
                with self._nominations_released_to(job):
                    self._backfill_job(job)

    def _backfill_job(self, job: Job) -> None:
        tasks = [task for task in job.tasks if task.status == PENDING and task.is_best_effort and not task.is_gated]
        for task in sorted(tasks, key=self.task_key):
            node, nominated = self._best(task, later=False), self._nominated(task)
            if node is not None:
                self._put(task, node, ALLOCATED)
                if job.has_enough(*READY):
                    self._commit([task])
                else:
                    self._take_back(task)
            elif nominated is not None and accepts(nominated, task) and has_capacity(nominated, task, later=True):
                self._put(task, nominated, PIPELINED)

    # -- nodes ------------------------------------------------------------------------------------------------------

    def _place(self, task: Task) -> bool:
        nominated = self._nominated(task)
        if nominated is not None and accepts(nominated, task) and has_capacity(nominated, task, later=True):
            self._put(task, nominated, ALLOCATED if has_capacity(nominated, task, later=False) else PIPELINED)
            return True
        for later, status in ((False, ALLOCATED), (True, PIPELINED)):
            node = self._best(task, later=later)
            if node is not None:
                self._put(task, node, status)
                return True
        return False

    def _best(self, task: Task, *, later: bool) -> Node | None:
        """The highest score wins, among equals the first by name."""
        if later and not any(amount for node in self.nodes for amount in node.releasing.values()):
            return None
        candidates = [node for node in self.nodes if suits(node, task)]
        most = max((unwelcome(node, task) for node in candidates), default=0)
        discouraging = any(t.effect == "PreferNoSchedule" for n in self.nodes for t in n.facts.spec.taints or ())
        best, highest = None, -math.inf
        for node in candidates:
            if has_free_ports(node, task) and has_capacity(node, task, later=later):
                comfort = 0.0 if not discouraging else 300.0 - unwelcome(node, task) * (300.0 / most) if most else 300.0
                points = round(score(node, task, comfort) * 1024.0)
                if points > highest:
                    best, highest = node, points
        return best

    @staticmethod
    def _put(task: Task, node: Node, status: int) -> None:
        task.node, task.status = node, status
        node.add(task, status, 1)

    @staticmethod
    def _commit(tasks: Iterable[Task]) -> None:
        for task in tasks:
            task.status = BINDING if task.status == ALLOCATED else task.status

    @staticmethod
    def _take_back(task: Task) -> None:
        assert task.node is not None
        task.node.add(task, task.status, -1)
        task.node, task.status = None, PENDING


def _age(job: Job) -> tuple[float, str]:
    return seconds(job.group.metadata.creation_timestamp), job.group.key


def status_of(pod: kube.Pod) -> int:
    phase = pod.status.phase or "Pending"
    if phase in ("Succeeded", "Failed"):
        return SUCCEEDED if phase == "Succeeded" else FAILED
    if pod.metadata.deletion_timestamp is not None:
        return RELEASING
    if phase == "Pending":
        return BOUND if pod.spec.node_name else PENDING
    return RUNNING if phase == "Running" else UNKNOWN


def has_capacity(node: Node, task: Task, *, later: bool) -> bool:
    """Capacity now, or once all releasing pods are gone; never capacity nominated for others."""
    if any(node.idle_later(name) < amount for name, amount in task.request.items()):
        return False
    return later or all(node.idle(name) >= amount for name, amount in task.request.items())


def accepts(node: Node, task: Task) -> bool:
    return suits(node, task) and has_free_ports(node, task)


def has_free_ports(node: Node, task: Task) -> bool:
    return all(not node.ports[port] for port in task.ports)


def suits(node: Node, task: Task) -> bool:
    """Report whether static rules accept the node."""
    spec = task.pod.spec
    selector = spec.node_selector or {}
    if any(node.labels.get(key) != value for key, value in selector.items()):
        return False
    required = spec.affinity.node_affinity.required if spec.affinity and spec.affinity.node_affinity else None
    if required is not None and not any(term_holds(term, node) for term in required.node_selector_terms or ()):
        return False
    conditions = [c.status for c in node.facts.status.conditions or () if c.type == "Ready"]
    repelling = [t for t in node.facts.spec.taints or () if t.effect in ("NoSchedule", "NoExecute")]
    if node.facts.spec.unschedulable:
        repelling.append(kube.KubeTaint(key="node.kubernetes.io/unschedulable", effect="NoSchedule"))
    if conditions and conditions[-1] != "True":
        repelling.append(kube.KubeTaint(key="node.kubernetes.io/not-ready", effect="NoSchedule"))
    return all(tolerates(task, taint) for taint in repelling)


def term_holds(term: kube.NodeSelectorTerm, node: Node) -> bool:
    return all(clause_holds(clause, node.labels.get(clause.key or "")) for clause in term.match_expressions or ())


def clause_holds(clause: kube.KubeRequirement, value: str | None) -> bool:
    match clause.operator:
        case "In":
            return value in (clause.values or ())
        case "NotIn":
            return value not in (clause.values or ())
        case "Exists":
            return value is not None
        case _:
            return value is None


def tolerates(task: Task, taint: kube.KubeTaint) -> bool:
    for toleration in task.pod.spec.tolerations or ():
        same_value = toleration.operator == "Exists" or (toleration.value or "") == (taint.value or "")
        if toleration.key in (None, taint.key) and toleration.effect in (None, taint.effect) and same_value:
            return True
    return False


def unwelcome(node: Node, task: Task) -> int:
    """Count the taints of the node that the task does not prefer."""
    discouraging = [t for t in node.facts.spec.taints or () if t.effect == "PreferNoSchedule"]
    return sum(not tolerates(task, taint) for taint in discouraging)


# -- scores -----------------------------------------------------------------------------------------------------------


def score(node: Node, task: Task, comfort: float) -> float:
    """Each rule adds its points to those of the rules before it, starting with the static score of the node."""
    total = comfort + least_requested(node, task)
    if any(name in task.request for name in ("cpu", "memory", GPU)):
        total += balanced(node, task)
    counted = [name for name in ("cpu", "memory") if name in task.request]
    if counted:
        total += packed(node, task, counted)
    return total


def least_requested(node: Node, task: Task) -> float:
    """100 less half of the fractions of cpu and memory that would be in use."""
    used = 0.0
    for name in ("cpu", "memory"):
        used += min((node.scored[name] + task.scored[name]) / max(node.allocatable.get(name, 0), 1), 1.0)
    return 100.0 - used * 50.0


def fraction(node: Node, name: str, amount: int) -> float:
    whole = node.allocatable.get(name, 0)
    return min(node.used[name] + amount, whole) / max(whole, 1)


def balanced(node: Node, task: Task) -> float:
    """100 less the standard deviation of the fractions in use of cpu, memory and, if requested, GPUs."""
    names = ["cpu", "memory", *([GPU] if GPU in task.request else [])]
    present = [name for name in names if name in task.request or node.allocatable.get(name, 0)]
    parts = [fraction(node, name, task.request.get(name, 0)) for name in present]
    if len(names) == 2:
        return 100.0 - (abs(parts[0] - parts[1]) if len(parts) == 2 else 0.0) * 50.0
    by_name = dict(zip(present, parts, strict=True))
    squares = 0.0
    for one, other in (("cpu", "memory"), ("memory", GPU), (GPU, "cpu")):
        if one in by_name and other in by_name:
            distance = by_name[one] - by_name[other]
            squares += distance * distance
    return 100.0 - math.sqrt(squares) / len(parts) * 100.0


def packed(node: Node, task: Task, names: Sequence[str]) -> float:
    """The mean of the fractions of cpu and memory that would be in use; insufficient resources count zero."""
    total = 0.0
    for name in names:
        fits = node.used[name] + task.request[name] <= node.allocatable.get(name, 0)
        total += fraction(node, name, task.request[name]) * (100.0 / len(names)) * fits
    return total
