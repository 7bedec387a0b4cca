"""What a task takes from objects other than its pod: volumes, claims, decisions, and the queue of its job."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from stromboli import kube
from stromboli.cluster.objects.pods.pods import PodRecord, TaskContext, placed_at
from stromboli.cluster.objects.priority_classes import allowed_classes
from stromboli.cluster.state.sources import AccountingSources
from stromboli.core.model.jobs.job import Job
from stromboli.workloads.queues import queue_name_of


class TaskContexts:
    def __init__(self, sources: AccountingSources, default_queue: str) -> None:
        self._sources = sources
        self._default_queue = default_queue
        #: By queue, the priority classes that it allows, for queues that list some.
        self._allowed: dict[str, tuple[str, ...]] = {}

    def of(self, record: PodRecord, images: frozenset[str]) -> TaskContext:
        pod, assumptions, decoder = record.pod, self._sources.assumptions, self._sources.decoder
        uid = pod.metadata.uid
        volumes, devices = self._sources.volumes.needs(pod), self._sources.claims.needs(pod)
        queue = self._queue_of(record.job) if decoder.classifier.distinguishes_queues else ""
        task_class = decoder.class_of(record, images, queue, volumes.needs, devices.needs)
        if avoided := assumptions.avoided.get(uid):
            task_class = decoder.classifier.avoiding(task_class, avoided)
        return TaskContext(
            task_class,
            placed_at(pod),
            uid in assumptions.backing_off,
            assumptions.nominated.get(uid) or pod.status.nominated_node_name or "",
            self._class_of(pod, record.job),
            volumes.claims,
            devices.keys,
            devices.names,
        )

    def changed_with_groups(self, groups: Collection[str], jobs: Mapping[str, Job]) -> set[str]:
        """Pods that may differ because their group has changed: its queue, or its priority class."""
        if self._allowed:
            return self._members(groups)
        if not self._sources.decoder.classifier.distinguishes_queues:
            return set()
        return self._members(key for key in groups if key not in jobs or jobs[key].queue != self._queue_of(key))

    def changed_with_queues(self) -> set[str]:
        """Read the queues again; return the pods whose queue allows other priority classes than before."""
        before, entries = self._allowed, self._sources.queues.entries
        lists = {name: allowed_classes(queue.annotations) for name, queue in entries.items()}
        self._allowed = {name: listed for name, listed in lists.items() if listed is not None}
        if self._allowed == before:
            return set()
        changed = {name for name in {*before, *lists} if before.get(name) != self._allowed.get(name)}
        return self._members(key for key in self._sources.pods.members if self._queue_of(key) in changed)

    def _members(self, jobs: Iterable[str]) -> set[str]:
        members = self._sources.pods.members
        return {uid for key in jobs for uid in members.get(key, ())}

    def _class_of(self, pod: kube.Pod, job: str) -> str:
        """The priority class of a pod if it counts: its queue allows it, or its group names it as well.

        The webhook reviews the class of a pod in the queue that its group has at that time, and the class of the group
        when it is created. A user may delete the group and create it again in a queue that does not allow
        the class of the pods.
        """
        name = pod.spec.priority_class_name or ""
        if not name or not self._allowed or (group := self._sources.groups.get(job)) is None:
            return name
        allowed = self._allowed.get(queue_name_of(group, self._default_queue))
        return name if allowed is None or name in allowed or name == group.spec.priority_class_name else ""

    def _queue_of(self, job: str) -> str:
        group = self._sources.groups.get(job)
        return queue_name_of(group, self._default_queue) if group is not None else ""
