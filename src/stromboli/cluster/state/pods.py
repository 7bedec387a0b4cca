"""The pods of the cluster, and the jobs and schedulers that they belong to.

Where several schedulers share a cluster, a job belongs to the scheduler that its pods name. Jobs of other schedulers
count in their queues and are otherwise left to their scheduler. A job without pods may belong to any scheduler.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection

from stromboli import kube
from stromboli.cluster.objects.indexes import discard_member
from stromboli.cluster.objects.pods.pods import PodRecord
from stromboli.workloads.groups import job_key_of
from stromboli.workloads.users import named_user, user_of


class Pods:
    """`owners` counts the pods of jobs by scheduler, where several schedulers share the cluster."""

    def __init__(self, scheduler_names: Collection[str], owners: JobOwners | None) -> None:
        self.scheduler_names = scheduler_names
        self._owners = owners
        self.records: dict[str, PodRecord] = {}
        #: Pod uids by job.
        self.members: dict[str, set[str]] = {}
        #: By job, the users that its pods name, with the number of these pods.
        self.users: dict[str, Counter[str]] = {}
        #: Waiting pods of other schedulers. They occupy nothing, unless a bind request places them.
        self.others: dict[str, kube.Pod] = {}

    def __len__(self) -> int:
        return len(self.records)

    def all(self) -> list[kube.Pod]:
        """All pods that count, also those of other schedulers."""
        return [record.pod for record in self.records.values()]

    def get(self, uid: str) -> kube.Pod:
        return self.records[uid].pod

    def find(self, uid: str) -> kube.Pod | None:
        record = self.records.get(uid)
        return record.pod if record else None

    def of_job(self, key: str) -> list[kube.Pod]:
        return [self.records[uid].pod for uid in sorted(self.members.get(key, ()))]

    def user_of(self, group: kube.PodGroup) -> str:
        """Return the user of the job of a group."""
        return user_of(group.metadata, self.users.get(group.key, ()))

    @property
    def foreign_jobs(self) -> frozenset[str]:
        """Jobs that belong to other schedulers."""
        return frozenset(self._owners.foreign) if self._owners is not None else frozenset()

    def is_foreign_job(self, key: str) -> bool:
        return self._owners is not None and key in self._owners.foreign

    def is_foreign(self, pod: kube.Pod) -> bool:
        """Report whether a pod names another scheduler."""
        return (pod.spec.scheduler_name or "") not in self.scheduler_names

    # -- changes ------------------------------------------------------------------------------------------------

    def add(self, pod: kube.Pod) -> PodRecord:
        """Start a new record for a pod."""
        record = self.records[pod.metadata.uid] = PodRecord(pod, job_key_of(pod) or "")
        if record.job:
            self.members.setdefault(record.job, set()).add(pod.metadata.uid)
            if user := named_user(pod.metadata):
                self.users.setdefault(record.job, Counter())[user] += 1
        return record

    def leave_job(self, uid: str) -> str:
        """Remove a pod from its job; returns the job, empty for none."""
        record = self.records.get(uid)
        if record is None or not record.job:
            return ""
        discard_member(self.members, record.job, uid)
        if user := named_user(record.pod.metadata):
            self._leave_user(record.job, user)
        return record.job

    def _leave_user(self, job: str, user: str) -> None:
        users = self.users[job]
        users[user] -= 1
        if not users[user]:
            del users[user]
        if not users:
            del self.users[job]

    def note_owner(self, pod: kube.Pod) -> None:
        if self._owners is not None:
            self._owners.note(pod.metadata.uid, job_key_of(pod) or "", pod.spec.scheduler_name or "")

    def drop(self, uid: str) -> None:
        if self._owners is not None:
            self._owners.forget(uid)
        self.others.pop(uid, None)
        self.records.pop(uid, None)

    def clear(self) -> None:
        """Drop the records before all pods are added again; owners and waiting pods of other schedulers stay."""
        self.records.clear()
        self.members.clear()
        self.users.clear()


class JobOwners:
    """Counts the pods of jobs by owner."""

    def __init__(self, scheduler_names: Collection[str]) -> None:
        self._names = scheduler_names
        self._pods: dict[str, tuple[str, bool]] = {}
        self._ours: Counter[str] = Counter()
        self._others: Counter[str] = Counter()
        #: Jobs all of whose pods name other schedulers.
        self.foreign: set[str] = set()

    def note(self, uid: str, job: str, scheduler: str) -> None:
        """Count a pod, if it belongs to a job."""
        place = (job, scheduler in self._names)
        if self._pods.get(uid) != place:
            self.forget(uid)
            if job:
                self._pods[uid] = place
                self._count(place, 1)

    def forget(self, uid: str) -> None:
        place = self._pods.pop(uid, None)
        if place is not None:
            self._count(place, -1)

    def _count(self, place: tuple[str, bool], change: int) -> None:
        job, is_ours = place
        counts = self._ours if is_ours else self._others
        counts[job] += change
        if not counts[job]:
            del counts[job]
        if self._others[job] and not self._ours[job]:
            self.foreign.add(job)
        else:
            self.foreign.discard(job)
