"""Pods that name a group before it exists.

A user may delete a group and create it again in another queue. Its pods stay, and their priority classes were
reviewed in the queue of the first group. The scheduler disregards classes that a queue does not allow, so a failed list
rejects nothing.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Iterable

from stromboli import kube
from stromboli.admission.facts import PRIORITIES, AdmissionPolicy, Facts
from stromboli.admission.pods import is_ours
from stromboli.admission.requests import User
from stromboli.admission.tenancy import check_priority_class
from stromboli.admission.verdict import GOOD, AdmissionVerdict, forbidden
from stromboli.cluster.objects.priority_classes import allowed_classes
from stromboli.kube.client.api_errors import RequestFailed
from stromboli.kube.client.client import Client
from stromboli.kube.objects.catalogue import PODS
from stromboli.workloads.groups import job_key_of
from stromboli.workloads.queues import queue_name_of

#: Seconds for which a list is used again, so that a user who creates many groups does not cause as many lists.
REUSE = 1.0
_UNFINISHED = "status.phase!=Succeeded,status.phase!=Failed"

_log = logging.getLogger("stromboli.admission")


class GroupMembers:
    def __init__(self, client: Client, clock: Callable[[], float] = time.monotonic) -> None:
        self._client = client
        self._clock = clock
        #: By namespace, until when its list is used, and the list.
        self._lists: dict[str, tuple[float, asyncio.Task[list[kube.Pod]]]] = {}

    async def review(self, group: kube.PodGroup, user: User, facts: Facts, policy: AdmissionPolicy) -> AdmissionVerdict:
        """Review the priority classes of the pods that a new group already has, if its queue allows some only."""
        queue = facts.queues.get(queue_name_of(group, policy.default_queue))
        if queue is None or allowed_classes(queue.metadata.annotations) is None or not policy.checks(PRIORITIES, user):
            return GOOD
        pods = await self._pods_in(group.metadata.namespace)
        members = (pod for pod in pods if job_key_of(pod) == group.key and is_ours(pod, policy))
        return _classes(group, members, queue.metadata.name, user, facts, policy)

    async def _pods_in(self, namespace: str) -> list[kube.Pod]:
        now = self._clock()
        self._lists = {name: entry for name, entry in self._lists.items() if now < entry[0]}
        if namespace not in self._lists:
            self._lists[namespace] = now + REUSE, asyncio.create_task(self._list(namespace))
        return await asyncio.shield(self._lists[namespace][1])

    async def _list(self, namespace: str) -> list[kube.Pod]:
        try:
            return (await self._client.list(PODS, namespace=namespace, field_selector=_UNFINISHED)).items
        except RequestFailed as error:
            _log.warning("pods not listed", extra={"namespace": namespace, "error": str(error)})
            return []


def _classes(
    group: kube.PodGroup, members: Iterable[kube.Pod], queue: str, user: User, facts: Facts, policy: AdmissionPolicy
) -> AdmissionVerdict:
    """The class of the group is reviewed as such."""
    for pod in members:
        name = pod.spec.priority_class_name or ""
        if name == group.spec.priority_class_name:
            continue
        if not check_priority_class(name, "", queue, user, facts, policy).is_allowed:
            message = (
                f"pod {pod.metadata.name} of the group has priority class {name!r}, which queue {queue!r} does not"
            )
            return forbidden("spec.queue", f"{message} allow", "delete the pod first, or name another queue")
    return GOOD
