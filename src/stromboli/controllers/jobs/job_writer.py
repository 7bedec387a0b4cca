"""Writes of a Job itself: its status for the version that was read, names of claims, and its deletion."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stromboli.controllers.jobs.status import status_patch
from stromboli.kube.client.api_errors import ApiError
from stromboli.kube.client.client import PatchKind
from stromboli.kube.objects.catalogue import VOLCANO_JOBS
from stromboli.kube.objects.volcano_jobs import VolcanoJob, VolcanoJobStatus
from stromboli.kube.watch.informer import GatedInformer
from stromboli.workloads.document import WorkloadDocument
from stromboli.workloads.families.volcano.tasks import claim_names

if TYPE_CHECKING:
    from stromboli.kube.client.client import Client


class JobWriter:
    """Passes the answers on to the informer, so that the next decision depends on them."""

    def __init__(self, client: Client, jobs: GatedInformer[VolcanoJob]) -> None:
        self._client, self._jobs = client, jobs
        #: Whether a change of a Job is the answer to a write of its status, after which the caller continues.
        self.is_own_status = False

    async def write(self, job: VolcanoJob, status: VolcanoJobStatus) -> VolcanoJob:
        """Write a status, if it differs. Raises ApiError for a conflict if the Job has changed."""
        patch = status_patch(job.status, status)
        if not patch:
            return job
        name, namespace = job.metadata.name, job.metadata.namespace
        body = {"metadata": {"resourceVersion": job.metadata.resource_version}, "status": patch}
        written = await self._client.patch(VOLCANO_JOBS, name, body, namespace=namespace, subresource="status")
        self.is_own_status = True
        try:
            self._jobs.apply(written)
        finally:
            self.is_own_status = False
        return written

    async def name_claims(self, job: VolcanoJob, document: WorkloadDocument) -> None:
        """Write the names of claims into volumes without one, as Volcano does."""
        names = claim_names(document)
        unnamed = [place for place in range(len(names)) if not document.text(f"spec.volumes[{place}].volumeClaimName")]
        if not unnamed:
            return
        version = {"op": "test", "path": "/metadata/resourceVersion", "value": job.metadata.resource_version}
        paths = {place: f"/spec/volumes/{place}/volumeClaimName" for place in unnamed}
        changes = [version, *({"op": "add", "path": paths[place], "value": names[place]} for place in unnamed)]
        name, namespace = job.metadata.name, job.metadata.namespace
        self._jobs.apply(
            await self._client.patch(VOLCANO_JOBS, name, changes, namespace=namespace, kind=PatchKind.JSON)
        )

    async def refresh(self, job: VolcanoJob) -> None:
        """Read a Job that another client has changed."""
        if (found := await self._get(job)) is not None:
            self._jobs.apply(found)

    async def exists(self, job: VolcanoJob) -> bool:
        """Report whether the Job still exists: the watch may not have reported its deletion yet.

        The server's cache is asked: what may be behind is this process with its work on events.
        """
        found = await self._get(job, from_cache=True)
        return found is not None and found.metadata.uid == job.metadata.uid and not found.metadata.deletion_timestamp

    async def delete(self, job: VolcanoJob) -> None:
        name, namespace, uid = job.metadata.name, job.metadata.namespace, job.metadata.uid
        try:
            await self._client.delete(VOLCANO_JOBS, name, namespace=namespace, uid=uid, propagation="Background")
        except ApiError as error:
            if not error.is_missing:
                raise

    async def _get(self, job: VolcanoJob, *, from_cache: bool = False) -> VolcanoJob | None:
        name, namespace = job.metadata.name, job.metadata.namespace
        try:
            return await self._client.get(VOLCANO_JOBS, name, namespace=namespace, is_small=True, from_cache=from_cache)
        except ApiError as error:
            if error.is_missing:
                return None
            raise
