"""Creates and deletes the Volcano Jobs of other objects."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from stromboli.controllers.owned_jobs import controller_of
from stromboli.kube.client.api_errors import ApiError
from stromboli.kube.objects.catalogue import VOLCANO_JOBS
from stromboli.kube.objects.volcano_jobs import VolcanoJob
from stromboli.kube.watch.informer import GatedInformer

if TYPE_CHECKING:
    from stromboli.kube.client.client import Client


class JobNotCreated(Exception):
    """A Job that the server rejected, or whose name another object has; it is tried again later."""


class JobCreator:
    """Passes what it creates on to the informer, so that the next decision depends on it."""

    def __init__(self, client: Client, jobs: GatedInformer[VolcanoJob]) -> None:
        self._client, self._jobs = client, jobs
        #: The number of Jobs that were created.
        self.created = 0

    async def create(self, job: Mapping[str, Any], owner_uid: str) -> bool:
        """Create a Job of this owner; report whether it did not exist yet. Raises JobNotCreated."""
        name = job["metadata"]["name"]
        try:
            self._jobs.apply(await self._client.create(VOLCANO_JOBS, job))
        except ApiError as error:
            if error.is_conflict:
                await self._adopt(name, job["metadata"]["namespace"], owner_uid)
                return False
            if error.is_invalid or error.is_denied:
                raise JobNotCreated(f"Job {name} was rejected: {error.message}") from error
            raise
        self.created += 1
        return True

    async def _adopt(self, name: str, namespace: str, owner_uid: str) -> None:
        found = await self._client.get(VOLCANO_JOBS, name, namespace=namespace)
        owner = controller_of(found)
        if owner is None or owner.uid != owner_uid:
            raise JobNotCreated(f"Job {name} exists and belongs to another object; delete one of them")
        self._jobs.apply(found)

    async def delete(self, job: VolcanoJob) -> bool:
        """Delete a Job, and report whether this call did."""
        metadata = job.metadata
        if metadata.deletion_timestamp is not None:
            return False
        try:
            await self._client.delete(
                VOLCANO_JOBS, metadata.name, namespace=metadata.namespace, uid=metadata.uid, propagation="Background"
            )
        except ApiError as error:
            if not error.is_missing:
                raise  # After a conflict the caller reads again: another Job may have the name.
            return False
        return True
