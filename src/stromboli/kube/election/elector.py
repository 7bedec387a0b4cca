"""One of several processes is in charge: the one whose name stands in a Lease that it keeps renewing.

Clocks of different machines are never compared. Whoever waits watches the record by its own monotonic clock: if it did
not change for as long as it promises, its holder is gone. Whoever leads counts from the moment it *sent* its last
successful renewal, and stops believing in itself a good while before anybody else may take over; a process that was
stopped and resumed therefore finds out by looking at `is_leading`, before any answer from the server could tell it.

Every write carries the version of the record it is based on, so of two that reach for the lease one gets it.
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
    """Takes part in the election. `acquire`, then `keep` until it returns; `release` when leaving in good order."""

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
            raise ValueError("a lease must outlast the renew deadline, and that the retry period by a fifth or more")
        self.identity = identity
        #: How often the lease changed hands when we got it: a later leader has a higher one.
        self.epoch = 0
        #: Who holds the lease, as far as we saw.
        self.leader = ""
        #: Why the last attempt to take or renew the lease failed; empty if it did not.
        self.problem = ""
        self._client = client
        self._name = name
        self._namespace = namespace
        self._lease_duration = lease_duration
        self._renew_deadline = renew_deadline
        self._retry_period = retry_period
        #: What the lease tells others about us while we hold it.
        self._annotations = annotations or {}
        self._clock = clock
        self._chance = random.SystemRandom()
        self._observed: Lease | None = None
        self._observed_at = 0.0
        self._renewed_at = float("-inf")
        self._renew_requested = asyncio.Event()
        self._terms = 0

    @property
    def is_leading(self) -> bool:
        """Whether nobody else can be leading now. Ask before every write that only the leader may do."""
        return self._clock() < self._renewed_at + self._renew_deadline

    @property
    def renewed_at(self) -> float:
        """When the last renewal that succeeded was sent."""
        return self._renewed_at

    def renew_now(self) -> None:
        """Do not wait for the next renewal: something has called our leadership into question."""
        self._renew_requested.set()

    def has_seen(self, lease: Lease, since: float) -> None:
        """Somebody else has watched the record for us, and it did not change since then by our clock."""
        self._observe(lease)
        self._observed_at = since

    async def acquire(self) -> None:
        """Returns as the leader."""
        while not await self._attempt():
            await asyncio.sleep(self._retry_period * self._chance.uniform(1.0, JITTER))

    async def keep(self) -> None:
        """Renews the lease; returns when it is lost."""
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
        """Gives the lease away, so that the next one need not wait until it runs out. Never raises RequestFailed."""
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
        """A renewal that was under way may have changed the record since we saw it."""
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
        """Takes or renews the lease, in one look and at most one write; whether we hold it now."""
        began = self._clock()
        try:
            async with asyncio.timeout(self._left() if self.is_leading else self._renew_deadline):
                lease = await self._take()
        except (RequestFailed, TimeoutError) as error:
            self._tell(str(error) or "no response in time")
            return False
        self._tell("")
        if lease is None:
            return False
        self._observe(lease)
        self._renewed_at = began
        self.epoch = lease.spec.lease_transitions or 0
        return True

    def _tell(self, problem: str) -> None:
        """Keep the problem for those who ask, and log it once."""
        if problem and not self.problem:
            _log.warning(
                "lease not acquired or renewed", extra={"lease": f"{self._namespace}/{self._name}", "error": problem}
            )
        elif self.problem and not problem:
            _log.info("lease reachable again", extra={"lease": f"{self._namespace}/{self._name}"})
        self.problem = problem

    async def _take(self) -> Lease | None:
        """The lease in our hands, or None if another holds it."""
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
        return None if self._is_taken() else await self._replace(found, self._claim(found))

    async def _create(self) -> Lease:
        metadata: dict[str, Any] = {"name": self._name, "namespace": self._namespace}
        if self._annotations:
            metadata["annotations"] = dict(self._annotations)
        return await self._client.create(LEASES, {"metadata": metadata, "spec": self._claim(None)})

    async def _replace(self, based_on: Lease, spec: Mapping[str, Any]) -> Lease:
        """A merge on top of a known version: others' fields stay, and others' writes are not overwritten."""
        metadata: dict[str, Any] = {"resourceVersion": based_on.metadata.resource_version, "uid": based_on.metadata.uid}
        if self._annotations:
            metadata["annotations"] = dict(self._annotations)
        body = {"metadata": metadata, "spec": spec}
        return await self._client.patch(LEASES, self._name, body, namespace=self._namespace)

    def _claim(self, found: Lease | None) -> dict[str, Any]:
        """The record as the holder writes it. Unless we lead already, this is a new term, also under the same name."""
        now = timestamps.now()
        claim: dict[str, Any] = {
            "holderIdentity": self.identity,
            "leaseDurationSeconds": math.ceil(self._lease_duration),
            "renewTime": now,
        }
        if found is not None and self.is_leading:
            return claim
        return {**claim, "acquireTime": now, "leaseTransitions": self._terms}

    def _observe(self, lease: Lease) -> None:
        observed = self._observed
        if observed is None or observed.metadata.resource_version != lease.metadata.resource_version:
            self._observed, self._observed_at = lease, self._clock()
        self.leader = lease.spec.holder_identity or ""
        self._terms = max(self._terms, (lease.spec.lease_transitions or 0) + 1)

    def _is_taken(self) -> bool:
        """Whether somebody else holds the lease, and has renewed it recently enough."""
        observed = self._observed
        if observed is None or not observed.spec.holder_identity or observed.spec.holder_identity == self.identity:
            return False
        promised = observed.spec.lease_duration_seconds or self._lease_duration
        return self._clock() < self._observed_at + promised

    def _left(self) -> float:
        return max(self._renewed_at + self._renew_deadline - self._clock(), 0.0)
