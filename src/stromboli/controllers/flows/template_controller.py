"""The controller of JobTemplates: lists the Jobs that were created from a template in its status."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stromboli.controllers.status_patches import StatusPatcher
from stromboli.kube.client.api_errors import ApiError
from stromboli.kube.objects.volcano_jobs import JobTemplate, JobTemplateStatus, VolcanoJob
from stromboli.kube.watch.informer import GatedInformer, Informer
from stromboli.kube.work.work_queue import WorkQueue, namespace_of
from stromboli.workloads.families.volcano.created_jobs import CREATED_BY_TEMPLATE

if TYPE_CHECKING:
    from stromboli.kube.client.client import Client

DEBOUNCE_SECONDS = 0.1
"""Changes of Jobs within this many seconds are written together."""
CONFLICT_SECONDS = 0.5


class JobTemplateController:
    """Maintains `jobDependsOnList`."""

    def __init__(self, client: Client, templates: GatedInformer[JobTemplate], jobs: Informer[VolcanoJob]) -> None:
        self._templates, self._jobs = templates, jobs
        self.work: WorkQueue[str] = WorkQueue(self._reconcile, name="jobtemplates", group=namespace_of)
        self._writer = StatusPatcher(client, templates)
        #: Names of Jobs by the key of their template.
        self._created: dict[str, set[str]] = {}
        jobs.listen(self._job_changed)
        templates.listen(self._template_changed)

    async def run(self) -> None:
        """Work until cancelled."""
        await self._templates.synced.wait()
        await self._jobs.synced.wait()
        await self.work.run()

    def _template_changed(self, old: JobTemplate | None, new: JobTemplate | None) -> None:
        if new is not None:
            self.work.add(new.key)

    def _job_changed(self, old: VolcanoJob | None, new: VolcanoJob | None) -> None:
        before, after = _template_of(old), _template_of(new)
        if before == after:
            return
        if old is not None and before:
            self._created.get(before, set()).discard(old.metadata.name)
        if new is not None and after:
            self._created.setdefault(after, set()).add(new.metadata.name)
        for key in filter(None, (before, after)):
            self.work.add_after(key, DEBOUNCE_SECONDS)

    async def _reconcile(self, key: str) -> float | None:
        names = self._created.get(key, set())
        if not names:
            self._created.pop(key, None)
        template = self._templates.objects.get(key)
        if template is None or template.metadata.deletion_timestamp is not None:
            return None
        try:
            await self._writer.write(template, template.status, JobTemplateStatus(sorted(names) or None))
        except ApiError as error:
            if not error.is_conflict:
                raise
            return CONFLICT_SECONDS
        return None


def _template_of(job: VolcanoJob | None) -> str:
    """Return the key of the template of a Job, whose label is `<namespace>.<name>`."""
    if job is None:
        return ""
    namespace = job.metadata.namespace
    text = (job.metadata.labels or {}).get(CREATED_BY_TEMPLATE, "")
    name = text.removeprefix(f"{namespace}.")
    return f"{namespace}/{name}" if name and name != text else ""
