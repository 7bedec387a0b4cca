"""Defaults: the queue of a PodGroup, fields of a Volcano Job, the scheduler name of a pod with a group or queue, and
changes of binder plugins.

The changes are idempotent: an API server may reinvoke the webhook after other webhooks.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

from stromboli import kube
from stromboli.admission.access.users import record_user
from stromboli.admission.facts import NAMESPACE_QUEUE, AdmissionPolicy, Facts
from stromboli.admission.json_patch import Operation, patch_between
from stromboli.admission.pods import is_targeted
from stromboli.admission.requests import Document, Request
from stromboli.admission.review import typed
from stromboli.kube.manifests.errors import ObjectError
from stromboli.kube.objects import native, volcano
from stromboli.kube.objects.volcano_jobs import VolcanoJob
from stromboli.workloads.families.volcano.defaults import fill_in_spec
from stromboli.workloads.pod_documents import VOLCANO
from stromboli.workloads.queues import DEFAULT_QUEUE, named_queue
from stromboli.workloads.templates import VOLCANO_JOB


def patch_for(request: Request, facts: Facts, policy: AdmissionPolicy) -> list[Operation]:
    """Return the patch for a created object; an invalid object is not changed."""
    document = request.object
    if document is None or request.operation != "CREATE" or request.sub_resource:
        return []
    changed = copy.deepcopy(document)
    try:
        _fill_in(request, changed, facts, policy)
        record_user(request, changed, policy)
    except ObjectError:
        return []
    return patch_between(document, changed)


def _fill_in(request: Request, document: Document, facts: Facts, policy: AdmissionPolicy) -> None:
    match request.kind.group, request.kind.kind:
        case ("", "Pod"):
            _fill_pod(typed(request, document, kube.Pod), document, policy)
        case (volcano.GROUP, "PodGroup"):
            group = typed(request, document, volcano.PodGroup)
            if queue := _queue_for(group.spec.queue, group.metadata, facts, policy):
                _map(document, "spec")["queue"] = queue
        case kind if kind == VOLCANO_JOB:
            _fill_job(request, document, facts, policy)
        case (native.GROUP, "PodGroup"):
            metadata = typed(request, document, native.NativePodGroup).metadata
            queue = facts.queue_of_namespace(metadata.namespace)
            if queue and not _named_queue(metadata):
                _map(_map(document, "metadata"), "annotations")[NAMESPACE_QUEUE] = queue


def _fill_job(request: Request, document: Document, facts: Facts, policy: AdmissionPolicy) -> None:
    """Write what Volcano's webhook writes, and the queue of the namespace as for groups."""
    spec, metadata = document.get("spec"), typed(request, document, VolcanoJob).metadata
    if not isinstance(spec, dict):
        return
    if queue := _queue_for(spec.get("queue"), metadata, facts, policy):
        spec["queue"] = queue
    names = policy.scheduler_names
    fill_in_spec(
        spec,
        policy.job_plugins.required_by,
        queue=policy.default_queue,
        scheduler=VOLCANO if VOLCANO in names else names[0],
    )


def _queue_for(named: str | None, metadata: kube.ObjectMeta, facts: Facts, policy: AdmissionPolicy) -> str:
    """The default queue of a group; empty if it names one. The CRD's own default `default` counts as none."""
    if named not in (None, "", DEFAULT_QUEUE, policy.default_queue) or _named_queue(metadata):
        return ""
    return facts.queue_of_namespace(metadata.namespace) or ("" if named else policy.default_queue)


def _named_queue(metadata: kube.ObjectMeta) -> str:
    return named_queue(metadata.annotations or {}, metadata.labels or {})


def _fill_pod(pod: kube.Pod, document: Document, policy: AdmissionPolicy) -> None:
    if is_targeted(pod, policy):
        _map(document, "spec")["schedulerName"] = policy.scheduler_names[0]
    elif pod.spec.scheduler_name not in policy.scheduler_names:
        return
    for plugin in policy.plugins:
        plugin.mutate(document)


def _map(document: Document, key: str) -> dict[str, Any]:
    """Return a part of the document, creating it if absent."""
    found = document.get(key)
    if not isinstance(found, Mapping):
        found = document[key] = {}
    return found  # type: ignore[return-value]
