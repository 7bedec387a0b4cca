"""Leader election: the leader is the process whose identity is in a Lease that it keeps renewing.

Clocks of different machines are never compared. A candidate observes the record by its own monotonic clock: when it is
unchanged for its lease duration, its holder is gone. A leader counts from the moment it *sent* its last successful
renewal, and stops leading well before another process may take over; a process that was suspended and resumed finds out
from `is_leading`, before any response of the server.

Every write carries the version of the record it is based on, so of two concurrent writes one succeeds.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import math
import random
import time
from collections.abc import Callable, Mapping
from typing import Any

from stromboli.kube.client.api_errors import ApiError, RequestFailed
from stromboli.kube.client.client import Client
from stromboli.kube.objects import timestamps
from stromboli.kube.objects.catalogue import LEASES
from stromboli.kube.objects.cluster import Lease

JITTER = 1.2

_log = logging.getLogger("stromboli.election")


class LeaderElector:
    """A candidate. Call `acquire`, then `keep` until it returns; `release` when stopping."""

    def __init__(
        self,
        client: Client,
        *,
        name: str,
        namespace: str,
        identity: str,
        lease_duration: float = 15,
        renew_deadline: float = 10,
        retry_period: float = 2,
        annotations: Mapping[str, str] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        if not lease_duration > renew_deadline > retry_period * JITTER > 0:
            raise ValueError("the lease duration must exceed the renew deadline, and that the retry period times 1.2")
        self.identity = identity
        #: The number of lease transitions when it was acquired: a later leader has a higher one.
        self.epoch = 0
        #: The holder of the lease, as last observed.
        self.leader = ""
        #: Why the last attempt to acquire or renew the lease failed; empty if it did not.
        self.problem = ""
        self._client = client
        self._name = name
        self._namespace = namespace
        self._lease_duration = lease_duration
        self._renew_deadline = renew_deadline
        self._retry_period = retry_period
        #: Annotations of the lease while this process holds it.
        self._annotations: Mapping[str, str | None] = annotations or {}
        self._clock = clock
        self._random = random.SystemRandom()
        self._observed: Lease | None = None
        self._observed_at = 0.0
        self._renewed_at = float("-inf")
        self._renew_requested = asyncio.Event()
        self._terms = 0

    @property
    def is_leading(self) -> bool:
        """Report whether no other process can lead now. Check it before every write that only the leader may do."""
        return self._clock() < self._renewed_at + self._renew_deadline

    @property
    def renewed_at(self) -> float:
        """When the last successful renewal was sent."""
        return self._renewed_at

    @property
    def annotations(self) -> Mapping[str, str]:
        """The annotations of the lease as last observed."""
        return (self._observed.metadata.annotations if self._observed is not None else None) or {}

    def annotate(self, annotations: Mapping[str, str | None]) -> None:
        """Set annotations of the lease with the next renewal or release; None removes one."""
        self._annotations = {**self._annotations, **annotations}

    def renew_now(self) -> None:
        """Renew now: the leadership is in doubt."""
        self._renew_requested.set()

    def observe_lease(self, lease: Lease, since: float) -> None:
        """Start from a lease that was observed unchanged since then, by the same clock."""
        self._observe(lease)
        self._observed_at = since

    async def acquire(self) -> None:
        """Wait until this process leads."""
        while not await self._attempt():
            await asyncio.sleep(self._retry_period * self._random.uniform(1.0, JITTER))

    async def keep(self) -> None:
        """Renew the lease; return when it is lost."""
        while self.is_leading:
            await self._pause(min(self._retry_period, self._left()))
            if self.is_leading and not await self._attempt() and self._is_taken():
                break
        self._renewed_at = float("-inf")

    async def _pause(self, seconds: float) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._renew_requested.wait()
        self._renew_requested.clear()

    async def release(self) -> None:
        """Release the lease, so that the next leader need not wait until it expires; `keep` must have ended.

        Never raises RequestFailed.
        """
        observed, was_leading = self._observed, self.is_leading
        self._renewed_at = float("-inf")
        if observed is None or not was_leading:
            return
        try:
            async with asyncio.timeout(self._renew_deadline):
                await self._release_lease(observed)
        except (RequestFailed, TimeoutError) as error:
            self.problem = str(error) or "no response in time"

    async def _release_lease(self, observed: Lease) -> None:
        """Release the lease; a renewal in progress may have changed the record."""
        spec = {"holderIdentity": "", "leaseDurationSeconds": 1, "renewTime": timestamps.now()}
        try:
            await self._replace(observed, spec)
        except ApiError as error:
            if not error.is_conflict:
                raise
            found = await self._client.get(LEASES, self._name, namespace=self._namespace)
            if found.spec.holder_identity == self.identity:
                await self._replace(found, spec)

    async def _attempt(self) -> bool:
        """Acquire or renew the lease with one read and at most one write; report whether it is held now."""
        began = self._clock()
        try:
            async with asyncio.timeout(self._left() if self.is_leading else self._renew_deadline):
                lease = await self._take()
        except (RequestFailed, TimeoutError) as error:
            self._set_problem(str(error) or "no response in time")
            return False
        self._set_problem("")
        if lease is None:
            return False
        self._observe(lease)
        self._renewed_at = began
        self.epoch = lease.spec.lease_transitions or 0
        return True

    def _set_problem(self, problem: str) -> None:
        """Set the problem, and log it once."""
        if problem and not self.problem:
            _log.warning(
                "lease not acquired or renewed", extra={"lease": f"{self._namespace}/{self._name}", "error": problem}
            )
        elif self.problem and not problem:
            _log.info("lease reachable again", extra={"lease": f"{self._namespace}/{self._name}"})
        self.problem = problem

    async def _take(self) -> Lease | None:
        """Return the lease when it is held, or None if another process holds it."""
        known = self._observed if self.is_leading else None
        if known is not None:
            try:
                return await self._replace(known, {"renewTime": timestamps.now()})
            except ApiError as error:
                if not error.is_conflict and not error.is_missing:
                    raise
        try:
            found = await self._client.get(LEASES, self._name, namespace=self._namespace)
        except ApiError as error:
            if not error.is_missing:
                raise
            return await self._create()
        self._observe(found)
        return None if self._is_taken() else await self._replace(found, self._record(found))

    async def _create(self) -> Lease:
        metadata: dict[str, Any] = {"name": self._name, "namespace": self._namespace}
        if self._annotations:
            metadata["annotations"] = {key: text for key, text in self._annotations.items() if text is not None}
        return await self._client.create(LEASES, {"metadata": metadata, "spec": self._record(None)})

    async def _replace(self, based_on: Lease, spec: Mapping[str, Any]) -> Lease:
        """Merge into a known version: other fields stay, and concurrent writes are not overwritten."""
        metadata: dict[str, Any] = {"resourceVersion": based_on.metadata.resource_version, "uid": based_on.metadata.uid}
        if self._annotations:
            metadata["annotations"] = dict(self._annotations)
        body = {"metadata": metadata, "spec": spec}
        return await self._client.patch(LEASES, self._name, body, namespace=self._namespace)

    def _record(self, found: Lease | None) -> dict[str, Any]:
        """The holder's record. Unless this process leads already, it starts a new term, even under the same name."""
        now = timestamps.now()
        record: dict[str, Any] = {
            "holderIdentity": self.identity,
            "leaseDurationSeconds": math.ceil(self._lease_duration),
            "renewTime": now,
        }
        if found is not None and self.is_leading:
            return record
        return {**record, "acquireTime": now, "leaseTransitions": self._terms}

    def _observe(self, lease: Lease) -> None:
        observed = self._observed
        if observed is None or observed.metadata.resource_version != lease.metadata.resource_version:
            self._observed, self._observed_at = lease, self._clock()
        self.leader = lease.spec.holder_identity or ""
        self._terms = max(self._terms, (lease.spec.lease_transitions or 0) + 1)

    def _is_taken(self) -> bool:
        """Report whether another process holds the lease and has renewed it recently."""
        observed = self._observed
        if observed is None or not observed.spec.holder_identity or observed.spec.holder_identity == self.identity:
            return False
        duration = observed.spec.lease_duration_seconds or self._lease_duration
        return self._clock() < self._observed_at + duration

    def _left(self) -> float:
        return max(self._renewed_at + self._renew_deadline - self._clock(), 0.0)
