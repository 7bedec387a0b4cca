"""Pod events: what an added, changed or removed pod changes in the cache."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from stromboli import kube
from stromboli.cluster.objects.bind_requests import BindRequests
from stromboli.cluster.objects.claims.resource_claims import ResourceClaims
from stromboli.cluster.objects.pods.decoder import PodDecoder
from stromboli.cluster.objects.pods.pods import same_requests
from stromboli.cluster.objects.storage.volumes import PersistentVolumes
from stromboli.cluster.state.assumptions import Assumptions
from stromboli.cluster.state.changes import ChangedObjects
from stromboli.cluster.state.pods import Pods
from stromboli.kube.objects.bind_requests import BindRequest
from stromboli.workloads.groups import job_key_of
from stromboli.workloads.users import named_user


class PodEvents:
    def __init__(
        self,
        pods: Pods,
        decoder: PodDecoder,
        requests: BindRequests,
        volumes: PersistentVolumes,
        claims: ResourceClaims,
        assumptions: Assumptions,
        changes: ChangedObjects,
    ) -> None:
        self._pods = pods
        self._decoder = decoder
        self._requests = requests
        self._volumes = volumes
        self._claims = claims
        self._assumptions = assumptions
        self._changes = changes

    def apply(self, pod: kube.Pod) -> None:
        uid = pod.metadata.uid
        is_bound = bool(pod.spec.node_name)
        if not is_bound and self._pods.is_foreign(pod) and self._requests.placement(uid) is None:
            self._drop(uid)
            self._pods.others[uid] = pod
            self._pods.note_owner(pod)
            return
        self._pods.note_owner(pod)
        self._pods.others.pop(uid, None)
        if is_bound:
            known = self._pods.find(uid)
            expected = self._assumptions.confirm(uid) or (known and known.spec.node_name)
            self._assumptions.external_placements += expected != pod.spec.node_name
        self._update_record(pod)
        self._volumes.enter(pod)
        self._claims.enter(pod)
        self._changes.mark_pod(uid)
        if not is_bound:
            self._assumptions.update(uid)

    def _update_record(self, pod: kube.Pod) -> None:
        uid = pod.metadata.uid
        known = self._pods.records.get(uid)
        if (
            known is None
            or not same_requests(known.pod, pod)
            or named_user(known.pod.metadata) != named_user(pod.metadata)
        ):
            self._leave_job(uid)
            self._join_job(pod)
            return
        labels, known.pod = known.pod.metadata.labels, pod
        if labels != pod.metadata.labels:
            known.task = None
            self._decoder.decode_labels(known)

    def remove(self, pod: kube.Pod) -> None:
        self._drop(pod.metadata.uid)

    def _drop(self, uid: str) -> None:
        self._leave_job(uid)
        self._pods.drop(uid)
        self._assumptions.drop_pod(uid)
        self._volumes.leave(uid)
        self._claims.leave(uid)
        self._changes.mark_pod(uid)

    def _join_job(self, pod: kube.Pod) -> None:
        users = self._pods.users
        job = job_key_of(pod) or ""
        before = list(users.get(job, ()))
        self._decoder.decode(self._pods.add(pod))
        self._note_users(job, before)

    def _leave_job(self, uid: str) -> None:
        record = self._pods.records.get(uid)
        before = list(self._pods.users.get(record.job, ())) if record is not None else []
        if job := self._pods.leave_job(uid):
            self._changes.jobs.add(job)
            self._note_users(job, before)

    def _note_users(self, job: str, before: Sequence[str]) -> None:
        """Have the job rebuilt if its pods named other users before: its group may name none."""
        if list(self._pods.users.get(job, ())) != before:
            self._changes.groups.add(job)

    # -- bind requests ------------------------------------------------------------------------------------------

    def apply_request(self, request: BindRequest) -> None:
        self._update_placements(self._requests.apply(request))

    def remove_request(self, request: BindRequest) -> None:
        self._update_placements(self._requests.remove(request))

    def _update_placements(self, uids: Iterable[str]) -> None:
        """Apply changed placements of pods that exist; others are applied when they arrive."""
        for uid in uids:
            pod = self._pods.find(uid) or self._pods.others.get(uid)
            if pod is not None and not pod.spec.node_name and not self._assumptions.is_current(uid):
                self.apply(pod)
