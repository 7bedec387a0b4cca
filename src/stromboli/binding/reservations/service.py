"""Keeps the GPUs held that pods share, and no others.

Whoever binds a pod asks for the GPUs of its groups to be held. Besides, the difference between what is held and what
has to be is looked for: at the start, on the node of every bind, when a pod ends, and now and then. A GPU is given up
only when neither the watches nor the server itself know of anybody who shares it.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager

from stromboli.binding.reservations.demand import SharingPod, gpu_groups_of, member_of, required_gpus
from stromboli.binding.reservations.repairs import Repairs, ReservationDifference, ReservationState, repairs
from stromboli.binding.reservations.reservation_pods import (
    RESERVATION_PODS,
    ReservationPod,
    ReservationPodOptions,
    SharedGpu,
    device_of,
    end_reason,
    has_ended,
    reservation_pod_manifest,
    reservation_pod_name,
)
from stromboli.binding.steps.step import StepFailed
from stromboli.core.model.devices.gpu_fractions import GROUPS, groups_in
from stromboli.kube.client.api_errors import ApiError, RequestFailed
from stromboli.kube.client.client import Client
from stromboli.kube.objects.bind_requests import BindRequest
from stromboli.kube.objects.catalogue import PODS
from stromboli.kube.objects.cluster import KubeNode
from stromboli.kube.objects.meta import TopLevel
from stromboli.kube.objects.pod import Pod

#: Seconds between two looks at everything, and at a GPU that is about to be held.
SWEEP_INTERVAL, POLL_INTERVAL = 60.0, 0.25
#: Seconds after which a bind that is over and never came true is forgotten.
BIND_FORGOTTEN_AFTER = 300.0
_FORBIDDEN = 403

log = logging.getLogger("stromboli.binding")

ObjectGetter = Callable[[type, str], TopLevel | None]
EventFunction = Callable[[TopLevel, str, str, str], None]


class ReservationService:
    """One for the whole cluster. `get` finds objects as the watches reported them, `tell` makes events."""

    def __init__(
        self,
        client: Client,
        get: ObjectGetter,
        options: Callable[[], ReservationPodOptions],
        record_event: EventFunction = lambda regarding, kind, reason, note: None,
        *,
        is_leader: Callable[[], bool] = lambda: True,
        sweep: float = SWEEP_INTERVAL,
    ) -> None:
        self._client = client
        self._get = get
        self._options = options
        self._record_event = record_event
        self._is_leader = is_leader
        self._sweep = sweep
        #: What the watches report: members by uid, requests by key, reservation pods by name.
        self._pods: dict[str, Pod] = {}
        self._requests: dict[str, BindRequest] = {}
        self._holders: dict[str, Pod] = {}
        #: Binds that were begun here and are not seen to be true yet, by uid.
        self._pending: dict[str, SharingPod] = {}
        #: When some of them were over, by uid.
        self._settled: dict[str, float] = {}
        #: GPUs that are being held again.
        self._restoring: dict[SharedGpu, asyncio.Task[None]] = {}
        self._seen: frozenset[ReservationDifference] = frozenset()
        #: Nodes to be looked at soon.
        self._due: set[str] = set()
        self._changed = asyncio.Event()
        self._locks: dict[SharedGpu, tuple[asyncio.Lock, int]] = {}

    # -- news ---------------------------------------------------------------------------------------------------

    def object_changed(self, entry: TopLevel, before: TopLevel | None) -> None:
        """An object was reported; of one that is gone, `before` is the object itself."""
        if isinstance(entry, Pod):
            self._pod_changed(entry, is_gone=entry is before)
        elif isinstance(entry, BindRequest):
            self._request_changed(entry, is_gone=entry is before)

    def _pod_changed(self, pod: Pod, *, is_gone: bool) -> None:
        if not (self._pods or self._holders or self._pending or _is_sharing(pod)):
            return
        metadata, namespace = pod.metadata, self._options().namespace
        if metadata.namespace == namespace:
            if _is_sharing(pod) and not is_gone:
                self._holders[metadata.name] = pod
            elif self._holders.pop(metadata.name, None) is not None:
                self._schedule_check(pod.spec.node_name or "")
            return
        if is_gone or pod.spec.node_name:
            self.release(metadata.uid)
        if member_of(pod, namespace) is not None and not is_gone:
            self._pods[metadata.uid] = pod
        elif self._pods.pop(metadata.uid, None) is not None:
            self._schedule_check(pod.spec.node_name or "")

    def _request_changed(self, request: BindRequest, *, is_gone: bool) -> None:
        shared = [each.selected_node for each in request.spec.pods if gpu_groups_of(each)]
        if not shared:
            return
        if is_gone:
            self._requests.pop(request.key, None)
            for node in shared:
                self._schedule_check(node)
        else:
            self._requests[request.key] = request

    def _schedule_check(self, node: str) -> None:
        if node:
            self._due.add(node)
            self._changed.set()

    def _find_pod(self, namespace: str, name: str) -> Pod | None:
        found = self._get(Pod, f"{namespace}/{name}")
        return found if isinstance(found, Pod) else None

    # -- binds --------------------------------------------------------------------------------------------------

    async def reserve(self, member: SharingPod, obstacle: Callable[[], str] = lambda: "") -> list[str]:
        """Have the GPUs of a member's groups held; answers which they are. Raises StepFailed."""
        self.release(member.uid)
        self._pending[member.uid] = member
        await self._reconcile_node(member.node)
        return [await self._acquire(place, obstacle) for place in member.places]

    def bind_finished(self, uid: str) -> None:
        """A bind is over, or nobody knows what became of it: the watches tell, or it is forgotten after a while."""
        if uid in self._pending:
            self._settled[uid] = time.monotonic()

    def release(self, uid: str) -> None:
        """A pod will not stand where it was meant to: what was held for it alone is given up."""
        member = self._pending.pop(uid, None)
        self._settled.pop(uid, None)
        if member is not None:
            self._schedule_check(member.node)

    async def _acquire(self, place: SharedGpu, obstacle: Callable[[], str]) -> str:
        options = self._options()
        deadline = time.monotonic() + options.seconds
        async with self._exclusive(place):
            while True:
                holder = await self._reservation_pod_for(place, options)
                if holder is not None and (device := device_of(holder)):
                    return device
                if problem := obstacle():
                    raise StepFailed(problem)
                if time.monotonic() >= deadline:
                    raise StepFailed(
                        f"no GPU of node {place.node} was held for sharing within {options.seconds:g} s; look at pod "
                        f"{options.namespace}/{reservation_pod_name(place)}"
                    )
                await asyncio.sleep(POLL_INTERVAL)

    async def _reservation_pod_for(self, place: SharedGpu, options: ReservationPodOptions) -> ReservationPod | None:
        """The pod that holds a GPU, made if there is none; None for one that is on its way out."""
        try:
            holder = await self._client.get(RESERVATION_PODS, reservation_pod_name(place), namespace=options.namespace)
        except ApiError as error:
            if not error.is_missing:
                raise
            return await self._create(place, options)
        if groups_in(holder.metadata.annotations) != (place.group,) or holder.spec.node_name != place.node:
            raise StepFailed(f"pod {holder.key} is in the way: it holds no GPU for group {place.group}; delete it")
        if holder.metadata.deletion_timestamp is not None:
            return None
        if has_ended(holder):
            await self._delete(_held(holder), options)
            raise StepFailed(f"pod {holder.key} could not hold a GPU of node {place.node}: {end_reason(holder)}")
        return holder

    async def _create(self, place: SharedGpu, options: ReservationPodOptions) -> ReservationPod | None:
        try:
            return await self._client.create(
                RESERVATION_PODS, reservation_pod_manifest(place, options), namespace=options.namespace
            )
        except ApiError as error:
            if error.is_conflict:
                return None  # somebody was faster, or the old one is not gone yet
            if error.is_missing or error.status == _FORBIDDEN:
                raise StepFailed(
                    f"no pod can be made in namespace {options.namespace} to hold a GPU: {error.message}; create the "
                    "namespace and allow us to create pods there"
                ) from None
            raise

    @asynccontextmanager
    async def _exclusive(self, place: SharedGpu) -> AsyncIterator[None]:
        """One at a time for each GPU."""
        lock, users = self._locks.get(place, (asyncio.Lock(), 0))
        self._locks[place] = lock, users + 1
        try:
            async with lock:
                yield
        finally:
            lock, users = self._locks.pop(place)
            if users > 1:
                self._locks[place] = lock, users - 1

    # -- looking ------------------------------------------------------------------------------------------------

    async def serve(self) -> None:
        """Look at everything at the start and now and then, and at single nodes when something has ended there."""
        await self._check_nodes(self._compare_all().seen)
        while True:
            deadline = time.monotonic() + self._sweep
            while (left := deadline - time.monotonic()) > 0:
                await self._wait_for_change(left)
                due, self._due = self._due, set()
                for node in sorted(due):
                    await self._reconcile_node(node)
            before = self._seen
            await self._check_nodes(self._compare_all().seen & before)

    def _compare_all(self) -> Repairs:
        """What the watches say; kept for the next time."""
        over = time.monotonic() - BIND_FORGOTTEN_AFTER
        for uid in [uid for uid, since in self._settled.items() if since < over]:
            self.release(uid)
        found = self._compare(self._holders.values(), self._pods.values(), ())
        self._seen = found.seen
        return found

    async def _check_nodes(self, found: Iterable[ReservationDifference]) -> None:
        for node in sorted({each.place.node for each in found}):
            await self._reconcile_node(node)

    async def _wait_for_change(self, timeout: float) -> None:
        self._changed.clear()
        if not self._due:
            try:
                async with asyncio.timeout(timeout):
                    await self._changed.wait()
            except TimeoutError:
                return

    async def _reconcile_node(self, node: str) -> None:
        """What the watches say is wrong with a node is put right if the server says so, too."""
        reported = self._compare(_on(node, self._holders.values()), _on(node, self._pods.values()), ())
        mine = {each for each in reported.seen if each.place.node == node}
        if not mine or not self._is_leader():
            return
        try:
            listing = await self._client.list(PODS, field_selector=f"spec.nodeName={node}")
            namespace = self._options().namespace
            holders = [pod for pod in listing.items if pod.metadata.namespace == namespace and _is_sharing(pod)]
            await self._repair(self._compare(holders, listing.items, mine, only=node))
        except RequestFailed as error:
            log.warning("shared GPUs of node %s cannot be looked at: %s", node, error)
        except StepFailed as error:
            log.warning("shared GPUs of node %s: %s", node, error)

    def _compare(
        self, holders: Iterable[Pod], pods: Iterable[Pod], seen: Iterable[ReservationDifference], only: str = ""
    ) -> Repairs:
        namespace = self._options().namespace
        places = required_gpus(pods, self._requests.values(), self._pending.values(), self._find_pod, namespace)
        living = {place: who for place, who in places.items() if self._get(KubeNode, place.node) is not None}
        if only:
            living = {place: who for place, who in living.items() if place.node == only}
        return repairs(living, [_reservation_of(pod) for pod in holders], set(seen))

    async def _repair(self, found: Repairs) -> None:
        options = self._options()
        for held in found.delete:
            async with self._exclusive(held.place):
                if not self._is_required_now(held.place):
                    await self._delete(held, options)
        for place in found.create:
            if place not in self._restoring:
                self._restoring[place] = asyncio.ensure_future(self._restore_reservation(place))

    def _is_required_now(self, place: SharedGpu) -> bool:
        """Whether somebody began to share a GPU while the server was asked."""
        return any(place in member.places for member in self._pending.values())

    async def _delete(self, held: ReservationState, options: ReservationPodOptions) -> None:
        """This very pod, at once where there is no kubelet to wait for."""
        grace = None if self._get(KubeNode, held.place.node) is not None else 0
        try:
            await self._client.delete(
                RESERVATION_PODS, held.name, namespace=options.namespace, uid=held.uid, grace_period=grace
            )
            log.info("GPU group %s of node %s is given up", held.place.group, held.place.node)
        except ApiError as error:
            if not error.is_missing and not error.is_conflict:
                raise

    async def _restore_reservation(self, place: SharedGpu) -> None:
        """Pods run on a GPU that nobody holds. They are not touched; the GPU is held again, and that is said."""
        what = f"GPU group {place.group} of node {place.node}"
        try:
            device = await self._acquire(place, lambda: "")
            note = f"{what} was not held any more; GPU {device} is held for it now. Check that the pod uses that one."
        except (StepFailed, RequestFailed) as error:
            note = f"{what} is not held any more: {error}"
        finally:
            self._restoring.pop(place, None)
        for pod in self._sharing(place):
            self._record_event(pod, "Warning", "GPUReservationLost", note)
        log.warning(note)

    def _sharing(self, place: SharedGpu) -> list[Pod]:
        return [pod for pod in self._pods.values() if place in _places_of(pod)]


def _on(node: str, pods: Iterable[Pod]) -> list[Pod]:
    return [pod for pod in pods if pod.spec.node_name == node]


def _is_sharing(pod: Pod) -> bool:
    return GROUPS in (pod.metadata.annotations or {})


def _places_of(pod: Pod) -> list[SharedGpu]:
    return [SharedGpu(pod.spec.node_name or "", group) for group in groups_in(pod.metadata.annotations)]


def _reservation_of(pod: Pod) -> ReservationState:
    metadata = pod.metadata
    group = next(iter(groups_in(metadata.annotations)), "")
    ended = (pod.status.phase or "") in ("Failed", "Succeeded")
    leaving = metadata.deletion_timestamp is not None
    return ReservationState(SharedGpu(pod.spec.node_name or "", group), metadata.name, metadata.uid, ended, leaving)


def _held(holder: ReservationPod) -> ReservationState:
    metadata = holder.metadata
    group = next(iter(groups_in(metadata.annotations)), "")
    return ReservationState(
        SharedGpu(holder.spec.node_name or "", group), metadata.name, metadata.uid, has_ended(holder)
    )
