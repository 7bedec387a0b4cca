"""What is filled in: the queue of a group, the scheduler of a pod that is meant for us, and what binder plugins add.

Asked a second time, nothing more is to be done: an API server may ask again after others have had their say.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

from stromboli import kube
from stromboli.admission.facts import NAMESPACE_QUEUE, AdmissionPolicy, Facts
from stromboli.admission.json_patch import Operation, patch_between
from stromboli.admission.pods import is_targeted
from stromboli.admission.requests import Document, Request
from stromboli.admission.review import typed
from stromboli.cluster.objects.pod_groups.pod_groups import DEFAULT_QUEUE, named_queue
from stromboli.kube.manifests.errors import ObjectError
from stromboli.kube.objects import native, volcano


def patch_for(request: Request, facts: Facts, terms: AdmissionPolicy) -> list[Operation]:
    """What is to be changed about an object that is created; nothing about one that makes no sense."""
    document = request.object
    if document is None or request.operation != "CREATE" or request.sub_resource:
        return []
    changed = copy.deepcopy(document)
    try:
        _fill_in(request, changed, facts, terms)
    except ObjectError:
        return []
    return patch_between(document, changed)


def _fill_in(request: Request, document: Document, facts: Facts, terms: AdmissionPolicy) -> None:
    match request.kind.group, request.kind.kind:
        case ("", "Pod"):
            _fill_pod(typed(request, document, kube.Pod), document, terms)
        case (volcano.GROUP, "PodGroup"):
            group = typed(request, document, volcano.PodGroup)
            if queue := _queue_for(group.spec.queue, group.metadata, facts, terms):
                _map(document, "spec")["queue"] = queue
        case (native.GROUP, "PodGroup"):
            metadata = typed(request, document, native.NativePodGroup).metadata
            queue = facts.queue_of_namespace(metadata.namespace)
            if queue and not _told(metadata):
                _map(_map(document, "metadata"), "annotations")[NAMESPACE_QUEUE] = queue


def _queue_for(given: str | None, metadata: kube.ObjectMeta, facts: Facts, terms: AdmissionPolicy) -> str:
    """The queue of a group that names none; empty for one that does. The definition of the kind has written `default`
    into those that say nothing, so that nobody can tell them from those that say so.
    """
    if given not in (None, "", DEFAULT_QUEUE) or _told(metadata):
        return ""
    return facts.queue_of_namespace(metadata.namespace) or ("" if given else terms.default_queue)


def _told(metadata: kube.ObjectMeta) -> str:
    return named_queue(metadata.annotations or {}, metadata.labels or {})


def _fill_pod(pod: kube.Pod, document: Document, terms: AdmissionPolicy) -> None:
    if is_targeted(pod, terms):
        _map(document, "spec")["schedulerName"] = terms.scheduler_names[0]
    elif pod.spec.scheduler_name not in terms.scheduler_names:
        return
    for plugin in terms.plugins:
        plugin.mutate(document)


def _map(document: Document, key: str) -> dict[str, Any]:
    """The part of a document, made if it is not there."""
    found = document.get(key)
    if not isinstance(found, Mapping):
        found = document[key] = {}
    return found  # type: ignore[return-value]
