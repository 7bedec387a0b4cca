"""The Volcano Jobs that the objects of one kind control.

A Job may be deleted as soon as it has ended, before the status of its owner has the outcome. Such Jobs are kept as
`departed` until the owner's controller has recorded them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from stromboli.controllers.jobs.phases import FINISHED
from stromboli.kube.objects.meta import OwnerReference
from stromboli.kube.objects.volcano_jobs import VolcanoJob
from stromboli.kube.watch.informer import Informer


class JobsOfOwner(NamedTuple):
    """The Jobs of an object, by name; `departed` are those that were deleted after their end."""

    present: Mapping[str, VolcanoJob]
    departed: Mapping[str, VolcanoJob]

    @property
    def all(self) -> dict[str, VolcanoJob]:
        return {**self.departed, **self.present}

    @property
    def active(self) -> list[VolcanoJob]:
        """The Jobs that have not ended, the oldest first."""
        return sorted((job for job in self.present.values() if not has_ended(job)), key=age)


class OwnedJobs:
    """An index of Jobs by the uid of the controlling owner; `changed` is called with the key of the owner."""

    def __init__(self, jobs: Informer[VolcanoJob], owners: Informer[Any], changed: Callable[[str], None]) -> None:
        self._owners, self._changed = owners, changed
        self._present: dict[str, dict[str, VolcanoJob]] = {}
        self._departed: dict[str, dict[str, VolcanoJob]] = {}
        jobs.listen(self._job_changed)
        owners.listen(self._owner_changed)

    def of(self, uid: str) -> JobsOfOwner:
        return JobsOfOwner(dict(self._present.get(uid, {})), dict(self._departed.get(uid, {})))

    def recorded(self, uid: str, jobs: JobsOfOwner) -> None:
        """Forget departed Jobs whose outcome is in the status of the owner."""
        departed = self._departed.get(uid, {})
        for name, job in jobs.departed.items():
            if departed.get(name) is job:
                del departed[name]
        if not departed:
            self._departed.pop(uid, None)

    def _job_changed(self, old: VolcanoJob | None, new: VolcanoJob | None) -> None:
        if old is not None and (new is None or _identity(new) != _identity(old)):
            self._remove(old)
        if new is not None and (owner := self._owner_of(new)) is not None:
            self._present.setdefault(owner.uid or "", {})[new.metadata.name] = new
            self._departed.get(owner.uid or "", {}).pop(new.metadata.name, None)
            self._changed(_key(new, owner))

    def _remove(self, job: VolcanoJob) -> None:
        owner = self._owner_of(job)
        if owner is None:
            return
        uid, name = owner.uid or "", job.metadata.name
        present = self._present.get(uid, {})
        present.pop(name, None)
        if not present:
            self._present.pop(uid, None)
        found = self._owners.objects.get(_key(job, owner))
        if has_ended(job) and found is not None and found.metadata.uid == uid:
            self._departed.setdefault(uid, {})[name] = job
        self._changed(_key(job, owner))

    def _owner_changed(self, old: Any | None, new: Any | None) -> None:
        if old is not None and (new is None or new.metadata.uid != old.metadata.uid):
            self._departed.pop(old.metadata.uid, None)

    def _owner_of(self, job: VolcanoJob) -> OwnerReference | None:
        resource = self._owners.resource
        owner = controller_of(job)
        if owner is None or owner.kind != resource.kind:
            return None
        return owner if (owner.api_version or "").rpartition("/")[0] == resource.group else None


def controller_of(job: VolcanoJob) -> OwnerReference | None:
    """Return the controlling owner of a Job."""
    return next((owner for owner in job.metadata.owner_references or () if owner.controller), None)


def has_ended(job: VolcanoJob) -> bool:
    return job.status.state.phase in FINISHED


def age(job: VolcanoJob) -> tuple[str, str]:
    """Order Jobs by creation, the oldest first."""
    return job.metadata.creation_timestamp or "", job.metadata.name


def _identity(job: VolcanoJob) -> tuple[str, str]:
    owner = controller_of(job)
    return job.metadata.uid, (owner.uid or "") if owner else ""


def _key(job: VolcanoJob, owner: OwnerReference) -> str:
    return f"{job.metadata.namespace}/{owner.name}"
