"""Decisions that the objects do not show yet.

A pod that is being bound counts on its node, and a pod that is being evicted counts as releasing, until the cluster
shows the result or the attempt is abandoned. A placement comes from a bind request or, without one, from this
scheduler's own decision.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping

from stromboli import kube
from stromboli.cluster.objects.bind_requests import BindRequests
from stromboli.cluster.objects.claims.resource_claims import ResourceClaims
from stromboli.cluster.objects.pods.device_requests import assignments_in
from stromboli.cluster.objects.pods.pods import status_of
from stromboli.cluster.objects.storage.volumes import PersistentVolumes
from stromboli.cluster.state.changes import ChangedObjects
from stromboli.cluster.state.pods import Pods
from stromboli.core.model.jobs.carryover import MAX_HISTORY, MAX_HISTORY_AGE, CycleCarryover, PastEviction, Reservation
from stromboli.core.model.nodes.numa import PROCESSORS
from stromboli.core.model.tasks.placement import Placement
from stromboli.core.model.tasks.task import TaskStatus


class Assumptions:
    def __init__(
        self,
        placements: dict[str, Placement],
        pods: Pods,
        requests: BindRequests,
        volumes: PersistentVolumes,
        claims: ResourceClaims,
        changes: ChangedObjects,
    ) -> None:
        #: Assumed placements of pods that are being bound, by uid. Volumes and claims read them here as well.
        self.placements = placements
        #: Pods that are being evicted.
        self.leaving: set[str] = set()
        #: Pods that are not scheduled for a while, because binding them failed.
        self.backing_off: set[str] = set()
        #: Nodes that recently refused a pod, by pod uid.
        self.avoided: dict[str, frozenset[str]] = {}
        #: Nominated nodes by pod uid, where the pod's status is older.
        self.nominated: dict[str, str] = {}
        #: Capacity that the last cycle reserved, by job.
        self.reservations: Mapping[str, Reservation] = {}
        #: Why jobs are not served for a while, by key: scheduling them took too much time.
        self.set_aside: Mapping[str, str] = {}
        #: Since when nodes have been over-committed, as the last cycle found.
        self.overcommitted: Mapping[str, float] = {}
        #: The evictions in favour of other jobs, in the order of time.
        self._evictions: deque[PastEviction] = deque(maxlen=MAX_HISTORY)
        #: Number of placements that this scheduler did not decide.
        self.external_placements = 0
        self._own: dict[str, Placement] = {}
        self._pods = pods
        self._requests = requests
        self._volumes = volumes
        self._claims = claims
        self._changes = changes

    # -- queries ------------------------------------------------------------------------------------------------

    def node_of(self, pod: kube.Pod) -> str:
        """The node that a pod is on, or is being bound to."""
        return self.position_of(pod)[1]

    def status_of(self, pod: kube.Pod) -> TaskStatus:
        """The status of a pod, decisions in progress included."""
        return self.position_of(pod)[0]

    def position_of(self, pod: kube.Pod) -> tuple[TaskStatus, str]:
        """The status of a pod and its node, decisions in progress included."""
        status, uid, node = status_of(pod), pod.metadata.uid, pod.spec.node_name or ""
        placement = self.placements.get(uid)
        if placement is not None:
            node = node or placement.node
            if status is TaskStatus.PENDING:
                return TaskStatus.BINDING, node
        if uid in self.leaving and status in (TaskStatus.BOUND, TaskStatus.RUNNING):
            return TaskStatus.RELEASING, node
        return status, node

    def processors_of(self, uid: str) -> str:
        """CPUs assigned by an assumed placement, as the annotation that the pod will get."""
        placement = self.placements.get(uid)
        return placement.annotations.get(PROCESSORS, "") if placement is not None else ""

    def devices_of(self, uid: str) -> Mapping[str, str]:
        """Annotations of an assumed placement that assign shared devices."""
        placement = self.placements.get(uid)
        return assignments_in(placement.annotations) if placement is not None else {}

    # -- placements ---------------------------------------------------------------------------------------------

    def assume(self, placement: Placement) -> None:
        """Count a pod that is being bound on its node, until the cluster shows the result or it is forgotten."""
        pod = self._pods.find(placement.uid)
        if pod is not None and not pod.spec.node_name:
            self._own[placement.uid] = placement
            self.update(placement.uid)

    def forget(self, uid: str) -> None:
        """Drop this scheduler's own placement: the bind failed, or a bind request holds it now."""
        if self._own.pop(uid, None) is not None and not self.is_current(uid):
            self.update(uid)

    def is_current(self, uid: str) -> bool:
        """Report whether a pod counts where it should, as when a request repeats this scheduler's own decision."""
        current, wanted = self.placements.get(uid), self._wanted(uid)
        return current is not None and wanted is not None and _effect(current) == _effect(wanted)

    def _wanted(self, uid: str) -> Placement | None:
        return self._requests.placement(uid) or self._own.get(uid)

    def update(self, uid: str) -> None:
        """Count a waiting pod where its bind request or the own decision places it, if any."""
        wanted, before, own = self._wanted(uid), self.placements.get(uid), self._own.get(uid)
        if wanted is None and before is None:
            return
        if before is not None and (wanted is None or wanted.node != before.node):
            self._release(uid)
        if wanted is not None:
            known = (before.node if before is not None else None, own.node if own is not None else None)
            self.external_placements += wanted.node not in known
            self.placements[uid] = wanted
            self._volumes.reserve(uid)
            self._claims.reserve(uid)
        self._changes.mark_pod(uid)

    def confirm(self, uid: str) -> str | None:
        """Drop the placement of a bound pod; returns its node. Choices stay until volumes and claims confirm them."""
        self._own.pop(uid, None)
        placement = self.placements.pop(uid, None)
        return placement.node if placement is not None else None

    def _release(self, uid: str) -> None:
        placement = self.placements.pop(uid, None)
        if placement is not None:
            self._volumes.release(uid, placement)
            self._claims.release(uid, placement)

    def drop_pod(self, uid: str) -> None:
        """Drop everything about a removed pod."""
        self._own.pop(uid, None)
        self._release(uid)
        self.nominated.pop(uid, None)
        self.leaving.discard(uid)
        self.backing_off.discard(uid)
        self.avoided.pop(uid, None)

    # -- other decisions ----------------------------------------------------------------------------------------

    def assume_evicted(self, uid: str) -> None:
        """Count a pod that is being evicted as releasing."""
        self._mark(uid, self.leaving)

    def forget_eviction(self, uid: str) -> None:
        """Count a pod as running again: the eviction failed."""
        self._unmark(uid, self.leaving)

    def start_backoff(self, uid: str) -> None:
        """Do not schedule a pod until `end_backoff`: the last bind failed."""
        self._mark(uid, self.backing_off)

    def end_backoff(self, uid: str) -> None:
        self._unmark(uid, self.backing_off)

    def avoid(self, uid: str, *nodes: str) -> None:
        """Exclude nodes for a pod until `stop_avoiding`: they refused it."""
        if uid in self._pods.records:
            self.avoided[uid] = self.avoided.get(uid, frozenset()).union(nodes)
            self._changes.mark_pod(uid)

    def stop_avoiding(self, uid: str, node: str) -> None:
        avoided = self.avoided.pop(uid, frozenset()) - {node}
        if avoided:
            self.avoided[uid] = avoided
        self._changes.mark_pod(uid)

    def nominate(self, nodes: Mapping[str, str]) -> None:
        """Replace the nominations of the last cycle: known here before they are written to the pods."""
        nominated = self.nominated
        for uid in {*nominated, *nodes}:
            pod, before, node = self._pods.find(uid), nominated.pop(uid, ""), nodes.get(uid, "")
            if pod is not None and node and node != pod.status.nominated_node_name:
                nominated[uid] = node
            if nominated.get(uid, "") != before:
                self._changes.pods.add(uid)

    def remember(self, carryover: CycleCarryover) -> None:
        """Keep what a cycle leaves to the next ones."""
        self.reservations = dict(carryover.reservations)
        self.nominate(carryover.nominations)
        self.note_evictions(carryover.eviction_history)

    def note_evictions(self, evictions: Iterable[PastEviction]) -> None:
        self._evictions.extend(evictions)

    def recent_evictions(self, now: float) -> tuple[PastEviction, ...]:
        """Evictions within the maximum age; older ones are dropped."""
        while self._evictions and self._evictions[0].at <= now - MAX_HISTORY_AGE:
            self._evictions.popleft()
        return tuple(self._evictions)

    @property
    def evictions(self) -> list[PastEviction]:
        return list(self._evictions)

    def _mark(self, uid: str, marked: set[str]) -> None:
        if uid in self._pods.records and uid not in marked:
            marked.add(uid)
            self._changes.mark_pod(uid)

    def _unmark(self, uid: str, marked: set[str]) -> None:
        if uid in marked:
            marked.discard(uid)
            self._changes.mark_pod(uid)


def _effect(placement: Placement) -> tuple[object, ...]:
    """Return what a placement adds to the accounting."""
    volumes = placement.volumes.choices if placement.volumes is not None else ()
    devices = placement.devices.choices if placement.devices is not None else ()
    annotations = placement.annotations
    return placement.node, annotations.get(PROCESSORS, ""), assignments_in(annotations), volumes, devices
