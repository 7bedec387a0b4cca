"""Feeds the history: translates changes of pods and groups, and evictions, into records.

Only the leader records. What it takes over, and what exists after records were lost, is reported once more as a whole;
records are idempotent, so that nothing counts twice. Nothing here waits: records go to the thread of the writer.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import msgspec

from stromboli import kube
from stromboli.binding.orders import EvictOrder
from stromboli.cluster.objects.pod_groups.native_pod_groups import as_group
from stromboli.cluster.objects.pods.pods import placed_at
from stromboli.cluster.objects.pods.templates import template_of
from stromboli.cluster.objects.timestamps import seconds_of
from stromboli.cluster.state.cluster import Cluster
from stromboli.core.model.resources.resources import PODS
from stromboli.history.records import RecordedJob, RecordedPod
from stromboli.kube.objects.meta import OwnerReference, TopLevel
from stromboli.kube.objects.native import NativePodGroup
from stromboli.workloads.groups import SUSPENDED, job_key_of, title_of
from stromboli.workloads.queues import queue_name_of
from stromboli.workloads.users import named_user

if TYPE_CHECKING:
    from stromboli.history.writer import HistoryWriter

_DISRUPTED = "DisruptionTarget"
_ENDED = ("Ready", "ContainersReady")
_MAX_TEXT = 256


class HistoryFeed:
    """`scheduler` is the name under which this process records."""

    def __init__(
        self,
        cluster: Cluster,
        writer: HistoryWriter,
        scheduler: str,
        *,
        is_leader: Callable[[], bool],
        wall_clock: Callable[[], float] = time.time,
    ) -> None:
        self.writer = writer
        self._cluster = cluster
        self._scheduler = scheduler
        self._is_leader = is_leader
        self._wall_clock = wall_clock
        #: Whether everything that existed at the start has been submitted.
        self.has_reported = False

    def object_changed(self, entry: TopLevel, before: TopLevel | None) -> None:
        """Record a change; of a removed object, both versions are the same."""
        if not self._is_leader():
            return
        if isinstance(entry, kube.Pod):
            self._pod_changed(entry, before if isinstance(before, kube.Pod) else None)
        elif isinstance(entry, NativePodGroup):
            self._group_changed(as_group(entry), before, is_removed=entry is before)
        elif isinstance(entry, kube.PodGroup):
            self._group_changed(entry, before, is_removed=entry is before)

    def evicted(self, order: EvictOrder) -> None:
        """Record an eviction that the API server has accepted."""
        if self._is_leader():
            record = RecordedPod(
                order.uid, "", order.name,
                evicted=self._wall_clock(), reason=order.reason, preemptor=order.preemptor or None,
            )  # fmt: skip
            self.writer.submit(pods=[record])

    def maintain(self) -> None:
        """Report everything once more after records were lost, as soon as the writer is idle."""
        if self.writer.has_lost_records and not self.writer.waiting and self._is_leader():
            self.report_all()

    def report_all(self) -> None:
        """Report everything that exists, and end what is recorded and does not exist any more."""
        groups = [(key, group) for key, group in self._cluster.groups.items() if self._is_own(key)]
        pods = [pod for key, _ in groups for pod in self._cluster.pods.of_job(key)]
        self.writer.submit([self._job(group) for _, group in groups], [self._whole(pod) for pod in pods])
        jobs = [group.metadata.uid for _, group in groups]
        self.writer.close_missing(self._scheduler, jobs, [pod.metadata.uid for pod in pods], self._wall_clock())
        self.has_reported = True

    def _is_own(self, key: str) -> bool:
        return not self._cluster.pods.is_foreign_job(key)

    # -- groups -------------------------------------------------------------------------------------------------

    def _group_changed(self, group: kube.PodGroup, before: TopLevel | None, *, is_removed: bool) -> None:
        if not self._is_own(group.key):
            return
        if is_removed:
            self.writer.submit([self._job(group, deleted=self._wall_clock())])
        elif before is None:
            pods = self._cluster.pods.of_job(group.key)
            self.writer.submit([self._job(group)], [self._whole(pod) for pod in pods])
        elif _spec_of(before) != _spec_of(group):
            self.writer.submit([self._job(group)])

    def _job(self, group: kube.PodGroup, deleted: float | None = None) -> RecordedJob:
        metadata, owner = group.metadata, _owner_of(group.metadata.owner_references or ())
        return RecordedJob(
            uid=metadata.uid,
            namespace=metadata.namespace,
            name=metadata.name,
            title=title_of(group),
            queue=queue_name_of(group, self._cluster.default_queue),
            scheduler=self._scheduler,
            owner_kind=owner.kind or "" if owner else "",
            owner_name=owner.name or "" if owner else "",
            user_name=self._cluster.pods.user_of(group),
            min_member=group.spec.min_member or 0,
            priority_class=group.spec.priority_class_name or "",
            created=seconds_of(metadata.creation_timestamp) or self._wall_clock(),
            deleted=deleted,
            suspended=deleted if SUSPENDED in (metadata.annotations or {}) else None,
        )

    # -- pods ---------------------------------------------------------------------------------------------------

    def _pod_changed(self, pod: kube.Pod, before: kube.Pod | None) -> None:
        if pod is before:
            self._submit(RecordedPod(pod.metadata.uid, "", pod.metadata.name, ended=self._now(), cause=_cause_of(pod)))
        elif before is None or job_key_of(before) != job_key_of(pod):
            if self._group_uid(pod):
                self.writer.submit(self._job_named_by(pod), [self._whole(pod)])
        elif (not before.spec.node_name and pod.spec.node_name) or before.status.phase != pod.status.phase:
            self._submit(self._progress(pod))

    def _job_named_by(self, pod: kube.Pod) -> list[RecordedJob]:
        """Return the job of the first pod that names a user, unless its group does: the group was recorded before."""
        key = job_key_of(pod) or ""
        users = self._cluster.pods.users.get(key) or Counter[str]()
        is_first = sum(users.values()) == 1 and named_user(pod.metadata) in users
        group = self._cluster.groups[key]
        return [self._job(group)] if is_first and not named_user(group.metadata) else []

    def _submit(self, record: RecordedPod) -> None:
        self.writer.submit(pods=[record])

    def _group_uid(self, pod: kube.Pod) -> str:
        """Return the uid of the pod's group; empty if it is not known, or if another scheduler places the pod."""
        key = job_key_of(pod)
        if key is None or self._cluster.pods.is_foreign(pod):
            return ""
        group = self._cluster.groups.get(key)
        return group.metadata.uid if group is not None else ""

    def _whole(self, pod: kube.Pod) -> RecordedPod:
        return msgspec.structs.replace(
            self._progress(pod),
            template=template_of(pod),
            requests=self._requests_of(pod),
            created=seconds_of(pod.metadata.creation_timestamp),
        )

    def _progress(self, pod: kube.Pod) -> RecordedPod:
        is_placed, is_finished = bool(pod.spec.node_name), pod.status.is_finished
        return RecordedPod(
            pod.metadata.uid,
            self._group_uid(pod),
            pod.metadata.name,
            node=pod.spec.node_name,
            started=(placed_at(pod) or seconds_of(pod.status.start_time) or self._now()) if is_placed else None,
            ended=self._end_of(pod) if is_finished else None,
            outcome=pod.status.phase if is_finished else None,
            cause=_cause_of(pod),
        )

    def _end_of(self, pod: kube.Pod) -> float:
        """Return when the containers of a finished pod ended, as its conditions report it; else the present."""
        began = placed_at(pod)
        moments = (seconds_of(c.last_transition_time) for c in pod.status.conditions or () if c.type in _ENDED)
        return max((moment for moment in moments if moment and moment > began), default=self._now())

    def _requests_of(self, pod: kube.Pod) -> str | None:
        record = self._cluster.pods.records.get(pod.metadata.uid)
        if record is None or record.facts is None:
            return None
        axis = self._cluster.axis
        named = {axis.names[d]: axis.format(d, amount) for d, amount in record.facts.request if d != PODS}
        return msgspec.json.encode(named).decode()

    def _now(self) -> float:
        return self._wall_clock()


def _spec_of(entry: TopLevel) -> tuple[object, ...]:
    """Return what is recorded about a group and may change."""
    if isinstance(entry, NativePodGroup):
        entry = as_group(entry)
    if not isinstance(entry, kube.PodGroup):
        return ()
    return entry.spec, entry.metadata.annotations, entry.metadata.labels


def _owner_of(owners: Sequence[OwnerReference]) -> OwnerReference | None:
    """Return the controller of a group, or else its first owner."""
    return next((owner for owner in owners if owner.controller), owners[0] if owners else None)


def _cause_of(pod: kube.Pod) -> str | None:
    """Return why Kubernetes ended the pod, or what disrupted it."""
    disrupted = (c.reason for c in pod.status.conditions or () if c.type == _DISRUPTED and c.status == "True")
    cause = pod.status.reason or next(filter(None, disrupted), None)
    return cause[:_MAX_TEXT].replace("\0", "") if cause else None
