"""Independent recount of nodes and jobs from their pods.

The accounting is updated by adding and subtracting, so an error would persist. Here nothing is subtracted: the pods of
a node or job are looked up and summed, and every deviation of the accounting is reported as a difference.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from stromboli.cluster.audit.differences import Difference, difference
from stromboli.cluster.objects.pod_groups.pod_groups import sub_job_of
from stromboli.cluster.objects.pods.device_requests import assignments_in
from stromboli.cluster.objects.pods.pods import Counted, PodRecord, without_requests
from stromboli.cluster.state.cluster import Cluster
from stromboli.core.model.jobs.job import PENDING_BEST_EFFORT, Counts, Job, empty_counts
from stromboli.core.model.resources.resources import Amounts, Request, add_request, is_best_effort
from stromboli.core.model.tasks.host_ports import PortSet
from stromboli.core.model.tasks.task import ALLOCATED_STATUSES, OCCUPYING_STATUSES, TaskStatus
from stromboli.workloads.requests import pod_request, scored_request

#: Sums of a queue, in the order of a job's contribution.
QUEUE_SUMS = ("allocated", "request", "inqueue", "elastic")


@dataclass(frozen=True, slots=True)
class _Count:
    """The expected count of a pod."""

    record: PodRecord
    status: TaskStatus
    request: Request
    scored: tuple[int, int]
    #: Row of the node in the table, -1 for none.
    row: int

    @property
    def uid(self) -> str:
        return self.record.pod.metadata.uid


class Recount:
    """Recounts parts of a cluster. Unlike other code, it reads internal state."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self.cluster_state = cluster.cluster_state()
        self.records = cluster.pods.records
        self._assumptions = cluster.assumptions
        self._counts: dict[str, _Count | None] = {}

    def pods_occupying(self, node: str) -> list[PodRecord]:
        """Pods that occupy a node. Uids without a pod are skipped."""
        row = self.cluster_state.table.index.get(node, -1)
        uids = self.cluster_state.pods_on_node.get(row, ())
        return [self.records[uid] for uid in uids if uid in self.records]

    def members(self, key: str) -> list[PodRecord]:
        return [self.records[uid] for uid in self._cluster.pods.members.get(key, ())]

    def _count_of(self, record: PodRecord) -> _Count | None:
        """How a pod must be counted; None for an invalid pod without a node."""
        uid = record.pod.metadata.uid
        if uid not in self._counts:
            self._counts[uid] = self._read(record)
        return self._counts[uid]

    def _read(self, record: PodRecord) -> _Count | None:
        pod, node = record.pod, self._assumptions.node_of(record.pod)
        if record.facts is None and not pod.spec.node_name:
            return None
        requesting = pod if record.facts is not None else without_requests(pod)
        device_requests = record.facts.devices if record.facts is not None else None
        request = self._cluster.decoder.gpus.counted(pod, pod_request(requesting, self._cluster.axis), device_requests)
        row = self.cluster_state.table.index.get(node, -1)
        return _Count(record, self._assumptions.status_of(pod), request, scored_request(requesting, request), row)

    def _counted(self, records: Iterable[PodRecord]) -> list[_Count]:
        return [count for record in records if (count := self._count_of(record)) is not None]

    # -- pods ---------------------------------------------------------------------------------------------------

    def check_pods(self, records: Iterable[PodRecord]) -> Iterator[Difference]:
        """Compare pods with their entries in the accounting."""
        for record in records:
            count, entered = self._count_of(record), self._cluster.accounting.counted.get(record.pod.metadata.uid)
            if count is not None and entered is not None:
                yield from self._check_entry(count, entered)
            elif count is not None or entered is not None:
                states = {True: "entered", False: "not counted"}
                yield difference(f"pod {record.pod.key}", states[count is not None], states[entered is not None])

    def _check_entry(self, count: _Count, entered: Counted) -> Iterator[Difference]:
        columns, place, name = self.cluster_state.columns, entered.task.row, f"pod {count.record.pod.key}"
        expected, request = (count.status, count.row, count.request), entered.task.task_class.request
        in_columns = TaskStatus(int(columns.status[place])), int(columns.node_of[place]), request
        for account, found in (("entered", (entered.status, entered.row, request)), ("columns", in_columns)):
            if found != expected:
                yield difference(f"{name}, {account}", self._describe(*expected), self._describe(*found))
        occupies = count.row >= 0 and count.status in OCCUPYING_STATUSES
        if occupies and count.uid not in self.cluster_state.pods_on_node.get(count.row, ()):
            yield difference(f"{name}, occupies", self.cluster_state.table.names[count.row], None)

    def _describe(self, status: TaskStatus, row: int, request: Request) -> str:
        node = self.cluster_state.table.names[row] if row >= 0 else "no node"
        return f"{status.label} on {node}, requests {self._cluster.axis.describe(request)}"

    # -- nodes --------------------------------------------------------------------------------------------------

    def check_node(self, name: str) -> Iterator[Difference]:
        """Compare a node's column with its allocatable amounts and the pods on it."""
        row = self.cluster_state.table.index.get(name)
        if row is None:
            return
        present = self._counted(self.pods_occupying(name))
        for count in present:
            if count.row != row or count.status not in OCCUPYING_STATUSES:
                yield difference(f"pod {count.record.pod.key}, occupies", None, name)
        expected, found = self._column(name, present), self.cluster_state.amounts[:, row].tolist()
        if expected != found:
            for place, (one, other) in enumerate(zip(expected, found, strict=True)):
                if one != other:
                    yield difference(f"node {name}, {self._fact(place)}", one, other)
        yield from self._check_tallies(name, row, present)
        yield from self._check_volumes(name, row, present)
        yield from self._check_devices(name, present)

    def _column(self, name: str, present: Iterable[_Count]) -> list[int]:
        layout = self.cluster_state.layout
        column = [0] * layout.height
        for dimension, amount in self._cluster.nodes.entries[name].allocatable.items():
            column[layout.allocatable + dimension] += amount
            column[layout.idle + dimension] += amount
        for count in present:
            leaves = count.status is TaskStatus.RELEASING
            for dimension, amount in count.request:
                column[layout.used + dimension] += amount
                column[layout.idle + dimension] -= amount
                column[layout.releasing + dimension] += amount if leaves else 0
            for dimension, amount in enumerate(count.scored):
                column[layout.scored + dimension] += amount
        return column

    def _fact(self, place: int) -> str:
        """Name of a row of the accounting matrix."""
        layout, names = self.cluster_state.layout, self._cluster.axis.names
        if layout.scored <= place < layout.releasing:
            return f"scored {names[place - layout.scored]}"
        for section in ("allocatable", "pipelined", "releasing", "used", "idle"):
            start = getattr(layout, section)
            if place >= start:
                return f"{section} {names[place - start]}"
        raise IndexError(place)

    def _check_tallies(self, name: str, row: int, present: Iterable[_Count]) -> Iterator[Difference]:
        expected: Counter[int] = Counter()
        for count in present:
            entered = self._cluster.accounting.counted.get(count.uid)
            expected.update(entered.task.task_class.feeds if entered else ())
        for number, column in self.cluster_state.tallies.items():
            if (pods := expected.pop(number, 0)) != column[row]:
                yield difference(f"node {name}, {self._term(number)}", pods, int(column[row]))
        for number, pods in expected.items():
            yield difference(f"node {name}, {self._term(number)}", pods, 0)

    def _term(self, number: int) -> str:
        """Describe the pods of a tally."""
        counted = self._cluster.decoder.terms.counted[number]
        return f"pods with {counted}" if isinstance(counted, PortSet) else f"pods of term {number}"

    def _check_volumes(self, name: str, row: int, present: Iterable[_Count]) -> Iterator[Difference]:
        """Compare attached volumes; a volume that several pods share is attached once."""
        needs = (self._cluster.volumes.needs(count.record.pod).needs for count in present)
        attachments = [attachment for need in needs if need for attachment in need.attachments]
        distinct = {*(each for each in attachments if each.handle)}
        expected = Counter(each.driver for each in (*distinct, *(each for each in attachments if not each.handle)))
        found = {
            driver: int(column[row]) for driver, column in self.cluster_state.volume_use.attached.items() if column[row]
        }
        if found != expected:
            yield difference(f"node {name}, volumes", dict(expected), found)

    def _check_devices(self, name: str, present: Iterable[_Count]) -> Iterator[Difference]:
        """Compare the devices assigned to pods on the node, including bindings in progress."""
        assigned = self._assumptions.devices_of
        expected = {
            count.uid: annotations
            for count in present
            if (annotations := {**assignments_in(count.record.pod.metadata.annotations or {}), **assigned(count.uid)})
        }
        claims = self._cluster.accounting.devices.claims().get(name, {})
        found = {uid: claim.annotations for uid, claim in claims.items()}
        if expected != found:
            yield difference(f"node {name}, devices", expected, found)

    # -- jobs ---------------------------------------------------------------------------------------------------

    def check_job(self, key: str) -> Iterator[Difference]:
        """Compare a job's counters with the sum of its pods, and its contribution to the queue sums."""
        job = self.cluster_state.jobs.get(key)
        if job is None:
            yield difference(f"job {key}", "known", None)
            return
        counts = self._counted(self.members(key))
        yield from self._check_counters(job, counts)
        shares = self.cluster_state.sums
        expected, found = (job.queue, job.spec.user, shares._share_of(job)), shares._shares.get(key)
        if expected != found:
            yield difference(f"job {key}, share of queue {job.queue}", expected, found)
        waits = bool(job.pending_count) or job.phase in ("Pending", "Inqueue")
        if waits != (key in self.cluster_state.waiting):
            yield difference(f"job {key}, waits", waits, not waits)

    def _check_counters(self, job: Job, counts: list[_Count]) -> Iterator[Difference]:
        if job.tasks.keys() != {count.uid for count in counts}:
            yield difference(f"job {job.key}, pods", sorted(count.uid for count in counts), sorted(job.tasks))
            return
        found: dict[str, object] = {"counts": job.counts, "allocated": job.allocated, "requested": job.requested}
        expected: dict[str, object] = {"counts": _statuses(counts), **self._amounts(counts)}
        for name, sub_job in job.sub_jobs.items():
            members = [count for count in counts if self._sub_job(job, count) == name]
            expected[f"counts of {name}"], found[f"counts of {name}"] = _statuses(members), sub_job.counts
        for role, numbers in job.role_counts.items():
            members = [count for count in counts if job.tasks[count.uid].role == role]
            expected[f"counts of role {role}"], found[f"counts of role {role}"] = _statuses(members), numbers
        for what, value in expected.items():
            if value != found[what]:
                yield difference(f"job {job.key}, {what}", value, found[what])

    def check_queue(self, name: str, part: str) -> Iterator[Difference]:
        """Compare a queue's sums with the contributions of the jobs in it and below it."""
        sums = self.cluster_state.sums
        below = {queue for queue, chain in sums._chains.items() if any(usage.name == name for usage in chain)}
        shares = [each for each in sums._shares.values() if each[0] in below]
        usage, place = sums.usage[name], QUEUE_SUMS.index(part)
        own = sum(queue == name for queue, _, _ in shares)
        if usage.jobs != own:
            yield difference(f"queue {name}, jobs", own, usage.jobs)
        expected, found = (
            _summed([[0] * len(usage.allocated), *(share[place] for _, _, share in shares)]),
            getattr(usage, part),
        )
        if expected != found:
            yield difference(f"queue {name}, {part}", expected, found)
        if part == "allocated":
            yield from self._check_users(name, [(user, share[place]) for queue, user, share in shares if queue == name])

    def _check_users(self, queue: str, shares: Sequence[tuple[str, Amounts]]) -> Iterator[Difference]:
        """Compare what the users of a queue hold with their jobs in it."""
        held: dict[str, list[Amounts]] = {}
        for user, amounts in shares:
            held.setdefault(user, []).append(amounts)
        expected = {user: total for user, of_user in held.items() if any(total := _summed(of_user))}
        found = {user: amounts for (name, user), amounts in self.cluster_state.sums.held.items() if name == queue}
        if expected != found:
            yield difference(f"queue {queue}, held by users", expected, found)

    @staticmethod
    def _sub_job(job: Job, count: _Count) -> str:
        return sub_job_of(job.spec, count.record.pod.metadata.labels or {})[0]

    def _amounts(self, counts: Iterable[_Count]) -> dict[str, object]:
        size = self.cluster_state.layout.resources
        allocated, requested = [0] * size, [0] * size
        for count in counts:
            if count.status in ALLOCATED_STATUSES:
                add_request(allocated, count.request)
            if count.status in (*ALLOCATED_STATUSES, TaskStatus.PENDING):
                add_request(requested, count.request)
        return {"allocated": allocated, "requested": requested}


def _summed(amounts: Iterable[Amounts]) -> Amounts:
    return [sum(column) for column in zip(*amounts, strict=True)]


def _statuses(counts: Iterable[_Count]) -> Counts:
    numbers = empty_counts()
    for count in counts:
        numbers[count.status] += 1
        if count.status is TaskStatus.PENDING and is_best_effort(count.request):
            numbers[PENDING_BEST_EFFORT] += 1
    return numbers
