"""Keeps shared GPUs reserved, and no others.

The bind of a pod reserves the GPUs of its groups. Besides, the service compares reserved and required GPUs: at the
start, on the node of every bind, when a pod ends, and periodically. A GPU is released only when neither the watches nor
the API server show a pod that shares it.
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

#: Seconds between two checks of everything, and of a GPU that is being reserved.
SWEEP_INTERVAL, POLL_INTERVAL = 60.0, 0.25
#: Seconds after which a finished bind whose pod did not appear is dropped.
BIND_FORGOTTEN_AFTER = 300.0
_FORBIDDEN = 403

log = logging.getLogger("stromboli.binding")

ObjectGetter = Callable[[type, str], TopLevel | None]
EventFunction = Callable[[TopLevel, str, str, str], None]


class ReservationService:
    """One for the whole cluster. `get` returns objects as last reported by the watches."""

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
        #: As reported by the watches: sharing pods by uid, requests by key, reservation pods by name.
        self._pods: dict[str, Pod] = {}
        self._requests: dict[str, BindRequest] = {}
        self._reservation_pods: dict[str, Pod] = {}
        #: Binds of this process whose pods the watches do not show yet, by uid.
        self._pending: dict[str, SharingPod] = {}
        #: When they finished, by uid.
        self._finished: dict[str, float] = {}
        #: GPUs whose reservation is being restored.
        self._restoring: dict[SharedGpu, asyncio.Task[None]] = {}
        self._seen: frozenset[ReservationDifference] = frozenset()
        #: Nodes to check soon.
        self._due: set[str] = set()
        self._changed = asyncio.Event()
        self._locks: dict[SharedGpu, tuple[asyncio.Lock, int]] = {}

    # -- events -------------------------------------------------------------------------------------------------

    def object_changed(self, entry: TopLevel, before: TopLevel | None) -> None:
        """Process a watch event; for a deleted object, `before` is the object itself."""
        if isinstance(entry, Pod):
            self._pod_changed(entry, is_gone=entry is before)
        elif isinstance(entry, BindRequest):
            self._request_changed(entry, is_gone=entry is before)

    def _pod_changed(self, pod: Pod, *, is_gone: bool) -> None:
        if not (self._pods or self._reservation_pods or self._pending or _is_sharing(pod)):
            return
        metadata, namespace = pod.metadata, self._options().namespace
        if metadata.namespace == namespace:
            if _is_sharing(pod) and not is_gone:
                self._reservation_pods[metadata.name] = pod
            elif self._reservation_pods.pop(metadata.name, None) is not None:
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

    async def reserve(self, member: SharingPod, precondition_error: Callable[[], str] = lambda: "") -> list[str]:
        """Reserve the GPUs of a pod's groups. Returns their ids. Raises StepFailed."""
        self.release(member.uid)
        self._pending[member.uid] = member
        await self._reconcile_node(member.node)
        return [await self._acquire(gpu, precondition_error) for gpu in member.gpus]

    def bind_finished(self, uid: str) -> None:
        """Note that a bind has finished, perhaps with an unknown outcome; it is dropped unless the pod appears."""
        if uid in self._pending:
            self._finished[uid] = time.monotonic()

    def release(self, uid: str) -> None:
        """Drop a pod that is not bound; a GPU that was reserved for it alone is released."""
        member = self._pending.pop(uid, None)
        self._finished.pop(uid, None)
        if member is not None:
            self._schedule_check(member.node)

    async def _acquire(self, gpu: SharedGpu, precondition_error: Callable[[], str]) -> str:
        options = self._options()
        deadline = time.monotonic() + options.seconds
        async with self._exclusive(gpu):
            while True:
                pod = await self._reservation_pod_for(gpu, options)
                if pod is not None and (device := device_of(pod)):
                    return device
                if problem := precondition_error():
                    raise StepFailed(problem)
                if time.monotonic() >= deadline:
                    raise StepFailed(
                        f"no GPU of node {gpu.node} was reserved within {options.seconds:g} s; check pod "
                        f"{options.namespace}/{reservation_pod_name(gpu)}"
                    )
                await asyncio.sleep(POLL_INTERVAL)

    async def _reservation_pod_for(self, gpu: SharedGpu, options: ReservationPodOptions) -> ReservationPod | None:
        """Return the reservation pod of a GPU, created if it does not exist; None while an old one terminates."""
        try:
            pod = await self._client.get(RESERVATION_PODS, reservation_pod_name(gpu), namespace=options.namespace)
        except ApiError as error:
            if not error.is_missing:
                raise
            return await self._create(gpu, options)
        if groups_in(pod.metadata.annotations) != (gpu.group,) or pod.spec.node_name != gpu.node:
            raise StepFailed(f"pod {pod.key} exists and holds no GPU for group {gpu.group}; delete it")
        if pod.metadata.deletion_timestamp is not None:
            return None
        if has_ended(pod):
            await self._delete(_reservation_of(pod), options)
            raise StepFailed(f"pod {pod.key} could not reserve a GPU of node {gpu.node}: {end_reason(pod)}")
        return pod

    async def _create(self, gpu: SharedGpu, options: ReservationPodOptions) -> ReservationPod | None:
        try:
            return await self._client.create(
                RESERVATION_PODS, reservation_pod_manifest(gpu, options), namespace=options.namespace
            )
        except ApiError as error:
            if error.is_conflict:
                return None  # another process created it, or an old one still terminates
            if error.is_missing or error.status == _FORBIDDEN:
                raise StepFailed(
                    f"no reservation pod can be created in namespace {options.namespace}: {error.message}; create the "
                    "namespace, and allow this service account to create pods there"
                ) from None
            raise

    @asynccontextmanager
    async def _exclusive(self, gpu: SharedGpu) -> AsyncIterator[None]:
        """Lock a GPU."""
        lock, users = self._locks.get(gpu, (asyncio.Lock(), 0))
        self._locks[gpu] = lock, users + 1
        try:
            async with lock:
                yield
        finally:
            lock, users = self._locks.pop(gpu)
            if users > 1:
                self._locks[gpu] = lock, users - 1

    # -- checks -------------------------------------------------------------------------------------------------

    async def serve(self) -> None:
        """Check everything at the start and periodically, and single nodes when a pod has ended there."""
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
        """Compare by the watches, and keep the differences for the next check."""
        expired = time.monotonic() - BIND_FORGOTTEN_AFTER
        for uid in [uid for uid, since in self._finished.items() if since < expired]:
            self.release(uid)
        found = self._compare(self._reservation_pods.values(), self._pods.values(), ())
        self._seen = found.seen
        return found

    async def _check_nodes(self, found: Iterable[ReservationDifference]) -> None:
        for node in sorted({each.gpu.node for each in found}):
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
        """Repair differences on a node that the watches and the API server agree on."""
        reported = self._compare(_on(node, self._reservation_pods.values()), _on(node, self._pods.values()), ())
        mine = {each for each in reported.seen if each.gpu.node == node}
        if not mine or not self._is_leader():
            return
        try:
            listing = await self._client.list(PODS, field_selector=f"spec.nodeName={node}")
            namespace = self._options().namespace
            reservation_pods = [
                pod for pod in listing.items if pod.metadata.namespace == namespace and _is_sharing(pod)
            ]
            await self._repair(self._compare(reservation_pods, listing.items, mine, only=node))
        except RequestFailed as error:
            log.warning("shared GPUs cannot be checked", extra={"node": node, "error": str(error)})
        except StepFailed as error:
            log.warning("shared GPUs cannot be repaired", extra={"node": node, "error": str(error)})

    def _compare(
        self,
        reservation_pods: Iterable[Pod],
        pods: Iterable[Pod],
        seen: Iterable[ReservationDifference],
        only: str = "",
    ) -> Repairs:
        namespace = self._options().namespace
        required = required_gpus(pods, self._requests.values(), self._pending.values(), self._find_pod, namespace)
        required = {gpu: pods_of for gpu, pods_of in required.items() if self._get(KubeNode, gpu.node) is not None}
        if only:
            required = {gpu: pods_of for gpu, pods_of in required.items() if gpu.node == only}
        return repairs(required, [_reservation_of(pod) for pod in reservation_pods], set(seen))

    async def _repair(self, found: Repairs) -> None:
        options = self._options()
        for held in found.delete:
            async with self._exclusive(held.gpu):
                # a bind that shares the GPU may have started since the check
                if not any(held.gpu in member.gpus for member in self._pending.values()):
                    await self._delete(held, options)
        for gpu in found.create:
            if gpu not in self._restoring:
                self._restoring[gpu] = asyncio.ensure_future(self._restore_reservation(gpu))

    async def _delete(self, held: ReservationState, options: ReservationPodOptions) -> None:
        """Delete exactly this pod, immediately if its node, and so the kubelet, is gone."""
        grace = None if self._get(KubeNode, held.gpu.node) is not None else 0
        try:
            await self._client.delete(
                RESERVATION_PODS, held.name, namespace=options.namespace, uid=held.uid, grace_period=grace
            )
            log.info("shared GPU released", extra={"node": held.gpu.node, "group": held.gpu.group})
        except ApiError as error:
            if not error.is_missing and not error.is_conflict:
                raise

    async def _restore_reservation(self, gpu: SharedGpu) -> None:
        """Reserve a GPU again on which pods run without a reservation, and report it on those pods."""
        what = f"GPU group {gpu.group} of node {gpu.node}"
        try:
            device = await self._acquire(gpu, lambda: "")
            note = f"{what} had lost its reservation; GPU {device} is reserved now. Check that the pod uses this one."
        except (StepFailed, RequestFailed) as error:
            note = f"{what} has lost its reservation: {error}"
        finally:
            self._restoring.pop(gpu, None)
        for pod in self._pods.values():
            if pod.spec.node_name == gpu.node and gpu.group in groups_in(pod.metadata.annotations):
                self._record_event(pod, "Warning", "GPUReservationLost", note)
        log.warning("GPU reservation lost", extra={"node": gpu.node, "group": gpu.group, "note": note})


def _on(node: str, pods: Iterable[Pod]) -> list[Pod]:
    return [pod for pod in pods if pod.spec.node_name == node]


def _is_sharing(pod: Pod) -> bool:
    return GROUPS in (pod.metadata.annotations or {})


def _reservation_of(pod: Pod | ReservationPod) -> ReservationState:
    metadata = pod.metadata
    gpu = SharedGpu(pod.spec.node_name or "", next(iter(groups_in(metadata.annotations)), ""))
    has_ended = (pod.status.phase or "") in ("Failed", "Succeeded")
    return ReservationState(gpu, metadata.name, metadata.uid, has_ended, metadata.deletion_timestamp is not None)
