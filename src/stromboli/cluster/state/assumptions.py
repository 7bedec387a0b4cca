"""What was decided and is not true yet, or is not known to be.

A pod that is being bound counts on its node, and one that is being evicted counts as leaving, until the cluster says
what became of it or the attempt is given up. A phase that is being written counts until it is written: what arrives
meanwhile was written before.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from stromboli import kube
from stromboli.cluster.objects.bind_requests import Room
from stromboli.cluster.objects.pods.pods import status_of
from stromboli.core.model.jobs.carryover import Reservation
from stromboli.core.model.tasks.task import TaskStatus


@dataclass(slots=True)
class Decisions:
    #: What we decided ourselves about pods, by uid, until they have their nodes, the attempt is given up, or a bind
    #: request says it.
    intended: dict[str, Room] = field(default_factory=dict)
    #: Pods that are being bound, by uid, with their nodes: by us, or by whoever carries out bind requests.
    assumed: dict[str, str] = field(default_factory=dict)
    #: The same with all that they are given.
    rooms: dict[str, Room] = field(default_factory=dict)
    #: The processors that pods which are being bound were given, by uid, as it will be written on them.
    processors: dict[str, str] = field(default_factory=dict)
    #: What travels with the bindings of some of them, by uid.
    given: dict[str, Mapping[str, str]] = field(default_factory=dict)
    #: Pods that are being evicted.
    leaving: set[str] = field(default_factory=set)
    #: Pods that are left alone for a while, because binding them failed.
    resting: set[str] = field(default_factory=set)
    #: Nodes that refused a pod lately, by uid of the pod.
    avoided: dict[str, frozenset[str]] = field(default_factory=dict)
    #: Pods that were promised a room, by uid, with their nodes: what their objects say is older.
    promised: dict[str, str] = field(default_factory=dict)
    #: Phases of groups, as their objects say or cycles decided.
    phases: dict[str, str] = field(default_factory=dict)
    #: The groups whose phase is being written.
    pending_phases: set[str] = field(default_factory=set)
    #: By job, the room that the last cycle reserved.
    reservations: dict[str, Reservation] = field(default_factory=dict)

    def node_of(self, pod: kube.Pod) -> str:
        """Where a pod is, or will be."""
        return pod.spec.node_name or self.assumed.get(pod.metadata.uid, "")

    def status_of(self, pod: kube.Pod) -> TaskStatus:
        """Where a pod is in its life, or will be once what was decided is done."""
        status, uid = status_of(pod), pod.metadata.uid
        if status is TaskStatus.PENDING and uid in self.assumed:
            return TaskStatus.BINDING
        if status in (TaskStatus.BOUND, TaskStatus.RUNNING) and uid in self.leaving:
            return TaskStatus.RELEASING
        return status

    def nominated_node_of(self, pod: kube.Pod) -> str:
        """The node on which a pod was promised a room."""
        return self.promised.get(pod.metadata.uid) or pod.status.nominated_node_name or ""

    def assume(self, uid: str, room: Room) -> None:
        """A pod is being bound, and will say what it was given."""
        self.forget_assumed(uid)
        self.assumed[uid] = room.node
        self.rooms[uid] = room
        if room.processors:
            self.processors[uid] = room.processors
        if room.given:
            self.given[uid] = room.given

    def forget_assumed(self, uid: str) -> str | None:
        """A pod is not being bound any more; answers the node that it was meant for, if any."""
        self.given.pop(uid, None)
        self.rooms.pop(uid, None)
        self.processors.pop(uid, None)
        return self.assumed.pop(uid, None)

    def forget_pod(self, uid: str) -> None:
        self.promised.pop(uid, None)
        self.intended.pop(uid, None)
        self.forget_assumed(uid)
        self.leaving.discard(uid)
        self.resting.discard(uid)
        self.avoided.pop(uid, None)

    def forget_group(self, key: str) -> None:
        self.phases.pop(key, None)
        self.pending_phases.discard(key)
